/* One round of the map and the runs: random records go into maps and files, which must agree; then the files are mutated, with their
checksums left alone (nothing wrong may be believed) or made right again (anything may be said, but no byte outside is touched). */
#include <string.h>

#include "fpmap.h"
#include "harness.h"
#include "runmerge.h"
#include "runwrite.h"

enum { LAYERS = 3, OWNER = 77 };

typedef struct {
    us_fpmap map;
    uint8_t *records;   /* in order */
    uint8_t *file;
    size_t count;
    size_t size;
} layer;

static uint8_t *exactly(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    CHECK(copy != NULL);
    if (size > 0) memcpy(copy, bytes, size);
    return copy;
}

/* Few sites or many, crowded or hashed URL halves, values near or far apart; what it may be is chosen once a round. In a crowd all that is
left of the URL half is its lower bits: stretches with few low bits, and with all of them. */
static void some_records(uint8_t *to, size_t count, unsigned shape) {
    for (size_t i = 0; i < count; i++, to += US_RECORD) {
        const uint64_t site = chance(), url = chance(), value = chance();
        us_record record = {shape & 1 ? site % 5 * UINT64_C(0x3fffffffffffffff) : site >> (shape & 2 ? 0 : 60), url, us_signed(value | 2)};
        if ((shape & 4) == 0) record.url = url % 500 - 250;
        if (shape & 32) record.url >>= shape & 4 ? 24 : 0;
        if ((shape & 8) == 0) record.value = us_signed(value % (shape & 16 ? 1 : 300));
        if (below(9) == 0) record.value = US_TOMBSTONE;
        us_store_record(to, &record);
    }
}

static void write_file(layer *l) {
    us_run_writer *writer = malloc(sizeof *writer);
    us_work out;
    CHECK(writer != NULL);
    us_run_writer_init(writer, OWNER);
    us_work_init(&out);
    size_t wrong = 0;
    for (size_t i = 0, some; i < l->count; i += some) {
        some = 1 + below(l->count - i);
        CHECK(us_run_writer_add(writer, l->records + US_RECORD * i, some, &out, &wrong) == US_WRITE_OK);
        CHECK(us_run_writer_add(writer, l->records + US_RECORD * i, 1, &out, &wrong) == US_WRITE_ORDER);
    }
    CHECK(us_run_writer_finish(writer, &out) == 0);
    l->size = out.used;
    l->file = exactly(out.text, out.used);
    us_run_writer_free(writer);
    us_work_free(&out);
    free(writer);
}

/* The file as the program of format 1 wrote it. */
static void write_old_file(layer *l) {
    us_work out;
    us_work_init(&out);
    CHECK(us_write_format_1(l->records, l->count, OWNER, &out) == 0);
    l->size = out.used;
    l->file = exactly(out.text, out.used);
    us_work_free(&out);
}

static void make_layer(layer *l, unsigned shape) {
    const size_t count = below(8) == 0 ? 3000 + below(4000) : below(60);
    uint8_t *raw = malloc(US_RECORD * count + 1);
    CHECK(raw != NULL);
    some_records(raw, count, shape);
    us_fpmap_init(&l->map);
    CHECK(!us_any_absent(raw, count));
    for (size_t i = 0, some; i < count; i += some) {
        some = 1 + below(count - i);
        CHECK(us_fpmap_set(&l->map, raw + US_RECORD * i, some) == 0);
    }
    free(raw);
    l->count = l->map.count;
    CHECK(l->count <= count);
    l->records = malloc(US_RECORD * l->count + 1);
    CHECK(l->records != NULL && us_fpmap_sorted(&l->map, l->records) == 0);
    if (below(4) == 0) write_old_file(l);
    else write_file(l);
}

static void free_layer(layer *l) {
    us_fpmap_free(&l->map);
    free(l->records);
    free(l->file);
}

