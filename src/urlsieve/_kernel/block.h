/* A block of a run: at most 16 KiB of records in order, complete in itself.

     0  checksum of what follows, 8 bytes
     8  keys, 2 bytes; sites, 2; width of a code, 1 (0 to 8); 1 if code 0 is TOMBSTONE, 1; zeros, 2
    16  base, 8: the smallest value
    24  the sites' halves, 8 bytes each; then for each site the number of its first key, 2 bytes
        the keys' URL halves, 8 bytes each
        the values' codes, `width` bytes each: value - base, or value - base + 1 where 0 is TOMBSTONE

All integers are little-endian and nothing is aligned. A block whose values are all equal has no codes. TOMBSTONE is apart because it is far
from every other value and would make all codes of its block eight bytes wide.

A checksum is SipHash-2-4 under a fixed key that the store's number and the block's are mixed into: a block that stands at a wrong place or
in a wrong file is damaged too. It guards against accidents. Against bytes that somebody has made up there are the checks of shape: every
count is checked against the length before it is used, so such a block may be wrong but harms nothing. */
#ifndef US_BLOCK_H
#define US_BLOCK_H

#include "record.h"

enum { US_BLOCK_MOST = 16384, US_BLOCK_HEAD = 24, US_BLOCK_LEAST = US_BLOCK_HEAD + 10 + 8, US_BLOCK_KEYS = 2048 };

/* What a checksum is of, where it is not of a block, whose number stands here. */
#define US_PART_HEADER UINT64_MAX
#define US_PART_FOOTER (UINT64_MAX - 1)
#define US_PART_INDEX (UINT64_MAX - 2)

typedef struct {
    const uint8_t *sites;
    const uint8_t *starts;
    const uint8_t *urls;
    const uint8_t *codes;
    uint64_t base;
    uint32_t keys;
    uint32_t site_count;
    uint32_t width;
    uint32_t tombstones;
} us_block;

uint64_t us_checksum(uint64_t owner, uint64_t part, const uint8_t *data, size_t length);

static inline uint32_t us_load16(const uint8_t *from) { return (uint32_t)from[0] | (uint32_t)from[1] << 8; }

/* Where the keys of site i end; never behind the last key, whatever stands there. */
static inline uint32_t us_block_end(const us_block *block, uint32_t site) {
    const uint32_t end = site + 1 < block->site_count ? us_load16(block->starts + 2 * (site + 1)) : block->keys;
    return end < block->keys ? end : block->keys;
}

/* The eight bytes that end with the code: they are in the block because its head is longer than that. */
static inline int64_t us_block_value(const us_block *block, uint32_t key) {
    if (block->width == 0) return block->tombstones ? US_TOMBSTONE : us_signed(block->base);
    const uint32_t past = block->width * (key + 1);
    const uint64_t code = us_load64(block->codes + past - 8) >> (64 - 8 * block->width);
    if (!block->tombstones) return us_signed(block->base + code);
    return code == 0 ? US_TOMBSTONE : us_signed(block->base + code - 1);
}

/* Looks at the head only. 0: all of the block's parts are within `length` bytes; -1: damaged. */
int us_block_open(us_block *block, const uint8_t *bytes, size_t length);

/* Looks at everything but the checksum: keys ascend from `first` on, and end at `last`, or before it where it is not `inclusive`;
every value is one. 0, or -1: damaged. */
int us_block_sound(const us_block *block, const us_record *first, const us_record *last, int inclusive);

/* The block's length for these many; more than US_BLOCK_MOST: too many. */
size_t us_block_length(uint32_t keys, uint32_t sites, uint32_t width);

/* Bytes that a code of a block with these smallest and largest values needs; tombstones are not among them. */
uint32_t us_block_width(int64_t least, int64_t most, int any_value, int tombstones);

/* Writes the records, which are known to fit, to `to`, which has room for US_BLOCK_MOST; returns the length. */
size_t us_block_pack(const us_record *records, uint32_t count, uint64_t owner, uint64_t number, uint8_t *to);

#endif
