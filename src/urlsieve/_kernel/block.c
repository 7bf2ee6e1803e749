#include "block.h"

uint64_t us_checksum(uint64_t owner, uint64_t part, const uint8_t *data, size_t length) {
    return us_siphash(UINT64_C(0x75726c7369657665) ^ owner, UINT64_C(0x72756e2066696c65) ^ part, data, length);
}

size_t us_block_length(uint32_t keys, uint32_t sites, uint32_t width) {
    return US_BLOCK_HEAD + (size_t)10 * sites + (size_t)(8 + width) * keys;
}

int us_block_open(us_block *block, const uint8_t *bytes, size_t length) {
    if (length < US_BLOCK_LEAST || length > US_BLOCK_MOST) return -1;
    block->keys = us_load16(bytes + 8);
    block->site_count = us_load16(bytes + 10);
    block->width = bytes[12];
    block->tombstones = bytes[13];
    block->base = us_load64(bytes + 16);
    if (block->width > 8 || block->tombstones > 1 || us_load16(bytes + 14) != 0) return -1;
    if (block->keys == 0 || block->site_count == 0 || block->site_count > block->keys) return -1;
    if (us_block_length(block->keys, block->site_count, block->width) != length) return -1;
    block->sites = bytes + US_BLOCK_HEAD;
    block->starts = block->sites + 8 * (size_t)block->site_count;
    block->urls = block->starts + 2 * (size_t)block->site_count;
    block->codes = block->urls + 8 * (size_t)block->keys;
    return 0;
}

static int values_sound(const us_block *block) {
    if (block->width == 0 && block->tombstones) return 0;
    const uint64_t most = (uint64_t)INT64_MAX - block->base;   /* a larger code would be past the largest value */
    if (us_signed(block->base) == US_ABSENT) return -1;
    if (block->width == 0) return 0;
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < block->keys; i++) {
        const uint64_t code = us_load64(block->codes + block->width * (i + 1) - 8) >> (64 - 8 * block->width);
        wrong |= code > most + block->tombstones;
    }
    return wrong ? -1 : 0;
}

int us_block_sound(const us_block *block, const us_record *first, const us_record *last, int inclusive) {
    uint32_t next = 0;
    us_record key = {0, 0, 0};
    for (uint32_t site = 0; site < block->site_count; site++) {
        if (next >= block->keys) return -1;
        const us_record head = {us_load64(block->sites + 8 * (size_t)site), us_load64(block->urls + 8 * (size_t)next), 0};
        if (us_load16(block->starts + 2 * (size_t)site) != next) return -1;
        if (site == 0 ? !us_same(&head, first) : head.site <= key.site) return -1;
        const uint32_t end = us_block_end(block, site);
        if (end <= next) return -1;
        uint64_t wrong = 0;
        key = head;
        while (++next < end) {
            const uint64_t url = us_load64(block->urls + 8 * (size_t)next);
            wrong |= url <= key.url;
            key.url = url;
        }
        if (wrong) return -1;
    }
    if (next != block->keys) return -1;   /* cannot be: the last site ends with the keys */
    if (inclusive ? !us_same(&key, last) : !us_before(&key, last)) return -1;
    return values_sound(block);
}

uint32_t us_block_width(int64_t least, int64_t most, int any_value, int tombstones) {
    uint64_t codes = any_value ? (uint64_t)most - (uint64_t)least + (uint64_t)(tombstones != 0) : 0;
    uint32_t width = 0;
    for (; codes != 0; codes >>= 8) width++;
    return width;
}

static void pack_codes(const us_record *records, uint32_t count, uint64_t base, uint32_t width, int tombstones, uint8_t *to) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t code = (uint64_t)records[i].value - base + (uint64_t)tombstones;
        if (records[i].value == US_TOMBSTONE) code = 0;
        for (uint32_t k = 0; k < width; k++) *to++ = (uint8_t)(code >> (8 * k));
    }
}

size_t us_block_pack(const us_record *records, uint32_t count, uint64_t owner, uint64_t number, uint8_t *to) {
    int64_t least = INT64_MAX, most = INT64_MIN;
    uint32_t sites = 0;
    int tombstones = 0, any_value = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t value = records[i].value;
        sites += i == 0 || records[i].site != records[i - 1].site;
        if (value == US_TOMBSTONE) {
            tombstones = 1;
            continue;
        }
        any_value = 1;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    const uint32_t width = us_block_width(least, most, any_value, tombstones);
    const uint64_t base = any_value ? (uint64_t)least : 0;
    const size_t length = us_block_length(count, sites, width);
    uint8_t *site_to = to + US_BLOCK_HEAD, *start_to = site_to + 8 * (size_t)sites, *url_to = start_to + 2 * (size_t)sites;
    us_store64(to + 8, (uint64_t)count | (uint64_t)sites << 16 | (uint64_t)width << 32 | (uint64_t)tombstones << 40);
    us_store64(to + 16, base);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || records[i].site != records[i - 1].site) {
            us_store64(site_to, records[i].site);
            *start_to++ = (uint8_t)i;
            *start_to++ = (uint8_t)(i >> 8);
            site_to += 8;
        }
        us_store64(url_to + 8 * (size_t)i, records[i].url);
    }
    pack_codes(records, count, base, width, tombstones, url_to + 8 * (size_t)count);
    us_store64(to, us_checksum(owner, number, to + 8, length - 8));
    return length;
}
