/* A set of 128-bit fingerprints in about 23 bytes each (and 140 kB at most), at any size and while it grows.

64 segments, chosen by the top bits of the mixed key. A segment is an array in which the keys stand in ascending order with gaps: the place
of a key is its share of the key range (linear probing in order, Robin Hood's invariant). So an absent key is recognised at the first larger
one, and growing is two sequential passes in place: all keys to the end, then each to its new place. A segment is 0.70 to 0.82 full and
grows by 0.18; where the system cannot lengthen a mapping (anywhere but Linux) one segment, a 64th of the set, is there twice meanwhile.

Large batches are put into the order of the table first, so that memory is walked and not jumped about in.

The order is that of the keys' own bits: give keyed hashes to it. Keys somebody else can choose make it slow, never wrong. */
#ifndef US_FPSET_H
#define US_FPSET_H

#include <stddef.h>
#include <stdint.h>

enum { US_FPSET_SEGMENTS = 64 };

typedef struct {
    uint64_t order;   /* mixed: where it stands */
    uint64_t rest;    /* the other half as it is; (0, 0) is a free slot */
} us_slot;

typedef struct {
    us_slot *slots;
    size_t home;      /* slots a key can have as its place; `tail` more follow it */
    size_t tail;
    size_t used;
} us_segment;

typedef struct {
    us_segment segments[US_FPSET_SEGMENTS];
    size_t count;
    size_t bytes;       /* allocated now */
    size_t peak;        /* allocated at most, at any time */
    int has_zero;       /* the key that looks like a free slot */
} us_fpset;

void us_fpset_init(us_fpset *set);
void us_fpset_free(us_fpset *set);

/* flags[i]: 1 new, 0 known (also: an equal one stood before it), 2 skipped because status[i] != 0 (`status` may be NULL).
0, or -1 when memory is out: then some of the keys are in the set and some are not, and the flags mean nothing. */
int us_fpset_add(us_fpset *set, const uint8_t *fingerprints, const uint8_t *status, size_t count, uint8_t *flags);

/* flags[i]: 1 if it is in the set, else 0. */
void us_fpset_contains(const us_fpset *set, const uint8_t *fingerprints, size_t count, uint8_t *flags);

#endif
