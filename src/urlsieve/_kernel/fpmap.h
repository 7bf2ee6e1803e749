/* A map from fingerprints to values: what is not yet in a run. Exact, never loses a key, also not when memory is out.

Open addressing with linear probing in an array of 24-byte slots, at most three quarters full, half as long again when it grows (so 32 to
48 bytes a key). A slot holds the value with its top bit turned over: the value that is never stored, ABSENT, is then the zero of a free
slot, and fresh memory from the system is an empty table. There is no removal: what is forgotten has the value TOMBSTONE.

A key's place is its mixed bits' share of the array: give keyed hashes to it. Keys somebody else can choose make it slow, never wrong. */
#ifndef US_FPMAP_H
#define US_FPMAP_H

#include "record.h"

typedef struct {
    uint64_t site;
    uint64_t url;
    uint64_t code;   /* the value, its top bit turned over; 0: free */
} us_map_slot;

typedef struct {
    us_map_slot *slots;
    size_t room;
    size_t count;
} us_fpmap;

void us_fpmap_init(us_fpmap *map);
void us_fpmap_free(us_fpmap *map);

/* Of equals the last one stands. None of the values may be ABSENT. 0, or -1 when memory is out: the first ones are in, the rest is not. */
int us_fpmap_set(us_fpmap *map, const uint8_t *records, size_t count);

/* values[i], 8 bytes each: the value of key i, or ABSENT. */
void us_fpmap_get(const us_fpmap *map, const uint8_t *fingerprints, size_t count, uint8_t *values);

/* All records in order; `to` has room for map->count of them. 0, or -1 when memory is out. */
int us_fpmap_sorted(const us_fpmap *map, uint8_t *to);

/* Is there an ABSENT among the values? */
int us_any_absent(const uint8_t *records, size_t count);

#endif
