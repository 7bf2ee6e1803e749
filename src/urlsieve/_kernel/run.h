/* A run: an immutable sorted file of fingerprints and their values, read where it lies (an mmap, or any bytes).

    header   64 bytes: magic 8, version 4 (the format of its blocks: 2 is written, 1 is read too), zeros 4, owner 8 (the number of the store's secret), zeros 32, checksum 8
    blocks   see block.h
    index    32 bytes a block: its first fingerprint 16, its offset 8, its checksum 8
    footer   96 bytes: keys 8, blocks 8, last fingerprint 16, offset of the index 8, size of the file 8, owner 8, checksum of the index 8,
             zeros 16, magic 8, checksum 8

The checksums are a tree: the footer's covers the index's, the index has the blocks'. So a block that is whole but old is damaged too.
Header, index and footer are checked when a run is opened, a block when it is first touched; which were is kept in atomic bits. */
#ifndef US_RUN_H
#define US_RUN_H

#include <stdatomic.h>

#include "block.h"

enum { US_RUN_VERSION = 2, US_RUN_OLDEST = 1, US_RUN_HEADER = 64, US_RUN_ENTRY = 32, US_RUN_FOOTER = 96, US_RUN_LEAST = US_RUN_HEADER + US_RUN_FOOTER };

#define US_RUN_MAGIC "\x89USR\r\n\x1a\n"
#define US_RUN_END "\nUSR.END"

enum us_run_status {
    US_RUN_OK,
    US_RUN_MEMORY,
    US_RUN_NOT_ONE,
    US_RUN_OTHER_VERSION,   /* run->version says which */
    US_RUN_OTHER_STORE,
    US_RUN_CUT_OFF,         /* run->wanted says how long it should be */
    US_RUN_NO_END,          /* cut off too, and nobody knows how long it should be: the footer is missing */
    US_RUN_BAD_HEADER,
    US_RUN_BAD_FOOTER,
    US_RUN_BAD_INDEX,
};

typedef struct {
    const uint8_t *data;
    size_t size;
    const uint8_t *index;
    size_t index_offset;
    size_t blocks;
    uint64_t count;
    uint64_t owner;
    us_record last;
    uint64_t version;
    uint64_t wanted;
    _Atomic uint64_t *verified;   /* a bit for each block */
    _Atomic size_t unverified;    /* blocks that were never touched */
} us_runfile;

/* The bytes must stay as they are as long as the run is used. After any status us_run_free is allowed, and needed. */
enum us_run_status us_run_open(us_runfile *run, const uint8_t *data, size_t size, uint64_t owner);
void us_run_free(us_runfile *run);

static inline us_record us_run_first(const us_runfile *run, size_t block) { return us_load_fingerprint(run->index + US_RUN_ENTRY * block); }

/* The last block whose first fingerprint is not after the key; 0 if there is none. The run has blocks. */
size_t us_run_locate(const us_runfile *run, const us_record *key);

/* Opens a block; its checksum and contents are looked at if they never were, or anyway if `again`. 0, or -1: damaged. */
int us_run_block(us_runfile *run, size_t number, int again, us_block *block);

typedef struct {
    size_t filled;
    size_t damaged;   /* the block, where the answer is -1 */
} us_found;

/* Puts the value of each key that is here to values[i] (8 bytes each) where ABSENT stands there. 0; -1: a block is damaged, what was put
before is right; -2: no memory, nothing was put. */
int us_run_find(us_runfile *run, const uint8_t *fingerprints, size_t count, uint8_t *values, us_found *found);

#endif
