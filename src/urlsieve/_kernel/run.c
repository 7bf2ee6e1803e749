#include "run.h"

#include <stdlib.h>

static size_t block_offset(const us_runfile *run, size_t block) {
    return block < run->blocks ? (size_t)us_load64(run->index + US_RUN_ENTRY * block + 16) : run->index_offset;
}

static int all_zero(const uint8_t *bytes, size_t length) {
    uint8_t any = 0;
    for (size_t i = 0; i < length; i++) any |= bytes[i];
    return any == 0;
}

static enum us_run_status read_header(us_runfile *run, uint64_t owner) {
    const uint8_t *data = run->data;
    if (run->size == 0) return US_RUN_NO_END;
    if (memcmp(data, US_RUN_MAGIC, run->size < 8 ? run->size : 8) != 0) return US_RUN_NOT_ONE;
    if (run->size < 12) return US_RUN_NO_END;
    run->version = us_load16(data + 8) | (uint64_t)us_load16(data + 10) << 16;
    if (run->version < US_RUN_OLDEST || run->version > US_RUN_VERSION) return US_RUN_OTHER_VERSION;   /* first: what follows may be different there */
    if (run->size < US_RUN_LEAST) return US_RUN_NO_END;
    run->owner = us_load64(data + 16);
    if (us_checksum(run->owner, US_PART_HEADER, data, 56) != us_load64(data + 56)) return US_RUN_BAD_HEADER;
    if (!all_zero(data + 12, 4) || !all_zero(data + 24, 32)) return US_RUN_BAD_HEADER;
    return run->owner == owner ? US_RUN_OK : US_RUN_OTHER_STORE;
}

static enum us_run_status read_footer(us_runfile *run) {
    const uint8_t *footer = run->data + run->size - US_RUN_FOOTER;
    if (us_checksum(run->owner, US_PART_FOOTER, footer, 88) != us_load64(footer + 88)) {
        return memcmp(footer + 80, US_RUN_END, 8) == 0 ? US_RUN_BAD_FOOTER : US_RUN_NO_END;
    }
    const uint64_t blocks = us_load64(footer + 8), offset = us_load64(footer + 32), size = us_load64(footer + 40);
    if (size != run->size) {
        run->wanted = size;
        return US_RUN_CUT_OFF;
    }
    run->count = us_load64(footer);
    run->last = us_load_fingerprint(footer + 16);
    const size_t room = run->size - US_RUN_LEAST;
    if (us_load64(footer + 48) != run->owner || !all_zero(footer + 64, 16)) return US_RUN_BAD_FOOTER;
    if (memcmp(footer + 80, US_RUN_END, 8) != 0) return US_RUN_BAD_FOOTER;
    if (blocks > room / US_RUN_ENTRY || offset != US_RUN_HEADER + room - blocks * US_RUN_ENTRY) return US_RUN_BAD_FOOTER;
    if (run->count < blocks || run->count > blocks * US_BLOCK_KEYS) return US_RUN_BAD_FOOTER;
    run->blocks = (size_t)blocks;
    run->index_offset = (size_t)offset;
    run->index = run->data + run->index_offset;
    return US_RUN_OK;
}

/* Blocks stand one behind another, from the header to the index, and their first fingerprints ascend. */
static enum us_run_status read_index(const us_runfile *run) {
    const size_t length = run->blocks * US_RUN_ENTRY;
    const uint8_t *footer = run->index + length;
    if (us_checksum(run->owner, US_PART_INDEX, run->index, length) != us_load64(footer + 56)) return US_RUN_BAD_INDEX;
    size_t at = US_RUN_HEADER;
    us_record before = {0, 0, 0};
    for (size_t i = 0; i < run->blocks; i++) {
        const us_record first = us_run_first(run, i);
        const uint64_t offset = us_load64(run->index + US_RUN_ENTRY * i + 16);
        const uint64_t end = i + 1 < run->blocks ? us_load64(run->index + US_RUN_ENTRY * (i + 1) + 16) : run->index_offset;
        if (offset != at || end < offset || end - offset < US_BLOCK_LEAST || end - offset > US_BLOCK_MOST) return US_RUN_BAD_INDEX;
        if (i > 0 && !us_before(&before, &first)) return US_RUN_BAD_INDEX;
        at = (size_t)end;
        before = first;
    }
    if (at != run->index_offset || (run->blocks > 0 && us_before(&run->last, &before))) return US_RUN_BAD_INDEX;
    return US_RUN_OK;
}

enum us_run_status us_run_open(us_runfile *run, const uint8_t *data, size_t size, uint64_t owner) {
    memset(run, 0, sizeof *run);
    run->data = data;
    run->size = size;
    atomic_init(&run->unverified, 0);
    enum us_run_status status = read_header(run, owner);
    if (status == US_RUN_OK) status = read_footer(run);
    if (status == US_RUN_OK) status = read_index(run);
    if (status != US_RUN_OK) return status;
    const size_t words = run->blocks / 64 + 1;
    run->verified = malloc(words * sizeof *run->verified);
    if (run->verified == NULL) return US_RUN_MEMORY;
    for (size_t i = 0; i < words; i++) atomic_init(&run->verified[i], 0);
    atomic_store_explicit(&run->unverified, run->blocks, memory_order_relaxed);
    return US_RUN_OK;
}

void us_run_free(us_runfile *run) {
    free(run->verified);
    run->verified = NULL;
}

size_t us_run_locate(const us_runfile *run, const us_record *key) {
    size_t low = 0;
    for (size_t count = run->blocks; count > 1;) {
        const size_t half = count / 2;
        const us_record first = us_run_first(run, low + half);
        low += us_before(key, &first) ? 0 : half;
        count -= half;
    }
    return low;
}

int us_run_block(us_runfile *run, size_t number, int again, us_block *block) {
    const size_t offset = block_offset(run, number), length = block_offset(run, number + 1) - offset;
    /* the index may have changed under us since it was checked: never past the index, whatever it says now */
    if (offset < US_RUN_HEADER || offset > run->index_offset || length > run->index_offset - offset) return -1;
    const uint8_t *bytes = run->data + offset;
    const int wrong = run->version == 1 ? us_block_open_1(block, bytes, length) : us_block_open(block, bytes, length);
    if (wrong) return -1;
    const uint64_t bit = UINT64_C(1) << number % 64;
    _Atomic uint64_t *word = &run->verified[number / 64];
    if (!again && (atomic_load_explicit(word, memory_order_relaxed) & bit) != 0) return 0;
    const uint64_t checksum = us_load64(bytes);
    if (checksum != us_load64(run->index + US_RUN_ENTRY * number + 24)) return -1;
    if (checksum != us_checksum(run->owner, number, bytes + 8, length - 8)) return -1;
    const int is_last = number + 1 == run->blocks;
    const us_record first = us_run_first(run, number), last = is_last ? run->last : us_run_first(run, number + 1);
    if (us_block_sound(block, &first, &last, is_last) != 0) return -1;
    /* the bytes never change: no order with them is needed */
    const int is_first = (atomic_fetch_or_explicit(word, bit, memory_order_relaxed) & bit) == 0;
    if (is_first) atomic_fetch_sub_explicit(&run->unverified, 1, memory_order_relaxed);
    return 0;
}
