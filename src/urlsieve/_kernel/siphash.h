/* SipHash-2-4 (Aumasson, Bernstein 2012): a 128-bit key and bytes go in, a keyed 64-bit hash nobody can steer without the key comes out. */
#ifndef US_SIPHASH_H
#define US_SIPHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

uint64_t us_siphash(uint64_t key0, uint64_t key1, const uint8_t *data, size_t length);

/* Two at once under one key, in about the time of the longer: the rounds of one fill the waits of the other. */
void us_siphash_two(uint64_t key0, uint64_t key1, const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length, uint64_t hashes[2]);

/* Little-endian on every machine: stores and their workers may differ. */
static inline uint64_t us_load64(const uint8_t *from) {
    uint64_t value;
    memcpy(&value, from, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static inline void us_store64(uint8_t *to, uint64_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    memcpy(to, &value, 8);
}

#endif
