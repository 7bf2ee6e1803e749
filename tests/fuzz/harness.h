/* What the parts of the harness share: chance that depends on the seed and the round only, and a check that says where it was. */
#ifndef US_HARNESS_H
#define US_HARNESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
            told();                                                            \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* SplitMix64. */
static inline uint64_t next_of(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void told(void);
uint64_t chance(void);

static inline size_t below(size_t n) { return (size_t)(chance() % n); }

/* Writes a run of block format 1, which the kernel only reads. 0, or -1: no memory. */
int us_write_format_1(const uint8_t *records, size_t count, uint64_t owner, us_work *out);

/* The map, the writer, the reader on whole and on mutated files, and the merge. */
uint64_t run_round(uint64_t digest);

/* Rules, regular expressions and globs, on this text. */
uint64_t rule_round(us_work *work, const uint8_t *text, size_t length, uint64_t digest);

/* The cuckoo table, the Bloom filter and the HyperLogLog. */
uint64_t sketch_round(uint64_t digest);

/* Makes a run file's checksums right again, as far as its mutated offsets lead anywhere. The index lies inside the file. */
void us_seal(uint8_t *file, size_t size, size_t blocks, size_t index, uint64_t owner);

/* Each allocation of theirs is refused once. */
void memory_round(void);

#endif
