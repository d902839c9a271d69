// These are the loops that a C programmer would write for jobs that move whole bytes or single bits. neon-permute-mca.sh
// compiles them.

#include <stddef.h>
#include <stdint.h>

#define EACH for (size_t i = 0; i < n; i++)

void rgbToRGBA(uint8_t *restrict dst, const uint8_t *restrict src, size_t n) {
	EACH {
		dst[4 * i] = src[3 * i];
		dst[4 * i + 1] = src[3 * i + 1];
		dst[4 * i + 2] = src[3 * i + 2];
		dst[4 * i + 3] = 0xff;
	}
}

void rgbaToRGB(uint8_t *restrict dst, const uint8_t *restrict src, size_t n) {
	EACH {
		dst[3 * i] = src[4 * i];
		dst[3 * i + 1] = src[4 * i + 1];
		dst[3 * i + 2] = src[4 * i + 2];
	}
}

void swapRedBlue(uint32_t *p, size_t n) {
	EACH p[i] = (p[i] & 0xff00ff00) | (p[i] >> 16 & 0xff) | (p[i] & 0xff) << 16;
}

void samples24(uint32_t *restrict dst, const uint8_t *restrict src, size_t n) {
	EACH dst[i] = src[3 * i] | src[3 * i + 1] << 8 | src[3 * i + 2] << 16;
}

void swap64(uint64_t *restrict dst, const uint64_t *restrict src, size_t n) {
	EACH dst[i] = __builtin_bswap64(src[i]);
}

void stereoLeft(uint16_t *restrict dst, const uint16_t *restrict src, size_t n) {
	EACH dst[i] = src[2 * i];
}

void planesToWords(uint32_t *restrict dst, const uint8_t *restrict a, const uint8_t *restrict b,
		const uint8_t *restrict c, const uint8_t *restrict d, size_t n) {
	EACH dst[i] = a[i] | b[i] << 8 | c[i] << 16 | (uint32_t)d[i] << 24;
}

void boolsToBits(uint8_t *restrict dst, const uint8_t *restrict src, size_t n) {
	EACH {
		uint8_t bits = 0;
		for (int j = 0; j < 8; j++) bits |= src[8 * i + j] << j;
		dst[i] = bits;
	}
}

void bitsToBools(uint8_t *restrict dst, const uint8_t *restrict src, size_t n) {
	EACH for (int j = 0; j < 8; j++) dst[8 * i + j] = src[i] >> j & 1;
}
