/* Many URLs go in as pointers or as one newline-separated block; 16 bytes of fingerprint and one of status per URL come out. */
#ifndef US_BATCH_H
#define US_BATCH_H

#include "canonical.h"

typedef struct {
    const uint8_t *text;
    size_t length;
} us_span;

/* Where a kept key lies in work->text. */
typedef struct {
    uint64_t start;
    us_key key;
} us_entry;

typedef struct {
    const us_program *program;
    us_work *work;
    us_span origin;           /* `http://host` of the base, and all of it up to the last slash of its path; empty: there is no base */
    us_span folder;
    const us_span *variants;  /* one per URL, or NULL */
    uint8_t *fingerprints;    /* 16 per URL */
    uint8_t *status;
    us_entry *entries;        /* one per URL, or NULL: keys are not kept */
    uint8_t *digests;         /* us_digest_size of the program's form per URL, or NULL */
} us_batch;

/* Sets the base to a WHATWG-serialised http(s) URL, which must live as long as the batch. */
void us_batch_base(us_batch *batch, us_span href);

/* Runs URL number i; what is irregular has status US_IRREGULAR after it. `href`: see canonical.h. 0, or -1 when memory is out. */
int us_batch_one(const us_batch *batch, size_t i, us_span text, int href);

/* The same for URLs [first, first + count); texts[0] is URL number `first`. */
int us_batch_run(const us_batch *batch, const us_span *texts, size_t first, size_t count);

/* Cuts a block at LF. A CR before the LF is not part of the URL, but of the line. The last line may lack its LF. */
size_t us_count_lines(const uint8_t *block, size_t length);
void us_cut_lines(const uint8_t *block, size_t length, us_span *lines, size_t count);
us_span us_line_url(us_span line);

/* How long the lines with flag 1 are together, each with `ending` bytes behind it; and that text itself: -1 if it does not fit. */
size_t us_selected_size(const us_span *lines, const uint8_t *flags, size_t count, size_t ending);
int us_select(const us_span *lines, const uint8_t *flags, size_t count, us_span ending, uint8_t *to, size_t room);

#endif
