// These kernels have words of 8 and 16 bits, vectors, loops, and arrays that each thread has
// to itself. clang compiles them to shapes.ptx:
//
//	clang -x cuda --cuda-device-only -nocudainc -nocudalib -O2 --target=x86_64-linux-gnu --cuda-gpu-arch=sm_75 -S -o shapes.ptx shapes.cu

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u8 u8x4 __attribute__((ext_vector_type(4)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#define KERNEL extern "C" __attribute__((global)) void
#define INDEX (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())

KERNEL rgba(u32 *out, const u8 *r, const u8 *g, const u8 *b, u32 n) {
	u32 i = INDEX;
	if (i < n)
		out[i] = r[i] | g[i] << 8 | b[i] << 16 | 0xffu << 24;
}

KERNEL rgb565(u16 *out, const u8 *r, const u8 *g, const u8 *b, u32 n) {
	u32 i = INDEX;
	if (i < n)
		out[i] = (r[i] >> 3) << 11 | (g[i] >> 2) << 5 | b[i] >> 3;
}

KERNEL unpack565(u8 *out, const u16 *in, u32 n) {
	u32 i = INDEX;
	if (i < n) {
		u16 v = in[i];
		out[3 * i] = (v >> 11) * 255 / 31;
		out[3 * i + 1] = (v >> 5 & 63) * 255 / 63;
		out[3 * i + 2] = (v & 31) * 255 / 31;
	}
}

// Two values saturated to 4 bits make a byte.
KERNEL nibbles(u8 *out, const s8 *in, u32 n) {
	u32 i = INDEX;
	if (i < n) {
		int low = in[2 * i], high = in[2 * i + 1];
		low = low < -8 ? -8 : low > 7 ? 7 : low;
		high = high < -8 ? -8 : high > 7 ? 7 : high;
		out[i] = (low & 15) | high << 4;
	}
}

// 16 values of 4 bits make a word.
KERNEL quantized(u64 *out, const s16 *in, u32 n) {
	u32 i = INDEX;
	if (i < n) {
		u64 word = 0;
		for (int k = 0; k < 16; k++)
			word |= (u64)(in[16 * i + k] & 15) << 4 * k;
		out[i] = word;
	}
}

// Each thread's loop has a length of its own.
KERNEL lengths(u32 *out, const u8 *in, const u8 *length, u32 n) {
	u32 i = INDEX;
	if (i < n) {
		u32 hash = 0;
		for (u32 k = 0; k < length[i]; k++)
			hash = hash * 31 + in[i + k];
		out[i] = hash;
	}
}

KERNEL vectors(u32x4 *out, const u8x4 *a, const u16x2 *b, u32 n) {
	u32 i = INDEX;
	if (i < n) {
		u8x4 v = a[i];
		u16x2 h = b[i];
		out[i] = (u32x4){(u32)(v.x | v.y << 8), (u32)(v.z << 4 | v.w), h.x, h.y};
	}
}

KERNEL histogram(u32 *out, const u8 *in, u32 n) {
	u32 i = INDEX;
	if (i < n) {
		u8 count[8] = {0};
		for (int k = 0; k < 16; k++)
			count[in[16 * i + k] & 7]++;
		u32 sum = 0;
		for (int k = 0; k < 8; k++)
			sum = sum * 3 + count[k];
		out[i] = sum;
	}
}

KERNEL scalars(u8 *out, u8 a, s16 b, u64 c, u32 n) {
	u32 i = INDEX;
	if (i < n)
		out[i] = a + b + (u8)(c >> i);
}

KERNEL bits(u32 *out, const u32 *in, u32 n) {
	u32 i = INDEX;
	if (i < n) {
		u32 x = in[i];
		out[i] = __builtin_popcount(x) + __builtin_clz(x | 1) + __builtin_bitreverse32(x) +
			__builtin_bswap32(x) + (x << 7 | x >> 25) + x / 7;
	}
}