/* Keys of the layer, in order or not, and others between them. */
static uint8_t *some_keys(const layer *l, size_t *count) {
    *count = below(5) == 0 ? below(2000) : below(40);
    uint8_t *keys = malloc(US_FINGERPRINT * *count + 1);
    CHECK(keys != NULL);
    for (size_t i = 0; i < *count; i++) {
        us_record key = {chance(), 0, 0};
        key.url = chance();
        if (l->count > 0 && below(9) != 0) key = us_load_record(l->records + US_RECORD * below(l->count));
        key.url += below(3) == 0 ? below(3) - 1 : 0;
        us_store_fingerprint(keys + US_FINGERPRINT * i, &key);
    }
    return keys;
}

static uint8_t *absent_values(size_t count) {
    uint8_t *values = malloc(8 * count + 1);
    CHECK(values != NULL);
    for (size_t i = 0; i < count; i++) us_store64(values + 8 * i, (uint64_t)US_ABSENT);
    return values;
}

/* Looks keys up in the file; `honest`: what it says must be what the map says, and if it is `whole`, all of it. */
static void look_up(const layer *l, us_runfile *run, int honest, int whole) {
    size_t count = 0;
    uint8_t *keys = some_keys(l, &count), *right = absent_values(count), *values = absent_values(count);
    us_found found;
    us_fpmap_get(&l->map, keys, count, right);
    const int failed = us_run_find(run, keys, count, values, &found);
    CHECK(failed == 0 || (failed == -1 && !whole && found.damaged < run->blocks));
    size_t filled = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t value = us_load64(values + 8 * i);
        const int is_absent = us_signed(value) == US_ABSENT;
        filled += !is_absent;
        CHECK(!honest || value == us_load64(right + 8 * i) || (is_absent && failed));
    }
    CHECK(found.filled == filled);
    free(keys);
    free(right);
    free(values);
}

static void merge_all(us_source *sources, size_t count, int tombstones, us_work *out, enum us_merge_status *status) {
    us_record start = {0, 0, 0}, next = {0, 0, 0};
    us_merge_wrong wrong;
    us_source copy[LAYERS];
    const size_t limit = below(4) == 0 ? 100000 : 1 + below(5000);
    do {
        const size_t before = out->used;
        memcpy(copy, sources, count * sizeof *copy);
        *status = us_merge(copy, count, &start, limit, tombstones, out, &next, &wrong);
        CHECK(*status == US_MERGE_OK || *status == US_MERGE_MORE || wrong.source < count);
        CHECK(*status != US_MERGE_MORE || out->used - before == US_RECORD * limit);
        CHECK(*status != US_MERGE_MORE || us_before(&start, &next));
        start = next;
    } while (*status == US_MERGE_MORE);
}

/* The merge of all layers, the first the newest, is what one map says that was given them from the oldest to the newest. */
static uint64_t merge_layers(const layer *layers, us_runfile *runs, uint64_t digest) {
    us_fpmap map;
    us_work out;
    us_source sources[LAYERS];
    us_fpmap_init(&map);
    us_work_init(&out);
    memset(sources, 0, sizeof sources);
    for (size_t i = LAYERS; i-- > 0;) CHECK(us_fpmap_set(&map, layers[i].records, layers[i].count) == 0);
    for (size_t i = 0; i < LAYERS; i++) {
        const int is_run = below(3) != 0;
        sources[i] = (us_source){.run = is_run ? &runs[i] : NULL, .records = layers[i].records,
                                 .count = is_run ? runs[i].blocks : layers[i].count};
    }
    uint8_t *right = malloc(US_RECORD * map.count + 1);
    CHECK(right != NULL && us_fpmap_sorted(&map, right) == 0);
    enum us_merge_status status = US_MERGE_OK;
    merge_all(sources, LAYERS, 1, &out, &status);
    CHECK(status == US_MERGE_OK && out.used == US_RECORD * map.count && (out.used == 0 || memcmp(out.text, right, out.used) == 0));
    digest = us_siphash(digest, 2, right, out.used);
    out.used = 0;
    merge_all(sources, LAYERS, 0, &out, &status);
    size_t kept = 0;
    for (size_t i = 0; i < map.count; i++) {
        if (us_load_record(right + US_RECORD * i).value == US_TOMBSTONE) continue;
        CHECK(US_RECORD * kept < out.used && memcmp(out.text + US_RECORD * kept, right + US_RECORD * i, US_RECORD) == 0);
        kept++;
    }
    CHECK(status == US_MERGE_OK && out.used == US_RECORD * kept);
    free(right);
    us_work_free(&out);
    us_fpmap_free(&map);
    return digest;
}

