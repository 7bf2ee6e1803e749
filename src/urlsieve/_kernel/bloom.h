/* A blocked Bloom filter: all bits of a key lie in one block of 512, one cache line. The bits lie where the caller says (a shared mapping):
threads and processes may add and ask at the same time, for bits are only ever set, atomically.

Two who add a key at the same moment may both be told that it is new; one who asks may miss what is being added just now. */
#ifndef US_BLOOM_H
#define US_BLOOM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { US_BLOOM_BLOCK = 64, US_BLOOM_MOST_BITS = 21 };

typedef struct {
    _Atomic uint64_t *words;   /* eight a block, aligned to a block */
    uint64_t blocks;
    uint32_t bits;             /* a key's, 1 to US_BLOOM_MOST_BITS */
} us_bloom;

/* flags[i]: 1 if key i may have been there before. How many were not. */
size_t us_bloom_add(us_bloom *bloom, const uint8_t *fingerprints, size_t count, uint8_t *flags);

/* flags[i]: 1 if key i may be there, 0 if it is not. */
void us_bloom_get(const us_bloom *bloom, const uint8_t *fingerprints, size_t count, uint8_t *flags);

/* Bits that are set. */
uint64_t us_bloom_set_bits(const us_bloom *bloom);

/* Of all blocks, to find damage: not a defence against an enemy. */
uint64_t us_bloom_checksum(const us_bloom *bloom);

#endif
