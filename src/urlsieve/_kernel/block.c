/* Reading of blocks. */
#include "block.h"

uint64_t us_checksum(uint64_t owner, uint64_t part, const uint8_t *data, size_t length) {
    return us_siphash(UINT64_C(0x75726c7369657665) ^ owner, UINT64_C(0x72756e2066696c65) ^ part, data, length);
}

int us_block_open(us_block *block, const uint8_t *bytes, size_t length) {
    if (length < US_BLOCK_LEAST || length > US_BLOCK_MOST) return -1;
    block->bytes = bytes;
    block->end = bytes + length;
    block->keys = us_load16(bytes + 8);
    block->site_count = us_load16(bytes + 10);
    block->long_count = us_load16(bytes + 12);
    block->width = bytes[14];
    block->tombstones = bytes[15];
    block->base = us_load64(bytes + 16);
    block->first_site = us_load64(bytes + 24);
    block->site_bytes = bytes[32];
    if (block->width > 64 || block->tombstones > 1 || block->site_bytes > 8 || bytes[33] != 0) return -1;
    if (block->keys == 0 || block->keys > US_BLOCK_KEYS || block->site_count == 0 || block->site_count > block->keys) return -1;
    if (block->long_count > block->site_count) return -1;
    block->start_bits = block->start_step = US_BLOCK_START;
    block->url_step = block->code_step = 64 + block->width;
    const size_t sites = (size_t)block->site_bytes * block->site_count;
    const size_t directory = sites + ((size_t)US_BLOCK_START * block->site_count + 7) / 8;
    const size_t head = US_BLOCK_HEAD + directory + (size_t)US_BLOCK_LONG * block->long_count;
    if (head > length) return -1;
    block->format = 2;
    block->sites = bytes + US_BLOCK_HEAD;
    block->starts = block->sites + sites;
    block->longs = bytes + US_BLOCK_HEAD + directory;
    block->urls = block->codes = bytes + head;
    return 0;
}

/* Format 1 has no long stretches, whole halves of sites, and everything in arrays of their own:

     0  checksum, 8 bytes
     8  keys, 2 bytes; sites, 2; bytes of a code, 1 (0 to 8); 1 if code 0 is TOMBSTONE, 1; zeros, 2
    16  base, 8
    24  the sites' halves, 8 bytes each; then for each site the number of its first key, 2 bytes
        the keys' URL halves, 8 bytes each; the values' codes */
int us_block_open_1(us_block *block, const uint8_t *bytes, size_t length) {
    if (length < US_BLOCK_LEAST || length > US_BLOCK_MOST) return -1;
    block->bytes = bytes;
    block->end = bytes + length;
    block->keys = us_load16(bytes + 8);
    block->site_count = us_load16(bytes + 10);
    block->long_count = 0;
    block->tombstones = bytes[13];
    block->base = us_load64(bytes + 16);
    block->first_site = 0;
    const size_t width = bytes[12], sites = block->site_count, keys = block->keys;
    if (width > 8 || block->tombstones > 1 || us_load16(bytes + 14) != 0) return -1;
    if (keys == 0 || sites == 0 || sites > keys) return -1;
    if (24 + 10 * sites + (8 + width) * keys != length) return -1;
    block->width = block->code_step = 8 * (uint32_t)width;
    block->site_bytes = 8;
    block->url_step = 64;
    block->start_bits = block->start_step = 16;
    block->format = 1;
    block->sites = bytes + 24;
    block->starts = block->sites + 8 * sites;
    block->longs = block->urls = block->starts + 2 * sites;
    block->codes = block->urls + 8 * keys;
    return 0;
}

