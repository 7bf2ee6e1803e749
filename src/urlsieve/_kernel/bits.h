/* Numbers of any width in an array of bits; bit 0 is the lowest of the first byte. */
#ifndef US_BITS_H
#define US_BITS_H

#include <stdint.h>

#include "siphash.h"

/* What a read may touch behind the byte its number ends in, and a write too. */
enum { US_BITS_BEHIND = 8 };

static inline uint64_t us_mask(uint32_t width) { return width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1; }

/* 64 bits from `bit` on. */
static inline uint64_t us_bits64(const uint8_t *from, size_t bit) {
    const uint8_t *at = from + bit / 8;
    const uint32_t shift = bit % 8;
    return us_load64(at) >> shift | (uint64_t)at[8] << 1 << (63 - shift);
}

/* Up to 64. */
static inline uint64_t us_bits(const uint8_t *from, size_t bit, uint32_t width) { return us_bits64(from, bit) & us_mask(width); }

/* The place must be zeros. */
static inline void us_put_bits(uint8_t *to, size_t bit, uint32_t width, uint64_t value) {
    uint8_t *at = to + bit / 8;
    const uint32_t shift = bit % 8;
    value &= us_mask(width);
    us_store64(at, us_load64(at) | value << shift);
    at[8] = (uint8_t)(at[8] | value >> 1 >> (63 - shift));
}

/* Bits that a number needs. */
static inline uint32_t us_bit_length(uint64_t number) { return number == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(number); }

/* How many bits of each byte and of those below it are set, byte by byte; the highest byte: of all. */
static inline uint64_t us_bit_sums(uint64_t word) {
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    return ((word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101);
}

/* Where the set bit with this number (from 0) is, of a word that has so many; `sums` are the word's. No branch: nobody could foretell it. */
static inline uint32_t us_select_bit(uint64_t word, uint64_t sums, uint32_t number) {
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    const uint64_t not_yet = ((number * ones | tops) - sums) & tops;   /* a bit for each byte that ends before it */
    const uint32_t byte = (uint32_t)((not_yet >> 7) * ones >> 56) & 7;
    const uint32_t bits = (uint32_t)(word >> 8 * byte) & 0xff;
    uint32_t left = number - ((uint32_t)(sums << 8 >> 8 * byte) & 0xff), at = 0;
    const uint32_t pairs = bits - (bits >> 1 & 0x55), fours = (pairs & 0x33) + (pairs >> 2 & 0x33);
    uint32_t here = fours & 15, skip = left >= here;
    left -= skip * here;
    at += 4 * skip;
    here = pairs >> at & 3;
    skip = left >= here;
    left -= skip * here;
    at += 2 * skip;
    at += left >= (bits >> at & 1);
    return 8 * byte + at;
}

#endif
