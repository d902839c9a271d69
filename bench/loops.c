//go:build cgo

// These are the contenders in C. Each loop is a function with restrict operands, and is not
// inlined. It enters itself into a list under the name of its job.

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if __has_include(<dlfcn.h>)
#include <dlfcn.h>
#endif

#define PARAMETERS size_t n, void *restrict p0, void *restrict p1, void *restrict p2, void *restrict p3, void *restrict p4, \
	uint64_t value, uint32_t pos, uint32_t width, uint32_t active

typedef void work(PARAMETERS);

static struct entry { const char *name; int in_place; work *work; } entries[128];
static int count;

static void enter(const char *name, int in_place, work *w) { entries[count++] = (struct entry){name, in_place, w}; }

work *find_work(const char *name, int in_place) {
	for (int i = 0; i < count; i++)
		if (entries[i].in_place == in_place && strcmp(entries[i].name, name) == 0)
			return entries[i].work;
	return NULL;
}

// The barrier makes the compiler believe that memory changed between one call
// and the next.
void repeat(work *w, size_t iters, PARAMETERS) {
	for (size_t i = 0; i < iters; i++) {
		w(n, p0, p1, p2, p3, p4, value, pos, width, active);
		__asm__ volatile("" ::: "memory");
	}
}

#define JOIN(a, b) JOIN_EXPANDED(a, b)
#define JOIN_EXPANDED(a, b) a##b
#define STRING(a) STRING_EXPANDED(a)
#define STRING_EXPANDED(a) #a

#define ENTERED(f, name, in_place) \
	static work f; \
	__attribute__((constructor)) static void JOIN(enter_, f)(void) { enter(name, in_place, f); } \
	static __attribute__((noinline)) void f(PARAMETERS)

#define LOOP(f) ENTERED(NAME(f), #f "/u" STRING(BITS), 0)
#define NAME(f) JOIN(f##_, BITS)
#define OR_DST(p) p
#define BITS 8
#include "loops.h"
#undef BITS
#define BITS 16
#include "loops.h"
#undef BITS
#define BITS 32
#include "loops.h"
#undef BITS
#define BITS 64
#include "loops.h"
#undef BITS
#undef LOOP
#undef NAME
#undef OR_DST

#define IN_PLACE
#define LOOP(f) ENTERED(NAME(f), #f "/u" STRING(BITS), 1)
#define NAME(f) JOIN(f##_in_place_, BITS)
#define OR_DST(p) dst
#define BITS 32
#include "loops.h"
#undef BITS
#define BITS 64
#include "loops.h"

// These loops make words from columns, and columns from words.

ENTERED(pack_rgba, "Pack/rgba", 0) {
	uint32_t *dst = p0; const uint8_t *r = p1, *g = p2, *b = p3, *a = p4;
	for (size_t i = 0; i < n; i++) dst[i] = r[i] | g[i] << 8 | b[i] << 16 | (uint32_t)a[i] << 24;
}

ENTERED(unpack_rgba, "Unpack/rgba", 0) {
	const uint32_t *src = p0; uint8_t *r = p1, *g = p2, *b = p3, *a = p4;
	for (size_t i = 0; i < n; i++) {
		r[i] = src[i];
		g[i] = src[i] >> 8;
		b[i] = src[i] >> 16;
		a[i] = src[i] >> 24;
	}
}

ENTERED(pack_rgb565_planes, "Pack/rgb565-planes", 0) {
	uint16_t *dst = p0; const uint8_t *r = p1, *g = p2, *b = p3;
	for (size_t i = 0; i < n; i++) dst[i] = r[i] >> 3 << 11 | g[i] >> 2 << 5 | b[i] >> 3;
}

ENTERED(pack_rgb565_argb, "Pack/rgb565-argb", 0) {
	uint16_t *dst = p0; const uint32_t *argb = p1;
	for (size_t i = 0; i < n; i++) dst[i] = (argb[i] >> 8 & 0xf800) | (argb[i] >> 5 & 0x7e0) | (argb[i] >> 3 & 0x1f);
}

ENTERED(pack_ids, "Pack/ids", 0) {
	uint64_t *dst = p0; const uint64_t *times = p1; const uint16_t *sequence = p2;
	uint64_t node = (value & 0x3ff) << 12;
	for (size_t i = 0; i < n; i++) dst[i] = (times[i] & 0x1ffffffffff) << 22 | node | (sequence[i] & 0xfff);
}

