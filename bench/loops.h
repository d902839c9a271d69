// The loops that a C programmer would write, for words of type T, BITS wide.
// Included once for each word and place by c.go, which defines
//
//	NAME(f)    the name of f for this word and place
//	OR_DST(p)  dst where the loop works in place, p where it does not
//
// Every pointer is restrict: out of place no operand overlaps another, and in
// place the operand that is dst is not passed twice.

static inline T NAME(bfi_lane)(T a, T b, uint32_t c, uint32_t d) {
	uint32_t pos = c & 0xff, width = d & 0xff;
	if (pos >= BITS)
		return b;
	T ones = width < BITS ? ((T)1 << width) - 1 : ~(T)0;
	T mask = ones << pos;
	return (b & ~mask) | (a << pos & mask);
}

static inline T NAME(bfe_lane)(T a, uint32_t c, uint32_t d) {
	uint32_t pos = c & 0xff, width = d & 0xff;
	if (pos >= BITS)
		return 0;
	T ones = width < BITS ? ((T)1 << width) - 1 : ~(T)0;
	return a >> pos & ones;
}

#define LOOP(f) static __attribute__((noinline)) void NAME(f)

LOOP(insert)(size_t n, T *restrict dst, const T *restrict src, const T *restrict base, uint32_t pos, uint32_t width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfi_lane)(src[i], OR_DST(base)[i], pos, width);
}

LOOP(insert_each)(size_t n, T *restrict dst, const T *restrict src, const T *restrict base,
		const uint32_t *restrict pos, const uint32_t *restrict width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfi_lane)(src[i], OR_DST(base)[i], pos[i], width[i]);
}

LOOP(fill)(size_t n, T *restrict dst, const T *restrict base, T value, uint32_t pos, uint32_t width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfi_lane)(value, OR_DST(base)[i], pos, width);
}

LOOP(select)(size_t n, T *restrict dst, const T *restrict mask, const T *restrict src, const T *restrict base) {
	for (size_t i = 0; i < n; i++)
		dst[i] = (mask[i] & src[i]) | (~mask[i] & OR_DST(base)[i]);
}

LOOP(extract)(size_t n, T *restrict dst, const T *restrict src, uint32_t pos, uint32_t width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfe_lane)(OR_DST(src)[i], pos, width);
}

LOOP(extract_each)(size_t n, T *restrict dst, const T *restrict src,
		const uint32_t *restrict pos, const uint32_t *restrict width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = NAME(bfe_lane)(OR_DST(src)[i], pos[i], width[i]);
}

// Pack and unpack know their four fields when they are compiled: quarters of
// the word.
#define QUARTER (BITS / 4)
#define LOW (((T)1 << QUARTER) - 1)

LOOP(pack)(size_t n, T *restrict dst, const T *restrict c0, const T *restrict c1, const T *restrict c2, const T *restrict c3) {
	for (size_t i = 0; i < n; i++)
		dst[i] = (OR_DST(c0)[i] & LOW) | (c1[i] & LOW) << QUARTER | (c2[i] & LOW) << 2 * QUARTER | c3[i] << 3 * QUARTER;
}

LOOP(unpack)(size_t n, const T *restrict src, T *restrict dst, T *restrict c1, T *restrict c2, T *restrict c3) {
	for (size_t i = 0; i < n; i++) {
		T word = OR_DST(src)[i];
		dst[i] = word & LOW;
		c1[i] = word >> QUARTER & LOW;
		c2[i] = word >> 2 * QUARTER & LOW;
		c3[i] = word >> 3 * QUARTER;
	}
}

LOOP(insert_warp)(T *restrict dst, const T *restrict src, const T *restrict base,
		const uint32_t *restrict pos, const uint32_t *restrict width, uint32_t active) {
	for (int i = 0; i < 32; i++)
		if (active >> i & 1)
			dst[i] = NAME(bfi_lane)(src[i], OR_DST(base)[i], pos[i], width[i]);
}

LOOP(select_warp)(T *restrict dst, const T *restrict mask, const T *restrict src, const T *restrict base, uint32_t active) {
	for (int i = 0; i < 32; i++)
		if (active >> i & 1)
			dst[i] = (mask[i] & src[i]) | (~mask[i] & OR_DST(base)[i]);
}

LOOP(extract_warp)(T *restrict dst, const T *restrict src,
		const uint32_t *restrict pos, const uint32_t *restrict width, uint32_t active) {
	for (int i = 0; i < 32; i++)
		if (active >> i & 1)
			dst[i] = NAME(bfe_lane)(OR_DST(src)[i], pos[i], width[i]);
}

// The limit: the same streams, joined by xor.

