/* A run's file: the first byte says whether its checksums are made right, so that what lies behind them is reached too; the rest is the file.
Whatever it says, no byte outside is touched, and the merge ends. */
#include <string.h>

#include "runmerge.h"
#include "target.h"

enum { OWNER = 77, KEYS = 8, LIMIT = 5000 };

static void find(us_runfile *run, const uint8_t *file, size_t size) {
    uint8_t keys[US_FINGERPRINT * KEYS], values[8 * KEYS];
    us_found found;
    for (size_t i = 0; i < KEYS; i++) {
        us_record key = {chance(), chance(), 0};
        if (run->blocks > 0 && below(2)) key = us_run_first(run, below(run->blocks));
        if (size >= US_FINGERPRINT && below(4) == 0) key = us_load_fingerprint(file + below(size - US_FINGERPRINT + 1));
        us_store_fingerprint(keys + US_FINGERPRINT * i, &key);
        us_store64(values + 8 * i, (uint64_t)US_ABSENT);
    }
    const int failed = us_run_find(run, keys, KEYS, values, &found);
    CHECK(failed == 0 || (failed == -1 && found.damaged < run->blocks));
}

static void merge(us_runfile *run) {
    us_source source = {.run = run, .count = run->blocks};
    us_record start = {0, 0, 0}, next = {0, 0, 0};
    us_merge_wrong wrong;
    us_work out;
    us_work_init(&out);
    enum us_merge_status status = US_MERGE_MORE;
    for (int i = 0; i < 20 && status == US_MERGE_MORE; i++) {
        us_source copy = source;
        out.used = 0;
        status = us_merge(&copy, 1, &start, LIMIT, (int)below(2), &out, &next, &wrong);
        CHECK(out.used <= US_RECORD * LIMIT && (status != US_MERGE_MORE || us_before(&start, &next)));
        start = next;
    }
    us_work_free(&out);
}

/* The footer's own words for where the index is, if they lead into the file. */
static void seal_by_footer(uint8_t *file, size_t size) {
    if (size < US_RUN_LEAST) return;
    const uint8_t *footer = file + size - US_RUN_FOOTER;
    const uint64_t blocks = us_load64(footer + 8), index = us_load64(footer + 32);
    if (index < US_RUN_HEADER || index > size - US_RUN_FOOTER || blocks > (size - US_RUN_FOOTER - index) / US_RUN_ENTRY) return;
    us_seal(file, size, (size_t)blocks, (size_t)index, OWNER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    begin(data, size);
    uint8_t *file = copy_of(data + 1, size - 1);
    if (data[0] & 1) seal_by_footer(file, size - 1);
    us_runfile run;
    if (us_run_open(&run, file, size - 1, OWNER) == US_RUN_OK) {
        us_block block;
        for (size_t i = 0; i < run.blocks; i++) (void)us_run_block(&run, i, 1, &block);
        find(&run, file, size - 1);
        merge(&run);
    }
    us_run_free(&run);
    free(file);
    return 0;
}