ENTERED(pack_nibbles, "Pack/nibbles", 0) {
	uint8_t *dst = p0; const uint8_t *low = p1, *high = p2;
	for (size_t i = 0; i < n; i++) dst[i] = (low[i] & 15) | high[i] << 4;
}

ENTERED(unpack_nibbles, "Unpack/nibbles", 0) {
	const uint8_t *src = p0; uint8_t *low = p1, *high = p2;
	for (size_t i = 0; i < n; i++) {
		low[i] = src[i] & 15;
		high[i] = src[i] >> 4;
	}
}

ENTERED(pack_rgb10a2, "Pack/rgb10a2", 0) {
	uint32_t *dst = p0; const uint32_t *r = p1, *g = p2, *b = p3, *a = p4;
	for (size_t i = 0; i < n; i++) dst[i] = (r[i] & 0x3ff) | (g[i] & 0x3ff) << 10 | (b[i] & 0x3ff) << 20 | a[i] << 30;
}

ENTERED(unpack_rgb10a2, "Unpack/rgb10a2", 0) {
	const uint32_t *src = p0; uint32_t *r = p1, *g = p2, *b = p3, *a = p4;
	for (size_t i = 0; i < n; i++) {
		r[i] = src[i] & 0x3ff;
		g[i] = src[i] >> 10 & 0x3ff;
		b[i] = src[i] >> 20 & 0x3ff;
		a[i] = src[i] >> 30;
	}
}

// These loops make words from adjacent elements, and the reverse.

ENTERED(pack_rgb24, "Pack/rgb24", 0) {
	uint32_t *dst = p0; const uint8_t *rgb = p1;
	for (size_t i = 0; i < n; i++) dst[i] = rgb[3 * i] | rgb[3 * i + 1] << 8 | rgb[3 * i + 2] << 16 | 0xff000000;
}

ENTERED(unpack_rgb24, "Unpack/rgb24", 0) {
	const uint32_t *src = p0; uint8_t *rgb = p1;
	for (size_t i = 0; i < n; i++) {
		rgb[3 * i] = src[i];
		rgb[3 * i + 1] = src[i] >> 8;
		rgb[3 * i + 2] = src[i] >> 16;
	}
}

ENTERED(pack_rgb565_rgba, "Pack/rgb565-rgba", 0) {
	uint16_t *dst = p0; const uint8_t *pix = p1;
	for (size_t i = 0; i < n; i++) dst[i] = pix[4 * i] >> 3 << 11 | pix[4 * i + 1] >> 2 << 5 | pix[4 * i + 2] >> 3;
}

ENTERED(pack_samples24, "Pack/samples24", 0) {
	int32_t *dst = p0; const uint8_t *wire = p1;
	for (size_t i = 0; i < n; i++) dst[i] = (int32_t)(wire[3 * i] << 8 | wire[3 * i + 1] << 16 | (uint32_t)wire[3 * i + 2] << 24) >> 8;
}

ENTERED(pack_stereo_apart, "Pack/stereo-apart", 0) {
	const uint16_t *stereo = p0; uint16_t *left = p1, *right = p2;
	for (size_t i = 0; i < n; i++) left[i] = stereo[2 * i], right[i] = stereo[2 * i + 1];
}

ENTERED(pack_big_endian, "Pack/big-endian", 0) {
	uint64_t *dst = p0; const uint64_t *wire = p1;
	for (size_t i = 0; i < n; i++) dst[i] = __builtin_bswap64(wire[i]);
}

#define BGRA_LANE(w) ((w & 0xff00ff00) | (w >> 16 & 0xff) | (w & 0xff) << 16)
ENTERED(pack_bgra, "Pack/bgra", 0) {
	uint32_t *dst = p0; const uint32_t *src = p1;
	for (size_t i = 0; i < n; i++) dst[i] = BGRA_LANE(src[i]);
}

ENTERED(pack_bgra_in_place, "Pack/bgra", 1) {
	uint32_t *dst = p0;
	for (size_t i = 0; i < n; i++) dst[i] = BGRA_LANE(dst[i]);
}

ENTERED(pack_swap32, "Pack/swap32", 0) {
	uint32_t *dst = p0; const uint32_t *src = p1;
	for (size_t i = 0; i < n; i++) dst[i] = __builtin_bswap32(src[i]);
}

ENTERED(pack_swap64, "Pack/swap64", 0) {
	uint64_t *dst = p0; const uint64_t *src = p1;
	for (size_t i = 0; i < n; i++) dst[i] = __builtin_bswap64(src[i]);
}

