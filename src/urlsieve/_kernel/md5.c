#include "md5.h"

#include <string.h>

static inline uint32_t rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

static inline uint32_t load(const uint8_t *s) { return (uint32_t)s[3] << 24 | (uint32_t)s[2] << 16 | (uint32_t)s[1] << 8 | s[0]; }

static const uint8_t SHIFTS[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

/* The whole part of 2^32 * |sin(i + 1)|. */
static const uint32_t SINES[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1,
    0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453,
    0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942,
    0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05,
    0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d,
    0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

static uint32_t mixed(int step, uint32_t b, uint32_t c, uint32_t d) {
    switch (step / 16) {
    case 0: return d ^ (b & (c ^ d));
    case 1: return c ^ (d & (b ^ c));
    case 2: return b ^ c ^ d;
    default: return c ^ (b | ~d);
    }
}

static int word_of(int step) {
    switch (step / 16) {
    case 0: return step;
    case 1: return (5 * step + 1) & 15;
    case 2: return (3 * step + 5) & 15;
    default: return (7 * step) & 15;
    }
}

static void block(uint32_t *state, const uint8_t *data) {
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 64; i++) {
        const uint32_t sum = a + mixed(i, b, c, d) + SINES[i] + load(data + 4 * word_of(i));
        a = d;
        d = c;
        c = b;
        b += rotate(sum, SHIFTS[i / 16][i & 3]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void us_md5(const uint8_t *data, size_t length, uint8_t *to) {
    uint32_t state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
    const uint64_t bits = (uint64_t)length * 8;
    uint8_t last[128] = {0};
    size_t left = length;
    for (; left >= 64; data += 64, left -= 64) block(state, data);
    if (left > 0) memcpy(last, data, left);
    last[left] = 0x80;
    const size_t size = left < 56 ? 64 : 128;
    for (int i = 0; i < 8; i++) last[size - 8 + (size_t)i] = (uint8_t)(bits >> (8 * i));
    for (size_t at = 0; at < size; at += 64) block(state, last + at);
    for (int i = 0; i < 16; i++) to[i] = (uint8_t)(state[i / 4] >> (8 * (i % 4)));
}
