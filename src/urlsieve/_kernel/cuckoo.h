/* A cuckoo table: an exact set or map of 128-bit fingerprints, with removal, in 17 to 23 bytes a key (26 to 34 with values).

64 parts by the top bits of the mixed key, each with a lock of its own that many may hold for reading: threads work side by side. A part is
an array of nests of four keys, one cache line; a key stands in one of two nests. Where both are full, others are moved to their second nest
(breadth first, so the shortest way is found, over at most BFS nests), and where that leads nowhere, or the part is 0.95 full, it grows by a
third. Nothing is lost when it grows, nor when there is no memory to grow.

Keys are spread by their bits mixed with a seed: who does not know it cannot choose keys that meet. A part in which keys meet all the same
does not grow without end: beyond 64 times the room that it needs it says that there is none. */
#ifndef US_CUCKOO_H
#define US_CUCKOO_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { US_CUCKOO_PARTS = 64, US_CUCKOO_WAYS = 4 };

typedef struct {
    uint64_t site;   /* (0, 0): free */
    uint64_t url;
} us_egg;

typedef struct {
    us_egg eggs[US_CUCKOO_WAYS];
} us_nest;

typedef struct {
    struct us_lock *lock;
    us_nest *nests;
    int64_t *values;   /* one an egg, or NULL */
    size_t room;       /* nests */
    size_t count;
    int has_zero;      /* the key that looks free */
    int64_t zero_value;
    uint64_t seed;     /* the table's */
} us_cuckoo_part;

typedef struct {
    us_cuckoo_part parts[US_CUCKOO_PARTS];
    int with_values;
    _Atomic size_t count;
    _Atomic size_t bytes;
    _Atomic unsigned turn;   /* threads begin at different parts, so that they meet at few locks */
} us_cuckoo;

/* 0, or -1: no memory, or the system has no more locks. */
int us_cuckoo_init(us_cuckoo *table, int with_values, uint64_t seed);
void us_cuckoo_free(us_cuckoo *table);

/* Room for so many keys without growing; also for what a part gets more than its share. 0, or -1 when memory is out. */
int us_cuckoo_reserve(us_cuckoo *table, size_t keys);

/* flags[i]: 1 if key i was not there and is now; else 0, and with `replace` it has the new value. Of equals the first (with `replace` the
last) one's value stands. `values` is NULL in a set. 0, or -1 when memory is out: some keys are in, and flags mean nothing. */
int us_cuckoo_add(us_cuckoo *table, const uint8_t *fingerprints, const int64_t *values, size_t count, int replace, uint8_t *flags);

/* flags[i]: 1 if key i is there; values[i], unless values is NULL, its value, or `missing`. 0, or -1 when memory is out: nothing was done. */
int us_cuckoo_get(us_cuckoo *table, const uint8_t *fingerprints, size_t count, uint8_t *flags, int64_t *values, int64_t missing);

/* flags[i]: 1 if key i was there. 0, or -1 when memory is out: nothing was done. */
int us_cuckoo_discard(us_cuckoo *table, const uint8_t *fingerprints, size_t count, uint8_t *flags);

/* How many keys a part has; then all of them, and their values unless NULL, as many as there is room for. */
size_t us_cuckoo_part_count(us_cuckoo *table, size_t part);
size_t us_cuckoo_list(us_cuckoo *table, size_t part, uint8_t *fingerprints, int64_t *values, size_t room);

void us_cuckoo_clear(us_cuckoo *table);

#endif
