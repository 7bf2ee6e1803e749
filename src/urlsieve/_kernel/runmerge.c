#include "runmerge.h"

#include <stdlib.h>

/* A heap of the numbers of sources that have a record; the smallest is on top, of equals the newest. */
typedef struct {
    us_source *sources;
    size_t *heap;
    size_t used;
    us_merge_wrong *wrong;
} merging;

static int first(const us_source *sources, size_t a, size_t b) {
    return us_before(&sources[a].now, &sources[b].now) || (us_same(&sources[a].now, &sources[b].now) && a < b);
}

static void sink(merging *m, size_t at) {
    const size_t moved = m->heap[at];
    for (size_t child = 2 * at + 1; child < m->used; child = 2 * at + 1) {
        if (child + 1 < m->used && first(m->sources, m->heap[child + 1], m->heap[child])) child++;
        if (!first(m->sources, m->heap[child], moved)) break;
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = moved;
}

/* What stands at the cursor, after it was moved within its block. A block that was verified has it, if its bytes stayed as they were. */
static enum us_merge_status at_cursor(us_source *s, enum us_cursor_status status) {
    s->now = s->cursor.now;
    return status == US_CURSOR_RECORD ? US_MERGE_OK : US_MERGE_DAMAGED;
}

static enum us_merge_status enter_block(us_source *s) {
    if (us_run_block(s->run, s->number, 1, &s->block) != 0) return US_MERGE_DAMAGED;
    return at_cursor(s, us_cursor_first(&s->cursor, &s->block));
}

static enum us_merge_status load_plain(us_source *s) {
    s->now = us_load_record(s->records + US_RECORD * s->number);
    return s->now.value == US_ABSENT ? US_MERGE_ABSENT : US_MERGE_OK;
}

/* To the next record; *ended: there is none. */
static enum us_merge_status step(us_source *s, int *ended) {
    *ended = 0;
    if (s->run != NULL) {
        const enum us_cursor_status status = us_cursor_next(&s->cursor, &s->block);
        if (status != US_CURSOR_END) return at_cursor(s, status);
    }
    if (++s->number >= s->count) {
        *ended = 1;
        return US_MERGE_OK;
    }
    if (s->run != NULL) return enter_block(s);
    const us_record before = s->now;
    const enum us_merge_status status = load_plain(s);
    return status != US_MERGE_OK || us_before(&before, &s->now) ? status : US_MERGE_ORDER;
}

/* Records before `start`, if they are in order. */
static size_t plain_before(const us_source *s, const us_record *start) {
    size_t low = 0;
    for (size_t count = s->count; count > 0;) {
        const us_record middle = us_load_record(s->records + US_RECORD * (low + count / 2));
        const int smaller = us_before(&middle, start);
        low += smaller ? count / 2 + 1 : 0;
        count = smaller ? count - count / 2 - 1 : count / 2;
    }
    return low;
}

/* To the first record that is not before `start`. */
static enum us_merge_status seek(us_source *s, const us_record *start, int *ended) {
    *ended = s->count == 0;
    if (*ended) return US_MERGE_OK;
    if (s->run == NULL) {
        s->number = plain_before(s, start);
        *ended = s->number >= s->count;
        return *ended ? US_MERGE_OK : load_plain(s);
    }
    s->number = us_run_locate(s->run, start);
    enum us_merge_status status = enter_block(s);
    while (status == US_MERGE_OK && !*ended && us_before(&s->now, start)) status = step(s, ended);   /* a block at most */
    return status;
}

static enum us_merge_status failed(merging *m, size_t source, enum us_merge_status status) {
    *m->wrong = (us_merge_wrong){source, m->sources[source].number};
    return status;
}

static enum us_merge_status begin(merging *m, size_t count, const us_record *start) {
    for (size_t i = 0; i < count; i++) {
        int ended = 0;
        const enum us_merge_status status = seek(&m->sources[i], start, &ended);
        if (status != US_MERGE_OK) return failed(m, i, status);
        if (!ended) m->heap[m->used++] = i;
    }
    for (size_t i = m->used / 2; i-- > 0;) sink(m, i);
    return US_MERGE_OK;
}

/* Takes the top's record away. */
static enum us_merge_status advance(merging *m) {
    int ended = 0;
    const size_t source = m->heap[0];
    const enum us_merge_status status = step(&m->sources[source], &ended);
    if (status != US_MERGE_OK) return failed(m, source, status);
    if (ended) m->heap[0] = m->heap[--m->used];
    if (m->used > 0) sink(m, 0);
    return US_MERGE_OK;
}

static enum us_merge_status run_merge(merging *m, size_t limit, int tombstones, us_work *out, us_record *next) {
    while (m->used > 0) {
        const us_record record = m->sources[m->heap[0]].now;
        const int wanted = tombstones || record.value != US_TOMBSTONE;
        if (wanted && limit == 0) {
            *next = record;
            return US_MERGE_MORE;
        }
        if (wanted) {
            if (us_work_text(out, US_RECORD) != 0) return US_MERGE_MEMORY;
            us_store_record(out->text + out->used, &record);
            out->used += US_RECORD;
            limit--;
        }
        while (m->used > 0 && us_same(&m->sources[m->heap[0]].now, &record)) {   /* the older ones of equals too */
            const enum us_merge_status status = advance(m);
            if (status != US_MERGE_OK) return status;
        }
    }
    return US_MERGE_OK;
}

enum us_merge_status us_merge(us_source *sources, size_t count, const us_record *start, size_t limit, int tombstones, us_work *out,
                              us_record *next, us_merge_wrong *wrong) {
    if (count > SIZE_MAX / sizeof(size_t) - 1) return US_MERGE_MEMORY;
    merging m = {sources, malloc((count + 1) * sizeof(size_t)), 0, wrong};
    if (m.heap == NULL) return US_MERGE_MEMORY;
    enum us_merge_status status = begin(&m, count, start);
    if (status == US_MERGE_OK) status = run_merge(&m, limit, tombstones, out, next);
    free(m.heap);
    return status;
}
