/* The cuckoo table against a plain list, the Bloom filter and the HyperLogLog against what they promise, on few keys that meet again. */
#include <string.h>

#include "bloom.h"
#include "cuckoo.h"
#include "harness.h"
#include "hll.h"
#include "siphash.h"

enum { KEYS = 96, BATCH = 64, BLOCKS = 3, P = 5 };

static uint8_t keys[16 * KEYS];
static int there[KEYS];
static int64_t values[KEYS];

/* Near ones, far ones, and the one that looks like a free slot. */
static void choose_keys(void) {
    for (size_t i = 0; i < KEYS; i++) {
        us_store64(keys + 16 * i, i % 3 == 0 ? i / 3 : chance());
        us_store64(keys + 16 * i + 8, i % 3 == 1 ? 7 : i == 0 ? 0 : chance());
        there[i] = 0;
    }
}

static size_t batch(uint8_t *block, size_t *which) {
    const size_t many = below(BATCH + 1);
    for (size_t i = 0; i < many; i++) {
        which[i] = below(KEYS);
        memcpy(block + 16 * i, keys + 16 * which[i], 16);
    }
    return many;
}

static void cuckoo_step(us_cuckoo *table, int with_values) {
    uint8_t block[16 * BATCH], flags[BATCH];
    int64_t numbers[BATCH];
    size_t which[BATCH];
    const size_t many = batch(block, which), what = below(8);
    if (what < 4) {
        const int replace = with_values && what == 0;
        for (size_t i = 0; i < many; i++) numbers[i] = (int64_t)chance();
        CHECK(us_cuckoo_add(table, block, with_values ? numbers : NULL, many, replace, flags) == 0);
        for (size_t i = 0; i < many; i++) {
            CHECK(flags[i] == !there[which[i]]);
            if (replace || !there[which[i]]) values[which[i]] = numbers[i];
            there[which[i]] = 1;
        }
    } else if (what < 6) {
        CHECK(us_cuckoo_discard(table, block, many, flags) == 0);
        for (size_t i = 0; i < many; i++) {
            CHECK(flags[i] == there[which[i]]);
            there[which[i]] = 0;
        }
    } else if (what == 6 && below(16) == 0) {
        us_cuckoo_clear(table);
        memset(there, 0, sizeof there);
        CHECK(table->count == 0 && table->bytes == 0);
    } else {
        CHECK(us_cuckoo_get(table, block, many, flags, with_values ? numbers : NULL, -1) == 0);
        for (size_t i = 0; i < many; i++) {
            CHECK(flags[i] == there[which[i]]);
            CHECK(!with_values || numbers[i] == (there[which[i]] ? values[which[i]] : -1));
        }
    }
}

static void cuckoo_round(void) {
    us_cuckoo table;
    const int with_values = (int)below(2);
    CHECK(us_cuckoo_init(&table, with_values, chance()) == 0);
    if (below(4) == 0) CHECK(us_cuckoo_reserve(&table, below(500)) == 0);
    for (size_t steps = 20 + below(60); steps > 0; steps--) cuckoo_step(&table, with_values);
    uint8_t listed[16 * KEYS];
    size_t count = 0, expected = 0;
    for (size_t part = 0; part < US_CUCKOO_PARTS; part++) count += us_cuckoo_list(&table, part, listed, NULL, KEYS);
    for (size_t i = 0; i < KEYS; i++) expected += (size_t)there[i];
    CHECK(count == expected && table.count == expected);
    us_cuckoo_free(&table);
}

static uint64_t estimates(uint64_t digest) {
    static _Alignas(64) _Atomic uint64_t words[8 * BLOCKS];
    memset((void *)words, 0, sizeof words);
    us_bloom bloom = {words, BLOCKS, 1 + (uint32_t)below(US_BLOOM_MOST_BITS)};
    uint8_t once[1 << P] = {0}, parts[2][1 << P] = {{0}}, flags[KEYS];
    for (size_t i = 0; i < KEYS; i++) {
        const size_t before = (size_t)us_bloom_set_bits(&bloom);
        const size_t fresh = us_bloom_add(&bloom, keys + 16 * i, 1, flags);
        CHECK(fresh == !flags[0] && fresh == (us_bloom_set_bits(&bloom) > before));
        us_hll_add(parts[below(2)], P, keys + 16 * i, 1);
    }
    us_bloom_get(&bloom, keys, KEYS, flags);
    for (size_t i = 0; i < KEYS; i++) CHECK(flags[i] == 1);
    us_hll_add(once, P, keys, KEYS);
    for (size_t i = 0; i < 1 << P; i++) CHECK(once[i] == (parts[0][i] > parts[1][i] ? parts[0][i] : parts[1][i]));
    CHECK(us_hll_check(once, P) == 0 && us_hll_estimate(once, P) > 0);
    return digest ^ us_bloom_checksum(&bloom);
}

uint64_t sketch_round(uint64_t digest) {
    choose_keys();
    cuckoo_round();
    return estimates(digest);
}
