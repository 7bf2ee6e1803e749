/* Limits against sites that make URLs without end: the key's path and query go in, US_TRAP comes out where one is passed. Far from the limits
this costs a few comparisons, as a component shorter than a limit cannot pass it. */
#include <string.h>

#include "canonical.h"
#include "rules.h"

static size_t count_byte(const uint8_t *s, const uint8_t *end, uint8_t byte) {
    size_t count = 0;
    while (s < end && (s = memchr(s, byte, (size_t)(end - s))) != NULL) {
        count++;
        s++;
    }
    return count;
}

/* Splits [s, end) at `mark` into work->pieces; a name ends at `stop` (0 = the whole piece is the name). -1: no memory. */
static int split(us_run *run, const uint8_t *s, const uint8_t *end, uint8_t mark, uint8_t stop, size_t count) {
    us_work *work = run->work;
    if (us_work_pieces(work, count) != 0) return -1;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *past = memchr(s, mark, (size_t)(end - s));
        if (past == NULL) past = end;
        const uint8_t *name = stop != 0 ? memchr(s, stop, (size_t)(past - s)) : NULL;
        work->pieces[i].start = (uint32_t)(s - run->key);
        work->pieces[i].length = (uint32_t)(past - s);
        work->pieces[i].name = (uint32_t)((name != NULL ? name : past) - s);
        work->pieces[i].has_equals = name != NULL;
        s = past < end ? past + 1 : end;
    }
    return 0;
}

static int repeats_more_than(us_run *run, size_t count, uint32_t limit) {
    us_sort_pieces(run->work, count, run->key);
    const us_piece *pieces = run->work->pieces;
    size_t same = 1;
    for (size_t i = 1; i < count; i++) {
        same = us_compare_names(run->key, &pieces[i - 1], &pieces[i]) == 0 ? same + 1 : 1;
        if (same > limit) return 1;
    }
    return 0;
}

static uint32_t limit_of(const us_run *run, size_t which, uint32_t general) {
    const us_rule *rule = run->rule;
    return rule != NULL && (rule->flags & US_RULE_TRAPS) && rule->traps[which] != US_TRAP_UNSAID ? rule->traps[which] : general;
}

enum us_status us_check_traps(us_run *run) {
    const us_options *options = &run->program->options;
    const uint32_t most_segments = limit_of(run, 0, options->trap_segments), most_repeats = limit_of(run, 1, options->trap_repeats);
    const uint32_t most_names = limit_of(run, 2, options->trap_names);
    const uint8_t *path = run->path + 1, *path_end = run->query != NULL ? run->query - 1 : run->write;
    const size_t length = (size_t)(path_end - path);
    if ((most_segments != 0 && length >= most_segments) || (most_repeats != 0 && length >= most_repeats)) {
        const size_t segments = count_byte(path, path_end, '/') + 1;
        if (most_segments != 0 && segments > most_segments) return US_TRAP;
        if (most_repeats != 0 && segments > most_repeats) {
            if (split(run, path, path_end, '/', 0, segments) != 0) return US_NO_MEMORY;
            if (repeats_more_than(run, segments, most_repeats)) return US_TRAP;
        }
    }
    if (most_names == 0 || run->query == NULL || (size_t)(run->write - run->query) < most_names) return US_OK;
    const size_t pieces = count_byte(run->query, run->write, '&') + 1;
    if (pieces <= most_names) return US_OK;
    if (split(run, run->query, run->write, '&', '=', pieces) != 0) return US_NO_MEMORY;
    return repeats_more_than(run, pieces, most_names) ? US_TRAP : US_OK;
}
