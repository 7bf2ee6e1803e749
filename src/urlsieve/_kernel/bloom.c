#include "bloom.h"

#include <string.h>

#include "mix.h"
#include "siphash.h"

enum { WORDS = 8, AHEAD = 16 };

typedef struct {
    size_t block;
    uint64_t masks[WORDS];
} place;

static void locate(const us_bloom *bloom, const uint8_t *fingerprint, place *to) {
    const uint64_t order = us_mix(us_load64(fingerprint), us_load64(fingerprint + 8));
    to->block = us_place((size_t)bloom->blocks, order);
    memset(to->masks, 0, sizeof to->masks);
    uint64_t seed = us_again(order), more = seed;
    for (uint32_t i = 0, left = 7; i < bloom->bits; i++) {
        if (left == 0) {
            more = seed = us_again(seed);
            left = 7;
        }
        const uint32_t bit = (uint32_t)more & 511;
        to->masks[bit >> 6] |= UINT64_C(1) << (bit & 63);
        more >>= 9;
        left--;
    }
}

static int has(const us_bloom *bloom, const place *at) {
    const _Atomic uint64_t *block = bloom->words + WORDS * at->block;
    uint64_t missing = 0;
    for (size_t w = 0; w < WORDS; w++) missing |= at->masks[w] & ~atomic_load_explicit(&block[w], memory_order_relaxed);
    return missing == 0;
}

static int add(us_bloom *bloom, const place *at) {
    _Atomic uint64_t *block = bloom->words + WORDS * at->block;
    uint64_t missing = 0;
    for (size_t w = 0; w < WORDS; w++) {
        const uint64_t lacking = at->masks[w] & ~atomic_load_explicit(&block[w], memory_order_relaxed);
        if (lacking != 0) missing |= lacking & ~atomic_fetch_or_explicit(&block[w], lacking, memory_order_relaxed);
    }
    return missing == 0;
}

size_t us_bloom_add(us_bloom *bloom, const uint8_t *fingerprints, size_t count, uint8_t *flags) {
    place ahead[AHEAD];
    size_t fresh = 0;
    for (size_t i = 0; i < count + AHEAD; i++) {
        if (i >= AHEAD) {
            const int had = add(bloom, &ahead[i % AHEAD]);
            flags[i - AHEAD] = (uint8_t)had;
            fresh += (size_t)!had;
        }
        if (i < count) {
            locate(bloom, fingerprints + 16 * i, &ahead[i % AHEAD]);
            __builtin_prefetch((const void *)(bloom->words + WORDS * ahead[i % AHEAD].block), 1);
        }
    }
    return fresh;
}

void us_bloom_get(const us_bloom *bloom, const uint8_t *fingerprints, size_t count, uint8_t *flags) {
    place ahead[AHEAD];
    for (size_t i = 0; i < count + AHEAD; i++) {
        if (i >= AHEAD) flags[i - AHEAD] = (uint8_t)has(bloom, &ahead[i % AHEAD]);
        if (i < count) {
            locate(bloom, fingerprints + 16 * i, &ahead[i % AHEAD]);
            __builtin_prefetch((const void *)(bloom->words + WORDS * ahead[i % AHEAD].block), 0);
        }
    }
}

uint64_t us_bloom_set_bits(const us_bloom *bloom) {
    uint64_t bits = 0;
    for (size_t i = 0; i < WORDS * (size_t)bloom->blocks; i++) {
        bits += (uint64_t)__builtin_popcountll(atomic_load_explicit(&bloom->words[i], memory_order_relaxed));
    }
    return bits;
}

/* Eight sums side by side: as fast as memory. */
uint64_t us_bloom_checksum(const us_bloom *bloom) {
    uint64_t sums[WORDS] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t b = 0; b < (size_t)bloom->blocks; b++) {
        for (size_t w = 0; w < WORDS; w++) {
            const uint64_t word = atomic_load_explicit(&bloom->words[WORDS * b + w], memory_order_relaxed);
            sums[w] = (sums[w] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
            sums[w] ^= sums[w] >> 32;
        }
    }
    uint64_t all = bloom->blocks;
    for (size_t w = 0; w < WORDS; w++) all = us_stir(all ^ sums[w]);
    return all;
}
