/* A record: a fingerprint of two 64-bit halves and a signed value. 24 little-endian bytes outside, three words inside.

The order is that of (site half, URL half) as unsigned integers, everywhere. Two values are taken: ABSENT means "not here" in answers and is
never stored, TOMBSTONE means "forgotten" and is stored like any other. */
#ifndef US_RECORD_H
#define US_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "siphash.h"

#define US_ABSENT INT64_MIN
#define US_TOMBSTONE (INT64_MIN + 1)

enum { US_FINGERPRINT = 16, US_RECORD = 24 };

typedef struct {
    uint64_t site;
    uint64_t url;
    int64_t value;
} us_record;

/* No branch: which of two hashes is smaller cannot be foretold. */
static inline int us_before(const us_record *a, const us_record *b) {
    return (a->site < b->site) | ((a->site == b->site) & (a->url < b->url));
}

static inline int us_same(const us_record *a, const us_record *b) { return a->site == b->site && a->url == b->url; }

static inline int64_t us_signed(uint64_t bits) {
    int64_t value;
    memcpy(&value, &bits, 8);
    return value;
}

static inline us_record us_load_fingerprint(const uint8_t *from) { return (us_record){us_load64(from), us_load64(from + 8), US_ABSENT}; }

static inline us_record us_load_record(const uint8_t *from) {
    return (us_record){us_load64(from), us_load64(from + 8), us_signed(us_load64(from + 16))};
}

static inline void us_store_fingerprint(uint8_t *to, const us_record *record) {
    us_store64(to, record->site);
    us_store64(to + 8, record->url);
}

static inline void us_store_record(uint8_t *to, const us_record *record) {
    us_store_fingerprint(to, record);
    us_store64(to + 16, (uint64_t)record->value);
}

/* Stable, n log n whatever the keys are. `spare` has room for `count` too; the answer is the one of the two that holds the result. */
us_record *us_sort_records(us_record *records, us_record *spare, size_t count);

#endif