/* A long stretch, whose entry that is. */
static int long_stretch(const us_block *block, const uint8_t *entry, us_stretch *s) {
    const size_t room = (size_t)(block->end - block->bytes), offset = us_load16(entry + 2);
    s->zeros = us_load16(entry + 6);
    s->low = entry[8];
    s->first = us_load64(entry + 9);
    if (s->low > 63) return -1;
    const size_t bits = us_string_bits(s), ranks = 2 * ((bits - 1) / US_BLOCK_PIECE), string = (bits + 7) / 8;
    s->url_step = s->code_step = s->low + block->width;
    if (offset + ranks + string + ((size_t)s->url_step * s->keys + 7) / 8 > room) return -1;
    s->ranks = block->bytes + offset;
    s->upper = s->ranks + ranks;
    s->urls = s->codes = s->upper + string;
    s->url_bit = 0;
    s->code_bit = s->low;
    return 0;
}

int us_block_stretch(const us_block *block, uint32_t site, us_stretch *s) {
    const uint32_t start = us_block_start(block, site), end = us_block_end(block, site);
    if (start >= end) return -1;
    s->keys = end - start;
    size_t shorts = start;   /* short keys before it */
    if (block->long_count > 0) {
        uint32_t last = 0;   /* of the long ones that are not after it: no branch, as in the index */
        for (uint32_t count = block->long_count; count > 1;) {
            const uint32_t half = count / 2;
            last += us_load16(block->longs + US_BLOCK_LONG * (size_t)(last + half)) <= site ? half : 0;
            count -= half;
        }
        const uint8_t *entry = block->longs + US_BLOCK_LONG * (size_t)last;
        const uint32_t number = us_load16(entry);
        if (number == site) return long_stretch(block, entry, s);
        if (number < site) {
            const uint32_t behind = us_block_end(block, number);
            if (behind > start) return -1;
            shorts = us_load16(entry + 4) + start - behind;
        }
    }
    s->upper = NULL;
    s->first = 0;
    s->low = 64;
    s->urls = block->urls;
    s->codes = block->codes;
    s->url_step = block->url_step;
    s->code_step = block->code_step;
    s->url_bit = shorts * s->url_step;
    s->code_bit = shorts * s->code_step + (block->format == 2 ? 64 : 0);
    const size_t last = shorts + s->keys, room = 8 * (size_t)(block->end - block->urls);
    return last * s->url_step > room || last * s->code_step > 8 * (size_t)(block->end - block->codes) ? -1 : 0;
}

/* To the next one of a long stretch. */
static enum us_cursor_status next_bit(us_cursor *c) {
    const us_stretch *s = &c->stretch;
    const uint32_t bits = us_string_bits(s);
    while (c->bit < bits) {
        const uint64_t word = us_load64(s->upper + c->bit / 8) >> c->bit % 8;
        if (word == 0) {
            c->bit += 64 - c->bit % 8;
            continue;
        }
        c->bit += (uint32_t)__builtin_ctzll(word);
        if (c->bit >= bits) break;
        const uint64_t high = c->bit++ - c->key;
        c->now.url = s->first + (high << s->low | us_stretch_url(s, c->key));
        return US_CURSOR_RECORD;
    }
    return US_CURSOR_DAMAGED;
}

static enum us_cursor_status take(us_cursor *c, const us_block *block) {
    c->now.value = us_stretch_value(block, &c->stretch, c->key);
    if (c->stretch.upper != NULL) return next_bit(c);
    c->now.url = us_stretch_url(&c->stretch, c->key);
    return US_CURSOR_RECORD;
}

static enum us_cursor_status enter(us_cursor *c, const us_block *block) {
    if (us_block_stretch(block, c->site, &c->stretch) != 0) return US_CURSOR_DAMAGED;
    c->now.site = us_block_site(block, c->site);
    c->key = c->bit = 0;
    return take(c, block);
}

enum us_cursor_status us_cursor_first(us_cursor *c, const us_block *block) {
    c->site = 0;
    return enter(c, block);
}

enum us_cursor_status us_cursor_next(us_cursor *c, const us_block *block) {
    if (++c->key < c->stretch.keys) return take(c, block);
    if (++c->site < block->site_count) return enter(c, block);
    return US_CURSOR_END;
}

