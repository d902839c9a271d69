// These are the loops that a C programmer would write for words of type T with BITS bits.
// The work in a lane has no branches, so compilers vectorize the loops. neon-mca.sh includes
// this file once for each size of words. NAME(f) is the name of f for that size.

static inline T NAME(bfi_lane)(T a, T b, uint32_t c, uint32_t d) {
	uint32_t pos = c & 0xff, width = d & 0xff;
	T ones = width < BITS ? ((T)1 << width) - 1 : ~(T)0;
	T mask = pos < BITS ? ones << pos : 0;
	T moved = pos < BITS ? a << pos : 0;
	return (b & ~mask) | (moved & mask);
}

static inline T NAME(bfe_lane)(T a, uint32_t c, uint32_t d) {
	uint32_t pos = c & 0xff, width = d & 0xff;
	T ones = width < BITS ? ((T)1 << width) - 1 : ~(T)0;
	return (pos < BITS ? a >> pos : 0) & ones;
}

// The sign moves to the top bit, and back.
static inline T NAME(bfe_signed_lane)(T a, uint32_t c, uint32_t d) {
	uint32_t pos = c & 0xff, width = d & 0xff;
	uint32_t end = pos + width < BITS ? pos + width : BITS;
	T top = width ? a << (BITS - end & BITS - 1) : 0;
	uint32_t down = BITS - end + pos;
	return (S)top >> (down < BITS ? down : BITS - 1);
}

void NAME(insert)(T *restrict dst, const T *restrict src, const T *restrict base, size_t n, uint32_t pos, uint32_t width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfi_lane)(src[i], base[i], pos, width);
}

void NAME(insertEach)(T *restrict dst, const T *restrict src, const T *restrict base,
		const uint32_t *restrict pos, const uint32_t *restrict width, size_t n) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfi_lane)(src[i], base[i], pos[i], width[i]);
}

void NAME(fill)(T *restrict dst, const T *restrict base, size_t n, T value, uint32_t pos, uint32_t width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfi_lane)(value, base[i], pos, width);
}

void NAME(selectBits)(T *restrict dst, const T *restrict mask, const T *restrict src, const T *restrict base, size_t n) {
	for (size_t i = 0; i < n; i++)
		dst[i] = (mask[i] & src[i]) | (~mask[i] & base[i]);
}

void NAME(extractUnsigned)(T *restrict dst, const T *restrict src, size_t n, uint32_t pos, uint32_t width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfe_lane)(src[i], pos, width);
}

void NAME(extractSigned)(T *restrict dst, const T *restrict src, size_t n, uint32_t pos, uint32_t width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfe_signed_lane)(src[i], pos, width);
}

void NAME(extractEachUnsigned)(T *restrict dst, const T *restrict src,
		const uint32_t *restrict pos, const uint32_t *restrict width, size_t n) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfe_lane)(src[i], pos[i], width[i]);
}

void NAME(extractEachSigned)(T *restrict dst, const T *restrict src,
		const uint32_t *restrict pos, const uint32_t *restrict width, size_t n) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfe_signed_lane)(src[i], pos[i], width[i]);
}
