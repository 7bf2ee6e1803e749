/* Merges sorted sources, newest first: of equal fingerprints the newest source's record stands. A piece of the result at a time. */
#ifndef US_RUNMERGE_H
#define US_RUNMERGE_H

#include "run.h"
#include "work.h"

/* A run, or records in ascending order; and where the merging stands in it. */
typedef struct {
    us_runfile *run;           /* NULL: records */
    const uint8_t *records;
    size_t count;              /* records; of a run its blocks */
    size_t number;             /* the record or block it stands in */
    us_block block;
    us_cursor cursor;          /* in the block */
    us_record now;
} us_source;

enum us_merge_status {
    US_MERGE_OK,
    US_MERGE_MORE,      /* *next: where to go on */
    US_MERGE_MEMORY,
    US_MERGE_DAMAGED,   /* wrong->source, and wrong->at: the block */
    US_MERGE_ORDER,     /* wrong->source, and wrong->at: the record that is not after the one before it */
    US_MERGE_ABSENT,    /* wrong->source, and wrong->at: the record whose value is ABSENT */
};

typedef struct {
    size_t source;
    size_t at;
} us_merge_wrong;

/* Appends at most `limit` records from `start` on to out->text; those that are TOMBSTONE only if `tombstones`. Every block that is touched
is verified anew: a merge outlives what it read. `sources` is used up. */
enum us_merge_status us_merge(us_source *sources, size_t count, const us_record *start, size_t limit, int tombstones, us_work *out,
                              us_record *next, us_merge_wrong *wrong);

#endif