/* Long stretches lie one behind another, behind the short keys, and end with the block. */
static int layout_sound(const us_block *block) {
    if (block->format == 1) return 0;   /* its length was looked at */
    uint32_t shorts = 0, next = 0;
    size_t long_keys = 0;
    for (uint32_t i = 0; i < block->long_count; i++) {
        const uint32_t site = us_load16(block->longs + US_BLOCK_LONG * (size_t)i);
        if (site < next || site >= block->site_count) return -1;
        next = site + 1;
        long_keys += us_block_end(block, site) - us_block_start(block, site);
        if (long_keys > block->keys) return -1;
    }
    const size_t short_bits = (block->keys - long_keys) * (size_t)block->url_step;
    const uint8_t *at = block->urls + (short_bits + 7) / 8;
    for (uint32_t i = 0, site = 0, start = 0; i < block->long_count; i++) {
        const uint8_t *entry = block->longs + US_BLOCK_LONG * (size_t)i;
        us_stretch s;
        site = us_load16(entry);
        shorts += us_block_start(block, site) - start;
        start = us_block_end(block, site);
        if (us_load16(entry + 4) != shorts || us_block_stretch(block, site, &s) != 0 || s.ranks != at) return -1;
        at = s.urls + ((size_t)s.url_step * s.keys + 7) / 8;
    }
    return at == block->end ? 0 : -1;
}

static int ranks_sound(const us_stretch *s) {
    const uint32_t ranks = (us_string_bits(s) - 1) / US_BLOCK_PIECE;
    uint32_t ones = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        for (uint32_t at = 0; at < US_BLOCK_PIECE; at += 64) {
            ones += (uint32_t)(us_bit_sums(us_load64(s->upper + (US_BLOCK_PIECE * (size_t)i + at) / 8)) >> 56);
        }
        if (us_load16(s->ranks + 2 * (size_t)i) != ones) return -1;
    }
    return 0;
}

/* A stretch: its starts were looked at, the cursor stands on its first key. */
static int stretch_sound(us_cursor *c, const us_block *block, uint64_t most) {
    const us_stretch *s = &c->stretch;
    uint64_t wrong = 0, before = 0;
    if (s->upper != NULL && ranks_sound(s) != 0) return -1;
    for (;;) {
        if (block->width != 0) wrong |= us_stretch_code(block, s, c->key) > most;
        before = c->now.url;
        if (c->key + 1 == s->keys) break;
        c->key++;
        if (take(c, block) != US_CURSOR_RECORD) return -1;
        wrong |= c->now.url <= before;
    }
    if (s->upper != NULL) wrong |= c->bit != us_string_bits(s);
    return wrong ? -1 : 0;
}

int us_block_sound(const us_block *block, const us_record *first, const us_record *last, int inclusive) {
    us_cursor c;
    us_record before = {0, 0, 0};
    uint32_t next = 0;
    if (layout_sound(block) != 0) return -1;
    const int only_tombstones = block->width == 0 && block->tombstones;
    if (!only_tombstones && us_signed(block->base) == US_ABSENT) return -1;
    const uint64_t most = (uint64_t)INT64_MAX - block->base + block->tombstones;   /* a larger code would be past the largest value */
    for (c.site = 0; c.site < block->site_count; c.site++) {
        if (us_block_start(block, c.site) != next || enter(&c, block) != US_CURSOR_RECORD) return -1;
        if (c.site == 0 ? !us_same(&c.now, first) : c.now.site <= before.site) return -1;
        next += c.stretch.keys;
        if (stretch_sound(&c, block, most) != 0) return -1;
        before = c.now;
    }
    if (next != block->keys) return -1;
    return inclusive ? (us_same(&before, last) ? 0 : -1) : (us_before(&before, last) ? 0 : -1);
}
