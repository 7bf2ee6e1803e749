/* The writer of block format 1: the kernel reads it and writes it no longer. Each block takes as many records as fit if codes had 8 bytes. */
#include <string.h>

#include "harness.h"
#include "run.h"

enum { HEAD = 24, TAKEN = 600 };

static size_t pack(const uint8_t *records, size_t count, uint64_t owner, uint64_t number, uint8_t *to) {
    int64_t least = INT64_MAX, most = INT64_MIN;
    size_t sites = 0, width = 0;
    uint64_t forgotten = 0, before = 0;
    int any = 0;
    for (size_t i = 0; i < count; i++) {
        const us_record r = us_load_record(records + US_RECORD * i);
        sites += i == 0 || r.site != before;
        before = r.site;
        if (r.value == US_TOMBSTONE) {
            forgotten = 1;
            continue;
        }
        any = 1;
        least = r.value < least ? r.value : least;
        most = r.value > most ? r.value : most;
    }
    const uint64_t base = any ? (uint64_t)least : 0;
    for (uint64_t codes = any ? (uint64_t)most - base + forgotten : 0; codes != 0; codes >>= 8) width++;
    us_store64(to + 8, (uint64_t)count | (uint64_t)sites << 16 | (uint64_t)width << 32 | forgotten << 40);
    us_store64(to + 16, base);
    uint8_t *site = to + HEAD, *start = site + 8 * sites, *url = start + 2 * sites, *code = url + 8 * count;
    for (size_t i = 0; i < count; i++) {
        const us_record r = us_load_record(records + US_RECORD * i);
        if (i == 0 || r.site != us_load64(site - 8)) {
            us_store64(site, r.site);
            site += 8;
            *start++ = (uint8_t)i;
            *start++ = (uint8_t)(i >> 8);
        }
        us_store64(url + 8 * i, r.url);
        const uint64_t value = r.value == US_TOMBSTONE ? 0 : (uint64_t)r.value - base + forgotten;
        for (size_t k = 0; k < width; k++) *code++ = (uint8_t)(value >> 8 * k);
    }
    us_store64(to, us_checksum(owner, number, to + 8, (size_t)(code - to) - 8));
    return (size_t)(code - to);
}

int us_write_format_1(const uint8_t *records, size_t count, uint64_t owner, us_work *out) {
    const size_t blocks = (count + TAKEN - 1) / TAKEN;
    if (us_work_text(out, US_RUN_LEAST + blocks * (US_BLOCK_MOST + US_RUN_ENTRY)) != 0) return -1;
    uint8_t *file = out->text, *at = file + US_RUN_HEADER;
    uint8_t *index = malloc(US_RUN_ENTRY * blocks + 1);
    if (index == NULL) return -1;
    memset(file, 0, US_RUN_HEADER);
    memcpy(file, US_RUN_MAGIC, 8);
    us_store64(file + 8, 1);
    us_store64(file + 16, owner);
    us_store64(file + 56, us_checksum(owner, US_PART_HEADER, file, 56));
    for (size_t i = 0; i < blocks; i++) {
        const uint8_t *first = records + US_RECORD * TAKEN * i;
        const size_t length = pack(first, count - TAKEN * i < TAKEN ? count - TAKEN * i : TAKEN, owner, i, at);
        memcpy(index + US_RUN_ENTRY * i, first, US_FINGERPRINT);
        us_store64(index + US_RUN_ENTRY * i + 16, (uint64_t)(at - file));
        us_store64(index + US_RUN_ENTRY * i + 24, us_load64(at));
        at += length;
    }
    uint8_t *footer = at + US_RUN_ENTRY * blocks;
    memcpy(at, index, US_RUN_ENTRY * blocks);
    free(index);
    memset(footer, 0, US_RUN_FOOTER);
    us_store64(footer, count);
    us_store64(footer + 8, blocks);
    if (count > 0) memcpy(footer + 16, records + US_RECORD * (count - 1), US_FINGERPRINT);
    us_store64(footer + 32, (uint64_t)(at - file));
    us_store64(footer + 40, (uint64_t)(footer - file) + US_RUN_FOOTER);
    us_store64(footer + 48, owner);
    us_store64(footer + 56, us_checksum(owner, US_PART_INDEX, at, US_RUN_ENTRY * blocks));
    memcpy(footer + 80, US_RUN_END, 8);
    us_store64(footer + 88, us_checksum(owner, US_PART_FOOTER, footer, 88));
    out->used = (size_t)(footer - file) + US_RUN_FOOTER;
    return 0;
}
