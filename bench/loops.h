// These are the loops that a C programmer would write for words of BITS bits. loops.c
// includes this file twice for each size of words. Out of place, OR_DST(p) is p. In place,
// OR_DST(p) is dst. So a loop in place gets no pointer twice, and all pointers are restrict.

#define T JOIN(JOIN(uint, BITS), _t)

// The branches keep every shift defined. Compilers turn them into selects.
static inline T NAME(mask)(uint32_t pos, uint32_t width) {
	pos &= 0xff, width &= 0xff;
	T ones = width < BITS ? (T)(((T)1 << width) - 1) : (T)~(T)0;
	return pos < BITS ? ones << pos : 0;
}

static inline T NAME(bfi)(T a, T b, uint32_t pos, uint32_t width) {
	T mask = NAME(mask)(pos, width);
	pos &= 0xff;
	return (b & ~mask) | ((pos < BITS ? a << pos : 0) & mask);
}

static inline T NAME(bfe)(T a, uint32_t pos, uint32_t width) {
	pos &= 0xff;
	return pos < BITS ? a >> pos & NAME(mask)(0, width) : 0;
}

// These macros declare the operands of each function's loops, and do the work in a lane.
#define INSERT T *dst = p0; const T *src = p1, *base = OR_DST(p2); \
	T mask = NAME(mask)(pos, width); uint32_t shift = pos % BITS
#define INSERT_LANE dst[i] = (base[i] & ~mask) | ((T)(src[i] << shift) & mask)
#define INSERT_EACH T *dst = p0; const T *src = p1, *base = OR_DST(p2); const uint32_t *poss = p3, *widths = p4
#define INSERT_EACH_LANE dst[i] = NAME(bfi)(src[i], base[i], poss[i], widths[i])
#define FILL T *dst = p0; const T *base = OR_DST(p1); \
	T mask = NAME(mask)(pos, width), field = (T)value << pos % BITS & mask
#define FILL_LANE dst[i] = (base[i] & ~mask) | field
#define SELECT T *dst = p0; const T *mask = p1, *src = p2, *base = OR_DST(p3)
#define SELECT_LANE dst[i] = (mask[i] & src[i]) | (~mask[i] & base[i])
#define EXTRACT T *dst = p0; const T *src = OR_DST(p1); \
	uint32_t shift = pos % BITS; T mask = NAME(mask)(pos, width) >> shift
#define EXTRACT_LANE dst[i] = src[i] >> shift & mask
#define EXTRACT_EACH T *dst = p0; const T *src = OR_DST(p1); const uint32_t *poss = p2, *widths = p3
#define EXTRACT_EACH_LANE dst[i] = NAME(bfe)(src[i], poss[i], widths[i])

#define ALL(lane) for (size_t i = 0; i < n; i++) lane
#define MASKED(p, lane) const uint64_t *bits = p; for (size_t i = 0; i < n; i++) if (bits[i / 64] >> i % 64 & 1) lane
#define WARP(lane) for (int i = 0; i < 32; i++) if (active >> i & 1) lane

LOOP(Insert) { INSERT; ALL(INSERT_LANE); }
#if BITS >= 32
LOOP(InsertEach) { INSERT_EACH; ALL(INSERT_EACH_LANE); }
LOOP(Fill) { FILL; ALL(FILL_LANE); }
LOOP(Select) { SELECT; ALL(SELECT_LANE); }
LOOP(Extract) { EXTRACT; ALL(EXTRACT_LANE); }
LOOP(ExtractEach) { EXTRACT_EACH; ALL(EXTRACT_EACH_LANE); }
#ifndef IN_PLACE
LOOP(InsertMasked) { INSERT; MASKED(p3, INSERT_LANE); }
LOOP(FillMasked) { FILL; MASKED(p2, FILL_LANE); }
LOOP(SelectMasked) { SELECT; MASKED(p4, SELECT_LANE); }
LOOP(ExtractMasked) { EXTRACT; MASKED(p2, EXTRACT_LANE); }
LOOP(InsertWarp) { INSERT_EACH; WARP(INSERT_EACH_LANE); }
LOOP(SelectWarp) { SELECT; WARP(SELECT_LANE); }
LOOP(ExtractWarp) { EXTRACT_EACH; WARP(EXTRACT_EACH_LANE); }
#endif
#endif

#undef T