static void put(uint8_t *file, size_t size, size_t at, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes && at + i < size; i++) file[at + i] = (uint8_t)(value >> (8 * i));
}

/* Where a wrong number hurts most: heads of blocks, directories, what is said of long stretches, index, footer; else anywhere. */
static void mutate(uint8_t *file, size_t size, size_t blocks, size_t index) {
    static const uint64_t odd[] = {0, 1, 7, 8, 0xff, 0x7fff, 0xffff, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    for (size_t times = 1 + below(4); times > 0; times--) {
        size_t at = below(size);
        if (blocks > 0 && below(2)) {
            const size_t entry = index + US_RUN_ENTRY * below(blocks);
            at = below(3) ? (size_t)us_load64(file + entry + 16) % size + below(below(2) ? 48 : 600) : entry + below(US_RUN_ENTRY);
        } else if (below(3) == 0) {
            at = size - 1 - below(US_RUN_FOOTER);
        }
        const uint64_t value = below(2) ? odd[below(sizeof odd / sizeof *odd)] : chance() >> below(64);
        put(file, size, at, value, (size_t)1 << below(4));
    }
}

static void hostile_file(const layer *l, size_t blocks) {
    const int sealed = below(2) == 0;
    size_t size = l->size;
    if (!sealed && below(3) == 0) size = below(l->size);
    uint8_t *file = exactly(l->file, size);
    const size_t index = l->size - US_RUN_FOOTER - blocks * US_RUN_ENTRY;
    if (size == l->size) mutate(file, size, blocks, index);
    if (sealed) us_seal(file, size, blocks, index, OWNER);
    us_runfile run;
    if (us_run_open(&run, file, size, OWNER) == US_RUN_OK) {
        for (int i = 0; i < 3; i++) look_up(l, &run, !sealed, 0);
        us_block block;
        for (size_t i = 0; i < run.blocks; i++) (void)us_run_block(&run, i, 1, &block);
        us_source source = {.run = &run, .count = run.blocks};
        us_work out;
        us_work_init(&out);
        enum us_merge_status status = US_MERGE_OK;
        merge_all(&source, 1, 1, &out, &status);
        CHECK(sealed || status == US_MERGE_DAMAGED || out.used == US_RECORD * l->count);
        CHECK(sealed || out.used == 0 || (out.used <= US_RECORD * l->count && memcmp(out.text, l->records, out.used) == 0));
        us_work_free(&out);
        if (below(2)) {   /* and bytes that change after they were believed */
            mutate(file, size, blocks, index);
            us_found found;
            size_t count = 0;
            uint8_t *keys = some_keys(l, &count), *values = absent_values(count);
            (void)us_run_find(&run, keys, count, values, &found);
            free(keys);
            free(values);
        }
    }
    us_run_free(&run);
    free(file);
}

uint64_t run_round(uint64_t digest) {
    layer layers[LAYERS];
    us_runfile runs[LAYERS];
    const unsigned shape = (unsigned)below(64);
    for (size_t i = 0; i < LAYERS; i++) {
        make_layer(&layers[i], shape);
        digest = us_siphash(digest, 3, layers[i].file, layers[i].size);
        CHECK(us_run_open(&runs[i], layers[i].file, layers[i].size, OWNER + 1) == US_RUN_OTHER_STORE);
        us_run_free(&runs[i]);
        CHECK(us_run_open(&runs[i], layers[i].file, layers[i].size, OWNER) == US_RUN_OK && runs[i].count == layers[i].count);
        look_up(&layers[i], &runs[i], 1, 1);
    }
    digest = merge_layers(layers, runs, digest);
    for (size_t i = 0; i < LAYERS; i++) {
        for (int k = 0; k < 4; k++) hostile_file(&layers[i], runs[i].blocks);
        us_run_free(&runs[i]);
        free_layer(&layers[i]);
    }
    return digest;
}
