/* Memory runs out at every place it can: each of the kernel's allocations is refused once, and what was promised for that case must hold.

The linker leads the allocations of everything in the harness through here (--wrap). */
#include <string.h>

#include "cuckoo.h"
#include "fpmap.h"
#include "harness.h"
#include "rules.h"
#include "runmerge.h"
#include "runwrite.h"

enum { RECORDS = 300, OWNER = 78 };

static size_t until_refusal;   /* 0: none is refused */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static int is_refused(void) { return until_refusal > 0 && --until_refusal == 0; }

void *__wrap_malloc(size_t size) { return is_refused() ? NULL : __real_malloc(size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return is_refused() ? NULL : __real_aligned_alloc(alignment, size); }
void *__wrap_calloc(size_t count, size_t size) { return is_refused() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t size) { return is_refused() ? NULL : __real_realloc(old, size); }

/* The first records are in the map and the others are not; later it takes the rest as if nothing had been. */
static int thin_map(const uint8_t *records, size_t refused) {
    us_fpmap map;
    us_fpmap_init(&map);
    until_refusal = refused;
    const int failed = us_fpmap_set(&map, records, RECORDS) != 0;
    until_refusal = 0;
    uint8_t key[US_FINGERPRINT], value[8], sorted[US_RECORD * RECORDS];
    CHECK(failed ? map.count < RECORDS : map.count == RECORDS);
    for (size_t i = 0; i < RECORDS; i++) {
        memcpy(key, records + US_RECORD * i, US_FINGERPRINT);
        us_fpmap_get(&map, key, 1, value);
        CHECK(us_signed(us_load64(value)) == (i < map.count ? (int64_t)i : US_ABSENT));
    }
    until_refusal = 1;
    CHECK(us_fpmap_sorted(&map, sorted) == (map.count > 0 ? -1 : 0));
    until_refusal = 0;
    CHECK(us_fpmap_set(&map, records, RECORDS) == 0 && map.count == RECORDS);
    CHECK(us_fpmap_sorted(&map, sorted) == 0 && memcmp(sorted, records, sizeof sorted) == 0);
    us_fpmap_free(&map);
    return failed;
}

static int thin_writer(const uint8_t *records, size_t refused, us_work *out) {
    static us_run_writer writer;
    size_t wrong = 0;
    us_run_writer_init(&writer, OWNER);
    until_refusal = refused;
    int failed = 0;
    for (size_t i = 0; i < RECORDS && !failed; i += 30) {
        const enum us_write_status status = us_run_writer_add(&writer, records + US_RECORD * i, 30, out, &wrong);
        CHECK(status == US_WRITE_OK || status == US_WRITE_MEMORY);
        failed = status != US_WRITE_OK;
    }
    if (!failed) failed = us_run_writer_finish(&writer, out) != 0;
    until_refusal = 0;
    us_run_writer_free(&writer);
    return failed;
}

static int thin_merge(const uint8_t *records, us_runfile *run, size_t refused) {
    us_source sources[2] = {{.run = run, .count = run->blocks}, {.records = records, .count = RECORDS}};
    us_record start = {0, 0, 0}, next;
    us_merge_wrong wrong;
    us_work out;
    us_work_init(&out);
    until_refusal = refused;
    const enum us_merge_status status = us_merge(sources, 2, &start, RECORDS, 1, &out, &next, &wrong);
    until_refusal = 0;
    CHECK(status == US_MERGE_MEMORY || (status == US_MERGE_OK && out.used == US_RECORD * RECORDS));
    us_work_free(&out);
    return status == US_MERGE_MEMORY;
}

static void thin_reader(const uint8_t *records, const us_work *file) {
    us_runfile run;
    us_found found;
    uint8_t keys[US_FINGERPRINT * RECORDS], values[8 * RECORDS];
    for (size_t i = 0; i < RECORDS; i++) memcpy(keys + US_FINGERPRINT * i, records + US_RECORD * i, US_FINGERPRINT);
    for (size_t i = 0; i < RECORDS; i++) us_store64(values + 8 * i, (uint64_t)US_ABSENT);
    until_refusal = 1;
    CHECK(us_run_open(&run, file->text, file->used, OWNER) == US_RUN_MEMORY);
    until_refusal = 0;
    us_run_free(&run);
    CHECK(us_run_open(&run, file->text, file->used, OWNER) == US_RUN_OK);
    until_refusal = 1;
    CHECK(us_run_find(&run, keys, RECORDS, values, &found) == -2);
    until_refusal = 0;
    for (size_t i = 0; i < RECORDS; i++) CHECK(us_signed(us_load64(values + 8 * i)) == US_ABSENT);
    CHECK(us_run_find(&run, keys, RECORDS, values, &found) == 0 && found.filled == RECORDS);
    size_t refused = 1;
    while (thin_merge(records, &run, refused)) refused++;
    CHECK(refused > 3);
    us_run_free(&run);
}

/* A table of rules, a program with it and one URL through it. */
static int thin_rules(size_t refused) {
    static const char lines[] = "r\tb\te.com\t*a*b?*\nd\tsid\nd\t*x*y\nh\tm.e.com\twww.e.com\ns\nw\t^(/a[bc]+)(/.*)?$\t$1/$1\nc\nt\nr\te\tx.org\t\nk\n";
    static const char url[] = "http://m.e.com/abXab/c?b=1&a=2&sid=3";
    us_rules_error error;
    us_work work;
    us_key key = {0};
    us_work_init(&work);
    until_refusal = refused;
    us_rules *rules = us_rules_new((const uint8_t *)lines, sizeof lines - 1, &error);
    CHECK(rules != NULL || strcmp(error.what, "memory") == 0);
    const us_options options = {.steps = 0x7f | US_STEP_DEDUP, .rules = rules};
    us_program *program = rules == NULL ? NULL : us_program_new(&options);
    enum us_status status = US_NO_MEMORY;
    if (program != NULL) status = us_canonicalize(program, &work, (const uint8_t *)url, sizeof url - 1, 0, 0, &key);
    const int was_refused = until_refusal == 0;   /* one that only makes memory smaller may be refused, and nothing comes of it */
    until_refusal = 0;
    CHECK(status == US_OK || (was_refused && status == US_NO_MEMORY));
    us_program_free(program);
    us_rules_free(rules);
    us_work_free(&work);
    return was_refused;
}

/* What was in the table before is there after an allocation was refused, and the rest goes in later. */
static int thin_cuckoo(const uint8_t *records, size_t refused) {
    static uint8_t keys[US_FINGERPRINT * RECORDS], flags[RECORDS];
    static int64_t values[RECORDS];
    us_cuckoo table;
    for (size_t i = 0; i < RECORDS; i++) {
        memcpy(keys + US_FINGERPRINT * i, records + US_RECORD * i, US_FINGERPRINT);
        values[i] = (int64_t)i;
    }
    CHECK(us_cuckoo_init(&table, 1, 5) == 0);
    CHECK(us_cuckoo_add(&table, keys, values, RECORDS / 2, 0, flags) == 0);
    until_refusal = refused;
    const int failed = us_cuckoo_add(&table, keys, values, RECORDS, 0, flags) != 0;
    const int was_refused = until_refusal == 0;
    until_refusal = 0;
    CHECK(!failed || was_refused);
    CHECK(us_cuckoo_get(&table, keys, RECORDS / 2, flags, values, -1) == 0);
    for (size_t i = 0; i < RECORDS / 2; i++) CHECK(flags[i] == 1 && values[i] == (int64_t)i);
    CHECK(us_cuckoo_add(&table, keys, values, RECORDS, 0, flags) == 0 && table.count == RECORDS);
    us_cuckoo_free(&table);
    CHECK(failed == was_refused);
    return was_refused;
}

void memory_round(void) {
    static uint8_t records[US_RECORD * RECORDS];
    for (size_t i = 0; i < RECORDS; i++) {
        const us_record record = {i / 3, i, (int64_t)i};
        us_store_record(records + US_RECORD * i, &record);
    }
    size_t refused = 1;
    while (thin_rules(refused)) refused++;
    CHECK(refused > 20);
    refused = 1;
    while (thin_map(records, refused)) refused++;
    CHECK(refused > 5);
    refused = 1;
    while (thin_cuckoo(records, refused)) refused++;
    CHECK(refused > 20);
    us_work file;
    us_work_init(&file);
    for (refused = 1; thin_writer(records, refused, &file); refused++) file.used = 0;
    CHECK(refused > 2);
    thin_reader(records, &file);
    us_work_free(&file);
}
