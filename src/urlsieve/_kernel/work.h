/* Memory one thread works in: growable arrays that are reused from URL to URL. Every growth is checked; nothing is shared. */
#ifndef US_WORK_H
#define US_WORK_H

#include <stddef.h>
#include <stdint.h>

/* One `name=value` of a query, or one path segment: a stretch of the key, relative to its first byte. */
typedef struct {
    uint32_t start;
    uint32_t name;   /* bytes before the first `=` (all of them where there is none) */
    uint32_t length;
    uint32_t has_equals;
} us_piece;

typedef struct {
    uint8_t *text;   /* finished keys one behind another, then the one in work */
    size_t used;     /* bytes of finished keys */
    size_t room;
    uint8_t *spare;  /* a second place to reassemble a query in */
    size_t spare_room;
    uint8_t *joined; /* a base and what is relative to it */
    size_t joined_room;
    uint8_t *site;   /* a site as found, before a rule or a switch changed it */
    size_t site_room;
    uint8_t *saved;  /* a path before it is rewritten */
    size_t saved_room;
    uint8_t *machine;   /* where a regular expression runs */
    size_t machine_room;
    uint64_t steps;     /* of regular expressions, counted for tests of how long the worst takes */
    us_piece *pieces;
    us_piece *sorted;   /* the merge sort's other half */
    size_t piece_room;
} us_work;

void us_work_init(us_work *work);
void us_work_free(us_work *work);

/* Each returns 0, or -1 when memory is out; what was there stays as it was. */
int us_work_grow(us_work *work, size_t more);
int us_work_spare(us_work *work, size_t size);
int us_work_joined(us_work *work, size_t size);
int us_work_site(us_work *work, size_t size);
int us_work_saved(us_work *work, size_t size);
int us_work_machine(us_work *work, size_t size);
int us_work_pieces(us_work *work, size_t count);

static inline int us_work_text(us_work *work, size_t more) {
    return work->room - work->used >= more ? 0 : us_work_grow(work, more);
}

/* Below, at or above zero. Texts are relative to `base`. */
typedef int us_compare(const uint8_t *base, const us_piece *a, const us_piece *b);

/* Stable merge sort of work->pieces[0..count) by the bytes of their names; texts are relative to `base`. */
void us_sort_pieces(us_work *work, size_t count, const uint8_t *base);
void us_sort_pieces_by(us_work *work, size_t count, const uint8_t *base, us_compare *compare);
int us_compare_names(const uint8_t *base, const us_piece *a, const us_piece *b);

#endif
