// The kernel that the emulator runs by default. pixel.ptx is what clang makes of it:
//
//	clang-19 --target=nvptx64-nvidia-cuda -march=sm_75 -Xclang -target-feature -Xclang +ptx63 -O2 -S -o pixel.ptx pixel.c
//
// Each thread packs one pixel of a decoded image into three words. The image has a plane
// for each channel: 10 bits each of red, green, blue, and 2 bits of alpha.
//
//   rgb10a2   R, G, B and A in a 10-10-10-2 word, for displays and textures
//   preview   R, G, B and A in 8 bits each
//   visible   the 10-10-10-2 word in the low bits, the depth above it at the place that the
//             caller chooses, and bit 63 set if the pixel is opaque. With a 64-bit atomic
//             maximum of such words, a software rasterizer keeps the nearest pixel.
//
// The compiler itself makes bfi of the code for the preview. CUDA has no intrinsic for bfi,
// so the rest is inline assembly.

typedef unsigned char u8x4 __attribute__((ext_vector_type(4)));
typedef unsigned int u32;
typedef unsigned long long u64;

#define GLOBAL __attribute__((address_space(1)))

static inline u32 bfi32(u32 a, u32 b, u32 pos, u32 len) {
	u32 f;
	asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(f) : "r"(a), "r"(b), "rn"(pos), "rn"(len));
	return f;
}

static inline u64 bfi64(u64 a, u64 b, u32 pos, u32 len) {
	u64 f;
	asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(f) : "l"(a), "l"(b), "rn"(pos), "rn"(len));
	return f;
}

// Sets bit 63 of word if alpha is 3, by a bfi under a predicate.
static inline u64 mark_opaque(u64 word, u32 alpha) {
	asm("{\n\t"
	    ".reg .pred opaque;\n\t"
	    "setp.eq.u32 opaque, %1, 3;\n\t"
	    "@opaque bfi.b64 %0, 1, %0, 63, 1;\n\t"
	    "}"
	    : "+l"(word) : "r"(alpha));
	return word;
}

__attribute__((nvptx_kernel)) void pack_pixels(
		GLOBAL u32 *restrict rgb10a2, GLOBAL u8x4 *restrict preview, GLOBAL u64 *restrict visible,
		const GLOBAL u32 *restrict red, const GLOBAL u32 *restrict green, const GLOBAL u32 *restrict blue,
		const GLOBAL u32 *restrict alpha, const GLOBAL u32 *restrict depth,
		u32 depth_pos, u32 depth_len, u32 n) {
	u32 i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
	if (i >= n)
		return;
	u32 a = alpha[i];
	if (a == 0) { // transparent: the other planes are not read
		rgb10a2[i] = 0;
		preview[i] = 0;
		visible[i] = 0;
		return;
	}
	u32 r = red[i], g = green[i], b = blue[i];

	u32 word = r & 1023;
	word = bfi32(g, word, 10, 10);
	word = bfi32(b, word, 20, 10);
	word = bfi32(a, word, 30, 2);
	rgb10a2[i] = word;

	preview[i] = (u8x4){r >> 2, g >> 2, b >> 2, 0xffaa5500 >> 8 * (a & 3)}; // 2 bits to 8: 0, 85, 170, 255

	visible[i] = mark_opaque(bfi64(depth[i], word, depth_pos, depth_len), a);
}