LOOP(xor_insert)(size_t n, T *restrict dst, const T *restrict src, const T *restrict base) {
	for (size_t i = 0; i < n; i++)
		dst[i] = src[i] ^ OR_DST(base)[i];
}

LOOP(xor_insert_each)(size_t n, T *restrict dst, const T *restrict src, const T *restrict base,
		const uint32_t *restrict pos, const uint32_t *restrict width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = src[i] ^ OR_DST(base)[i] ^ pos[i] ^ width[i];
}

LOOP(xor_one)(size_t n, T *restrict dst, const T *restrict src, T value) {
	for (size_t i = 0; i < n; i++)
		dst[i] = OR_DST(src)[i] ^ value;
}

LOOP(xor_select)(size_t n, T *restrict dst, const T *restrict mask, const T *restrict src, const T *restrict base) {
	for (size_t i = 0; i < n; i++)
		dst[i] = mask[i] ^ src[i] ^ OR_DST(base)[i];
}

LOOP(xor_extract_each)(size_t n, T *restrict dst, const T *restrict src,
		const uint32_t *restrict pos, const uint32_t *restrict width) {
	for (size_t i = 0; i < n; i++)
		dst[i] = OR_DST(src)[i] ^ pos[i] ^ width[i];
}

LOOP(xor_pack)(size_t n, T *restrict dst, const T *restrict c0, const T *restrict c1, const T *restrict c2, const T *restrict c3) {
	for (size_t i = 0; i < n; i++)
		dst[i] = OR_DST(c0)[i] ^ c1[i] ^ c2[i] ^ c3[i];
}

LOOP(xor_unpack)(size_t n, const T *restrict src, T *restrict dst, T *restrict c1, T *restrict c2, T *restrict c3, T value) {
	for (size_t i = 0; i < n; i++) {
		T word = OR_DST(src)[i] ^ value;
		dst[i] = word;
		c1[i] = word;
		c2[i] = word;
		c3[i] = word;
	}
}

// The barrier makes the compiler believe that memory changed between one call
// and the next.
#define REPEAT(call) \
	for (size_t r = 0; r < iters; r++) { \
		call; \
		__asm__ volatile("" ::: "memory"); \
	} \
	break

static void NAME(run)(int loop, size_t iters, size_t n, T *p0, T *p1, T *p2, T *p3, T *p4,
		T value, uint32_t pos, uint32_t width, uint32_t active) {
	const uint32_t *each_pos = (const uint32_t *)p3, *each_width = (const uint32_t *)p4;
	switch (loop) {
	case INSERT: REPEAT(NAME(insert)(n, p0, p1, p2, pos, width));
	case INSERT_EACH: REPEAT(NAME(insert_each)(n, p0, p1, p2, each_pos, each_width));
	case FILL: REPEAT(NAME(fill)(n, p0, p2, value, pos, width));
	case SELECT: REPEAT(NAME(select)(n, p0, p3, p1, p2));
	case EXTRACT: REPEAT(NAME(extract)(n, p0, p1, pos, width));
	case EXTRACT_EACH: REPEAT(NAME(extract_each)(n, p0, p1, each_pos, each_width));
	case PACK: REPEAT(NAME(pack)(n, p0, p1, p2, p3, p4));
	case UNPACK: REPEAT(NAME(unpack)(n, p0, p1, p2, p3, p4));
	case INSERT_WARP: REPEAT(NAME(insert_warp)(p0, p1, p2, each_pos, each_width, active));
	case SELECT_WARP: REPEAT(NAME(select_warp)(p0, p3, p1, p2, active));
	case EXTRACT_WARP: REPEAT(NAME(extract_warp)(p0, p1, each_pos, each_width, active));
	case XOR + INSERT: REPEAT(NAME(xor_insert)(n, p0, p1, p2));
	case XOR + INSERT_EACH: REPEAT(NAME(xor_insert_each)(n, p0, p1, p2, each_pos, each_width));
	case XOR + FILL: REPEAT(NAME(xor_one)(n, p0, p2, value));
	case XOR + SELECT: REPEAT(NAME(xor_select)(n, p0, p3, p1, p2));
	case XOR + EXTRACT: REPEAT(NAME(xor_one)(n, p0, p1, value));
	case XOR + EXTRACT_EACH: REPEAT(NAME(xor_extract_each)(n, p0, p1, each_pos, each_width));
	case XOR + PACK: REPEAT(NAME(xor_pack)(n, p0, p1, p2, p3, p4));
	case XOR + UNPACK: REPEAT(NAME(xor_unpack)(n, p0, p1, p2, p3, p4, value));
	}
}

#undef LOOP
#undef QUARTER
#undef LOW
#undef REPEAT
