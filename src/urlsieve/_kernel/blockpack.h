/* Records in order go in, a block comes out; and how long it would be with one more. */
#ifndef US_BLOCKPACK_H
#define US_BLOCKPACK_H

#include "block.h"

/* How a stretch is written. */
typedef struct {
    int is_long;
    uint32_t low;
    uint32_t zeros;
} us_plan;

us_plan us_plan_stretch(uint32_t keys, uint64_t first, uint64_t last);

/* What a block has so far. */
typedef struct {
    uint32_t keys;
    uint32_t sites;
    uint64_t first_site;
    uint64_t last_site;
    uint32_t stretch;        /* keys of the last site */
    uint64_t first;          /* URL halves of the last site */
    uint64_t last;
    uint32_t short_keys;     /* of the sites before */
    uint32_t longs;
    uint64_t long_bytes;     /* of those, without codes and low parts */
    uint64_t long_low_bits;
    int64_t least;           /* of the values that are not TOMBSTONE, if there are any */
    int64_t most;
    int any_value;
    int tombstones;
} us_measure;

/* Takes a record that comes after those before it into the measure; 0 if the block could be too long with it, and then nothing has changed. */
int us_measure_take(us_measure *measure, const us_record *record);

/* Writes the records, which are those of the measure, to `to`, which has room for US_BLOCK_MOST + US_BITS_BEHIND; returns the length. */
size_t us_block_pack(const us_record *records, const us_measure *measure, uint64_t owner, uint64_t number, uint8_t *to);

#endif