#define DENSE(name, element, count, width) \
	ENTERED(JOIN(pack_dense_, width), "Pack/" name, 0) { \
		uint64_t *dst = p0; const element *v = p1; \
		for (size_t i = 0; i < n; i++) { \
			uint64_t w = 0; \
			for (int j = 0; j < count; j++) w |= (v[count * i + j] & ((1ull << width) - 1)) << (width * j); \
			dst[i] = w; \
		} \
	} \
	ENTERED(JOIN(unpack_dense_, width), "Unpack/" name, 0) { \
		const uint64_t *src = p0; element *v = p1; \
		for (size_t i = 0; i < n; i++) \
			for (int j = 0; j < count; j++) v[count * i + j] = src[i] >> (width * j) & ((1ull << width) - 1); \
	}

DENSE("1-bit", uint8_t, 64, 1)
DENSE("4-bit", uint8_t, 16, 4)
DENSE("5-bit", uint8_t, 12, 5)
DENSE("7-bit", uint8_t, 9, 7)
DENSE("15-bit", uint16_t, 4, 15)

#if defined(__AVX512VBMI__) && defined(__AVX512BW__) && defined(__BMI2__)
#include <immintrin.h>

// These are the loops that a specialist would write by hand. Fields are constants. The loops
// above do the lanes after the last vector.

#define REST(loop) loop(n - i, q0, q1, 0, 0, 0, value, pos, width, active)

static __m512i index512(int (*f)(int)) {
	uint8_t v[64];
	for (int i = 0; i < 64; i++) v[i] = f(i);
	return _mm512_loadu_si512(v);
}

static int of_three(int i) { return i / 4 * 3 + i % 4; }
static int to_three(int i) { return i / 3 * 4 + i % 3; }
static int bgra(int i) { return (i & ~3) + (int[]){2, 1, 0, 3}[i & 3]; }

ENTERED(pack_rgb24_by_hand, "Pack/rgb24 by hand", 0) {
	__m512i index = index512(of_three), alpha = _mm512_set1_epi32(0xff000000);
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		__m512i v = _mm512_maskz_loadu_epi8((1ull << 48) - 1, (uint8_t *)p1 + 3 * i);
		_mm512_storeu_si512((uint32_t *)p0 + i, _mm512_or_si512(alpha, _mm512_maskz_permutexvar_epi8(0x7777777777777777, index, v)));
	}
	void *q0 = (uint32_t *)p0 + i, *q1 = (uint8_t *)p1 + 3 * i;
	REST(pack_rgb24);
}

ENTERED(unpack_rgb24_by_hand, "Unpack/rgb24 by hand", 0) {
	__m512i index = index512(to_three);
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		__m512i v = _mm512_loadu_si512((uint32_t *)p0 + i);
		_mm512_mask_storeu_epi8((uint8_t *)p1 + 3 * i, (1ull << 48) - 1, _mm512_permutexvar_epi8(index, v));
	}
	void *q0 = (uint32_t *)p0 + i, *q1 = (uint8_t *)p1 + 3 * i;
	REST(unpack_rgb24);
}

ENTERED(pack_rgb565_rgba_by_hand, "Pack/rgb565-rgba by hand", 0) {
	__m512i red = _mm512_set1_epi32(0xf800), green = _mm512_set1_epi32(0x7e0), blue = _mm512_set1_epi32(0x1f);
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		__m512i v = _mm512_loadu_si512((uint32_t *)p1 + i);
		__m512i w = _mm512_and_si512(_mm512_slli_epi32(v, 8), red);
		w = _mm512_or_si512(w, _mm512_and_si512(_mm512_srli_epi32(v, 5), green));
		w = _mm512_or_si512(w, _mm512_and_si512(_mm512_srli_epi32(v, 19), blue));
		_mm256_storeu_si256((void *)((uint16_t *)p0 + i), _mm512_cvtepi32_epi16(w));
	}
	void *q0 = (uint16_t *)p0 + i, *q1 = (uint8_t *)p1 + 4 * i;
	REST(pack_rgb565_rgba);
}

#define BGRA_BY_HAND(src) \
	__m512i index = index512(bgra); \
	size_t i = 0; \
	for (; i + 16 <= n; i += 16) \
		_mm512_storeu_si512((uint32_t *)p0 + i, _mm512_shuffle_epi8(_mm512_loadu_si512((uint32_t *)src + i), index))

