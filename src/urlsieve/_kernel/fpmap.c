#include "fpmap.h"

#include <stdlib.h>

enum { AHEAD = 16, SMALLEST = 8 };

#define TOP_BIT (UINT64_C(1) << 63)

void us_fpmap_init(us_fpmap *map) { memset(map, 0, sizeof *map); }

void us_fpmap_free(us_fpmap *map) {
    free(map->slots);
    us_fpmap_init(map);
}

/* Equal URL halves of different sites part, and neighbours among numbers do. */
static uint64_t mixed(uint64_t site, uint64_t url) {
    uint64_t x = url ^ site * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

static size_t place(size_t room, uint64_t order) {
#ifdef __SIZEOF_INT128__
    return (size_t)((unsigned __int128)order * room >> 64);
#else
    return (size_t)(order % room);
#endif
}

static size_t place_of(const us_fpmap *map, const us_record *key) { return place(map->room, mixed(key->site, key->url)); }

/* From `at` on: the slot of the key, or the free one where it would stand. There is always a free slot. */
static size_t find(const us_fpmap *map, const us_record *key, size_t at) {
    for (;;) {
        const us_map_slot *slot = &map->slots[at];
        if (slot->code == 0 || (slot->url == key->url && slot->site == key->site)) return at;
        at = at + 1 < map->room ? at + 1 : 0;
    }
}

static int grow(us_fpmap *map) {
    us_fpmap longer = {NULL, map->room < SMALLEST ? SMALLEST : map->room + map->room / 2, map->count};
    if (longer.room > SIZE_MAX / (2 * sizeof *longer.slots)) return -1;
    longer.slots = calloc(longer.room, sizeof *longer.slots);
    if (longer.slots == NULL) return -1;
    for (size_t i = 0; i < map->room; i++) {
        const us_map_slot *slot = &map->slots[i];
        if (slot->code == 0) continue;
        const us_record key = {slot->site, slot->url, 0};
        longer.slots[find(&longer, &key, place_of(&longer, &key))] = *slot;
    }
    free(map->slots);
    *map = longer;
    return 0;
}

static int set_one(us_fpmap *map, const us_record *record) {
    if (map->count >= map->room - map->room / 4 && grow(map) != 0) return -1;
    us_map_slot *slot = &map->slots[find(map, record, place_of(map, record))];
    map->count += slot->code == 0;
    *slot = (us_map_slot){record->site, record->url, (uint64_t)record->value ^ TOP_BIT};
    return 0;
}

static void prefetch(const us_fpmap *map, const us_record *key, int writing) {
    if (map->room == 0) return;
    const us_map_slot *slot = &map->slots[place_of(map, key)];
    if (writing) {
        __builtin_prefetch(slot, 1);
    } else {
        __builtin_prefetch(slot, 0);
    }
}

int us_fpmap_set(us_fpmap *map, const uint8_t *records, size_t count) {
    us_record ahead[AHEAD];
    for (size_t i = 0; i < count + AHEAD; i++) {
        if (i >= AHEAD && set_one(map, &ahead[i % AHEAD]) != 0) return -1;
        if (i < count) {
            ahead[i % AHEAD] = us_load_record(records + US_RECORD * i);
            prefetch(map, &ahead[i % AHEAD], 1);
        }
    }
    return 0;
}

void us_fpmap_get(const us_fpmap *map, const uint8_t *fingerprints, size_t count, uint8_t *values) {
    us_record ahead[AHEAD];
    for (size_t i = 0; i < count + AHEAD; i++) {
        if (i >= AHEAD) {
            const us_record *key = &ahead[i % AHEAD];
            const uint64_t code = map->room == 0 ? 0 : map->slots[find(map, key, place_of(map, key))].code;
            us_store64(values + 8 * (i - AHEAD), code ^ TOP_BIT);
        }
        if (i < count) {
            ahead[i % AHEAD] = us_load_fingerprint(fingerprints + US_FINGERPRINT * i);
            prefetch(map, &ahead[i % AHEAD], 0);
        }
    }
}

int us_fpmap_sorted(const us_fpmap *map, uint8_t *to) {
    if (map->count == 0) return 0;
    us_record *records = malloc(2 * map->count * sizeof *records);   /* not too much for size_t: the slots are more than half as long */
    if (records == NULL) return -1;
    size_t used = 0;
    for (size_t i = 0; i < map->room; i++) {
        const us_map_slot *slot = &map->slots[i];
        if (slot->code != 0) records[used++] = (us_record){slot->site, slot->url, us_signed(slot->code ^ TOP_BIT)};
    }
    const us_record *sorted = us_sort_records(records, records + map->count, used);
    for (size_t i = 0; i < used; i++) us_store_record(to + US_RECORD * i, &sorted[i]);
    free(records);
    return 0;
}

int us_any_absent(const uint8_t *records, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (us_load_record(records + US_RECORD * i).value == US_ABSENT) return 1;
    }
    return 0;
}
