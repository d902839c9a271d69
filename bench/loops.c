//go:build cgo

// The contenders in C. Each loop is a function of its own, not inlined, whose
// operands are restrict; it enters itself into a list under the name of its job.

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if __has_include(<dlfcn.h>)
#include <dlfcn.h>
#endif

#define PARAMETERS size_t n, void *restrict p0, void *restrict p1, void *restrict p2, void *restrict p3, void *restrict p4, \
	uint64_t value, uint32_t pos, uint32_t width, uint32_t active

typedef void work(PARAMETERS);

static struct entry { const char *name; int in_place; work *work; } entries[64];
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

// Words out of columns, and columns out of words.

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

// libyuv's functions take planes with strides, width and height. What it calls
// ARGB has blue in the low bits; Pack/rgba has red there.

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

// The limit: moves as measure.go makes them.

struct move { int64_t bytes, dst, src[4]; };

// dst may be a source, exactly.
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