ENTERED(pack_bgra_by_hand, "Pack/bgra by hand", 0) {
	BGRA_BY_HAND(p1);
	void *q0 = (uint32_t *)p0 + i, *q1 = (uint32_t *)p1 + i;
	REST(pack_bgra);
}

ENTERED(pack_bgra_in_place_by_hand, "Pack/bgra by hand", 1) {
	BGRA_BY_HAND(p0);
	void *q0 = (uint32_t *)p0 + i, *q1 = p1;
	REST(pack_bgra_in_place);
}

static uint64_t load64(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static void store64(void *p, uint64_t v) { memcpy(p, &v, 8); }
static uint32_t load32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }

ENTERED(pack_5_by_hand, "Pack/5-bit by hand", 0) {
	const uint8_t *v = p1;
	for (size_t i = 0; i < n; i++)
		((uint64_t *)p0)[i] = _pext_u64(load64(v + 12 * i), 0x1f1f1f1f1f1f1f1f) | _pext_u64(load32(v + 12 * i + 8), 0x1f1f1f1f) << 40;
}

ENTERED(pack_7_by_hand, "Pack/7-bit by hand", 0) {
	const uint8_t *v = p1;
	for (size_t i = 0; i < n; i++)
		((uint64_t *)p0)[i] = _pext_u64(load64(v + 9 * i), 0x7f7f7f7f7f7f7f7f) | (uint64_t)(v[9 * i + 8] & 0x7f) << 56;
}

static int first_five(int i) { return 5 * (i % 8 + i / 8 % 2 * 8) & 63; }
static int first_seven(int i) { return 7 * (i % 8 + i / 8 % 2 * 8) & 63; }
static int twelve(int i) { return i / 12 * 16 + i % 12 & 63; }
static int nine(int i) { return i / 9 * 16 + i % 9 & 63; }

// Each turn does four words. It copies each word twice, and takes eight elements from each
// copy.
#define UNPACK_BY_HAND(count, width, first, closed, loop) \
	__m512i from = index512(first), close = index512(closed), mask = _mm512_set1_epi8((1 << width) - 1); \
	__m512i twice = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3); \
	size_t i = 0; \
	for (; i + 4 <= n; i += 4) { \
		__m512i v = _mm512_permutexvar_epi64(twice, _mm512_castsi256_si512(_mm256_loadu_si256((void *)((uint64_t *)p0 + i)))); \
		v = _mm512_and_si512(mask, _mm512_multishift_epi64_epi8(from, v)); \
		_mm512_mask_storeu_epi8((uint8_t *)p1 + count * i, (1ull << (4 * count)) - 1, _mm512_permutexvar_epi8(close, v)); \
	} \
	void *q0 = (uint64_t *)p0 + i, *q1 = (uint8_t *)p1 + count * i; \
	REST(loop)

ENTERED(unpack_5_by_hand, "Unpack/5-bit by hand", 0) { UNPACK_BY_HAND(12, 5, first_five, twelve, unpack_dense_5); }
ENTERED(unpack_7_by_hand, "Unpack/7-bit by hand", 0) { UNPACK_BY_HAND(9, 7, first_seven, nine, unpack_dense_7); }

ENTERED(pack_4_by_hand, "Pack/4-bit by hand", 0) {
	__m512i low = _mm512_set1_epi8(15), weights = _mm512_set1_epi16(0x1001);
	size_t i = 0;
	for (; i + 4 <= n; i += 4) {
		__m512i v = _mm512_and_si512(low, _mm512_loadu_si512((uint8_t *)p1 + 16 * i));
		_mm256_storeu_si256((void *)((uint64_t *)p0 + i), _mm512_cvtepi16_epi8(_mm512_maddubs_epi16(v, weights)));
	}
	void *q0 = (uint64_t *)p0 + i, *q1 = (uint8_t *)p1 + 16 * i;
	REST(pack_dense_4);
}

ENTERED(unpack_4_by_hand, "Unpack/4-bit by hand", 0) {
	__m512i low = _mm512_set1_epi8(15);
	size_t i = 0;
	for (; i + 4 <= n; i += 4) {
		__m512i v = _mm512_cvtepu8_epi16(_mm256_loadu_si256((void *)((uint64_t *)p0 + i)));
		_mm512_storeu_si512((uint8_t *)p1 + 16 * i, _mm512_and_si512(low, _mm512_or_si512(v, _mm512_slli_epi16(v, 4))));
	}
	void *q0 = (uint64_t *)p0 + i, *q1 = (uint8_t *)p1 + 16 * i;
	REST(unpack_dense_4);
}

