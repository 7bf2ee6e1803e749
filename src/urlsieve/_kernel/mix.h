/* Numbers made of a fingerprint: each of these takes both halves, and one tells nothing of another. */
#ifndef US_MIX_H
#define US_MIX_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t us_stir(uint64_t x) {
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

/* Equal URL halves of different sites part, and neighbours among numbers do. */
static inline uint64_t us_mix(uint64_t site, uint64_t url) { return us_stir(url ^ site * UINT64_C(0x9e3779b97f4a7c15)); }

/* The same with a secret: whoever does not know it cannot choose keys that meet. */
static inline uint64_t us_mix_keyed(uint64_t seed, uint64_t site, uint64_t url) {
    return us_stir(us_stir(url ^ seed) + site * UINT64_C(0x9e3779b97f4a7c15));
}

/* A second number of the first. */
static inline uint64_t us_again(uint64_t mixed) { return us_stir(mixed + UINT64_C(0xd1b54a32d192ed03)); }

/* Where a number stands in an array: its share of it. */
static inline size_t us_place(size_t room, uint64_t number) {
#ifdef __SIZEOF_INT128__
    return (size_t)((unsigned __int128)number * room >> 64);
#else
    return (size_t)(number % room);
#endif
}

#endif
