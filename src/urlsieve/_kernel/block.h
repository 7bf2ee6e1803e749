/* A block of a run: at most 16 KiB of records in order, complete in itself. Format 2; us_block_open_1 says what format 1 was.

     0  checksum of what follows, 8 bytes
     8  keys, 2 bytes; sites, 2; long stretches, 2; bits of a code, 1 (0 to 64); 1 if code 0 is TOMBSTONE, 1
    16  base, 8: the smallest value
    24  the first site's half, 8
    32  bytes of a site, 1 (0 to 8); zeros, 1
    34  for each site its half less the first one; then for each 12 bits: the number of its first key
        for each long stretch 17 bytes: number of its site 2, offset of its bits in the block 2, number of short keys before it 2,
        zeros 2, bits of a low part 1, its first key's URL half 8
        the short stretches' keys: for each its URL half, 64 bits, and its code
        the long stretches' bits, see below

A stretch is what a block has of one site. URL halves are hashes, so of n of them in order the upper log2(n) bits say nearly nothing that
their order does not say (Elias and Fano): a long stretch takes its first key from each and cuts the difference in an upper part, which is
written in unary, and a low part of so many bits that there are between n and 2n upper parts. That costs 2 bits a key for the log2(n) that are
gone. The unary is a bit string: for each upper part from 0 on a one for each of its keys, and a zero where the next part begins. So key i
with the upper part h is bit h + i; the keys of h begin behind the h-th zero, which is found by the ranks: how many ones there are before
each piece of 256 bits. In the block: the ranks of pieces 1, 2, …, 2 bytes each; the bit string, in whole bytes; for each key its low part
and its code. A stretch is long where that is shorter.

A code is value - base, or value - base + 1 where 0 is TOMBSTONE, which is apart because it is far from every other value and would make all
codes of its block 64 bits wide. A block whose values are all equal has no codes.

All integers are little-endian and nothing is aligned; each part begins at a byte. A read may touch US_BLOCK_BEHIND bytes behind the block:
in a file there is always the footer. A checksum is SipHash-2-4 under a fixed key that the store's number and the block's are mixed into: a
block that stands at a wrong place or in a wrong file is damaged too. It guards against accidents. Against bytes that somebody has made up
there are the checks of shape: every count is checked against the length before it is used, so such a block may be wrong but harms nothing. */
#ifndef US_BLOCK_H
#define US_BLOCK_H

#include "bits.h"
#include "record.h"

enum {
    US_BLOCK_MOST = 16384,
    US_BLOCK_HEAD = 34,
    US_BLOCK_LEAST = 42,       /* of any format */
    US_BLOCK_KEYS = 4095,
    US_BLOCK_START = 12,       /* bits of a key's number */
    US_BLOCK_LONG = 17,
    US_BLOCK_PIECE = 256,
    US_BLOCK_BEHIND = 48,
};

/* What a checksum is of, where it is not of a block, whose number stands here. */
#define US_PART_HEADER UINT64_MAX
#define US_PART_FOOTER (UINT64_MAX - 1)
#define US_PART_INDEX (UINT64_MAX - 2)

/* The parts of a block of any format: arrays of bits, with the bits of a number and those from one number to the next. */
typedef struct {
    const uint8_t *bytes;
    const uint8_t *end;       /* of the block */
    const uint8_t *sites;     /* half less the first, in whole bytes */
    const uint8_t *starts;
    const uint8_t *longs;
    const uint8_t *urls;      /* of short stretches */
    const uint8_t *codes;     /* of those too */
    uint64_t base;
    uint64_t first_site;
    uint32_t keys;
    uint32_t site_count;
    uint32_t long_count;
    uint32_t width;           /* bits of a code */
    uint32_t tombstones;
    uint32_t site_bytes;
    uint32_t start_bits;
    uint32_t start_step;
    uint32_t url_step;
    uint32_t code_step;
    uint32_t format;
} us_block;

typedef struct {
    const uint8_t *urls;      /* whole or low parts */
    const uint8_t *codes;
    const uint8_t *upper;     /* NULL: a short one */
    const uint8_t *ranks;
    uint64_t first;
    size_t url_bit;           /* of its first key */
    size_t code_bit;
    uint32_t url_step;
    uint32_t code_step;
    uint32_t low;             /* bits of what stands at urls */
    uint32_t keys;
    uint32_t zeros;
} us_stretch;

uint64_t us_checksum(uint64_t owner, uint64_t part, const uint8_t *data, size_t length);

static inline uint32_t us_load16(const uint8_t *from) { return (uint32_t)from[0] | (uint32_t)from[1] << 8; }

static inline uint64_t us_block_site(const us_block *block, uint32_t site) {
    return block->first_site + (us_load64(block->sites + (size_t)block->site_bytes * site) & us_mask(8 * block->site_bytes));
}

static inline uint32_t us_block_start(const us_block *block, uint32_t site) {
    return (uint32_t)us_bits(block->starts, (size_t)block->start_step * site, block->start_bits);
}

/* Where the keys of a site end; never behind the last key, whatever stands there. */
static inline uint32_t us_block_end(const us_block *block, uint32_t site) {
    const uint32_t end = site + 1 < block->site_count ? us_block_start(block, site + 1) : block->keys;
    return end < block->keys ? end : block->keys;
}

static inline uint64_t us_stretch_url(const us_stretch *s, uint32_t key) {
    return us_bits(s->urls, s->url_bit + (size_t)s->url_step * key, s->low);
}

static inline uint64_t us_stretch_code(const us_block *block, const us_stretch *s, uint32_t key) {
    return us_bits(s->codes, s->code_bit + (size_t)s->code_step * key, block->width);
}

static inline int64_t us_stretch_value(const us_block *block, const us_stretch *s, uint32_t key) {
    if (block->width == 0) return block->tombstones ? US_TOMBSTONE : us_signed(block->base);
    const uint64_t code = us_stretch_code(block, s, key);
    if (!block->tombstones) return us_signed(block->base + code);
    return code == 0 ? US_TOMBSTONE : us_signed(block->base + code - 1);
}

static inline uint32_t us_string_bits(const us_stretch *s) { return s->keys + s->zeros; }

/* Looks at the head only. 0: the directory is within `length` bytes; -1: damaged. */
int us_block_open(us_block *block, const uint8_t *bytes, size_t length);
int us_block_open_1(us_block *block, const uint8_t *bytes, size_t length);

/* What the block has of a site. 0: all of it is within the block and there is something; -1: damaged. */
int us_block_stretch(const us_block *block, uint32_t site, us_stretch *s);

/* One record after another. */
typedef struct {
    us_stretch stretch;
    us_record now;
    uint32_t site;
    uint32_t key;      /* in the stretch */
    uint32_t bit;      /* of a long stretch: behind the key's */
} us_cursor;

enum us_cursor_status { US_CURSOR_RECORD, US_CURSOR_END, US_CURSOR_DAMAGED };

enum us_cursor_status us_cursor_first(us_cursor *cursor, const us_block *block);
enum us_cursor_status us_cursor_next(us_cursor *cursor, const us_block *block);

/* Looks at everything but the checksum: keys ascend from `first` on, and end at `last`, or before it where it is not `inclusive`;
every value is one. 0, or -1: damaged. */
int us_block_sound(const us_block *block, const us_record *first, const us_record *last, int inclusive);

#endif