ENTERED(pack_1_by_hand, "Pack/1-bit by hand", 0) {
	__m512i bit = _mm512_set1_epi8(1);
	for (size_t i = 0; i < n; i++)
		((uint64_t *)p0)[i] = _mm512_test_epi8_mask(bit, _mm512_loadu_si512((uint8_t *)p1 + 64 * i));
}

ENTERED(unpack_1_by_hand, "Unpack/1-bit by hand", 0) {
	for (size_t i = 0; i < n; i++)
		_mm512_storeu_si512((uint8_t *)p1 + 64 * i, _mm512_maskz_set1_epi8(((uint64_t *)p0)[i], 1));
}

ENTERED(pack_15_by_hand, "Pack/15-bit by hand", 0) {
	for (size_t i = 0; i < n; i++)
		((uint64_t *)p0)[i] = _pext_u64(load64((uint64_t *)p1 + i), 0x7fff7fff7fff7fff);
}

ENTERED(unpack_15_by_hand, "Unpack/15-bit by hand", 0) {
	for (size_t i = 0; i < n; i++)
		store64((uint64_t *)p1 + i, _pdep_u64(((uint64_t *)p0)[i], 0x7fff7fff7fff7fff));
}
#endif

// libyuv's functions take planes with strides, width and height. Its ARGB has blue in the
// low bits, where Pack/rgba has red.

static int (*argb_to_rgb565)(const void *, int, void *, int, int, int);
static void (*merge)(const void *, int, const void *, int, const void *, int, const void *, int, void *, int, int, int);
static void (*split)(const void *, int, void *, int, void *, int, void *, int, void *, int, int, int);

static void libyuv_argb_to_rgb565(PARAMETERS) { argb_to_rgb565(p1, 0, p0, 0, n, 1); }
static void libyuv_merge(PARAMETERS) { merge(p3, 0, p2, 0, p1, 0, p4, 0, p0, 0, n, 1); }
static void libyuv_split(PARAMETERS) { split(p0, 0, p3, 0, p2, 0, p1, 0, p4, 0, n, 1); }

__attribute__((constructor)) static void enter_libyuv(void) {
#ifdef RTLD_NOW
	void *library = dlopen("libyuv.so.0", RTLD_NOW);
	if (!library)
		library = dlopen("libyuv.so", RTLD_NOW);
	if (!library)
		return;
	if ((argb_to_rgb565 = dlsym(library, "ARGBToRGB565")))
		enter("ARGBToRGB565", 0, libyuv_argb_to_rgb565);
	if ((merge = dlsym(library, "MergeARGBPlane")))
		enter("MergeARGBPlane", 0, libyuv_merge);
	if ((split = dlsym(library, "SplitARGBPlane")))
		enter("SplitARGBPlane", 0, libyuv_split);
#endif
}

// The limit makes the moves that measure.go lists.

struct move { int64_t bytes, dst, src[4]; };

// dst and a source may overlap exactly.
#ifdef __clang__
#define NO_OVERLAP _Pragma("clang loop vectorize(assume_safety)")
#else
#define NO_OVERLAP _Pragma("GCC ivdep")
#endif
#define COMBINE(expression) NO_OVERLAP for (int64_t i = 0; i < n; i++) d[i] = expression; break

static __attribute__((noinline)) void combine(int64_t n, uint8_t *d, int sources, const uint8_t *const *s) {
	const uint8_t *a = s[0], *b = s[1], *c = s[2], *e = s[3];
	switch (sources) {
	case 1: COMBINE(~a[i]);
	case 2: COMBINE(a[i] ^ b[i]);
	case 3: COMBINE(a[i] ^ b[i] ^ c[i]);
	case 4: COMBINE(a[i] ^ b[i] ^ c[i] ^ e[i]);
	}
}

void limit(size_t iters, size_t moves, const struct move *m, void *p0, void *p1, void *p2, void *p3, void *p4) {
	uint8_t *p[] = {p0, p1, p2, p3, p4};
	for (size_t r = 0; r < iters; r++)
		for (size_t i = 0; i < moves; i++) {
			const uint8_t *s[4] = {0};
			int sources = 0;
			while (sources < 4 && m[i].src[sources] >= 0) {
				s[sources] = p[m[i].src[sources] % 8] + m[i].src[sources] / 8;
				sources++;
			}
			combine(m[i].bytes, p[m[i].dst % 8] + m[i].dst / 8, sources, s);
		}
}
