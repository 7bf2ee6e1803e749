/* Step 4 and 6: a query as it stands in the text goes in; the same with one spelling, without noise and sorted by name comes out. */
#include <string.h>

#include "ascii.h"
#include "canonical.h"
#include "rules.h"

typedef struct {
    size_t pieces;
    int equals;   /* an `=` anywhere */
} us_split;

static void close_piece(us_work *work, const us_run *run, us_split *split, const uint8_t *start, const uint8_t *equals, const uint8_t *end) {
    us_piece *piece = &work->pieces[split->pieces++];
    piece->start = (uint32_t)(start - run->key);
    piece->length = (uint32_t)(end - start);
    piece->has_equals = equals != NULL;
    piece->name = (uint32_t)((equals != NULL ? equals : end) - start);
}

/* Copies the query in its one spelling, and notes where its pieces are. */
static enum us_status spell(us_run *run, us_split *split) {
    const uint8_t *read = run->read, *end = run->end;
    const uint8_t *actions = run->program->query;
    us_work *work = run->work;
    uint8_t *write = run->write, *stray = NULL, *start = write;
    const uint8_t *equals = NULL;

    while (read < end) {
        const uint8_t action = actions[*read];
        if (action == US_COPY) {
            *write++ = *read++;
        } else if (action == US_PERCENT) {
            write = us_percent(run->program, US_PLAIN_QUERY, &read, end, write, &stray);
        } else if (action == US_ENCODE) {
            write = us_encode(*read++, write);
        } else if (action == US_EQUALS) {
            if (equals == NULL) equals = write;
            split->equals = 1;
            *write++ = *read++;
        } else if (action == US_AMPERSAND) {
            if (us_work_pieces(work, split->pieces + 2) != 0) return US_NO_MEMORY;
            close_piece(work, run, split, start, equals, write);
            *write++ = *read++;
            start = write;
            equals = NULL;
        } else if (action == US_SPACE) {
            write = us_encode(' ', write);
            read++;
        } else if (action == US_FOREIGN) {
            return US_IRREGULAR;
        } else {
            break;
        }
    }
    if (us_work_pieces(work, split->pieces + 1) != 0) return US_NO_MEMORY;
    close_piece(work, run, split, start, equals, write);
    run->read = read;
    run->write = write;
    return US_OK;
}

static int all(const uint8_t *s, size_t length, int (*is)(uint8_t)) {
    for (size_t i = 0; i < length; i++) {
        if (!is(s[i])) return 0;
    }
    return 1;
}

static int is_capital(uint8_t c) { return (uint8_t)(c - 'A') < 26; }

static int is_php(uint8_t c) { return us_is_alnum(c) || c == ',' || c == '-'; }

static int is_java(uint8_t c) { return us_is_jsession(c); }

/* Strict session patterns, case-sensitive: PHPSESSID=[0-9A-Za-z,-]{22,}, jsessionid=[0-9A-Za-z.!_$*-]{16,}, ASPSESSIONID[A-Z]{8}=[A-Z]{24} */
static int is_session(const uint8_t *text, const us_piece *piece) {
    if (!piece->has_equals) return 0;
    const uint8_t *value = text + piece->name + 1;
    const size_t length = piece->length - piece->name - 1;
    if (piece->name == 9 && memcmp(text, "PHPSESSID", 9) == 0) return length >= 22 && all(value, length, is_php);
    if (piece->name == 10 && memcmp(text, "jsessionid", 10) == 0) return length >= 16 && all(value, length, is_java);
    if (piece->name == 20 && memcmp(text, "ASPSESSIONID", 12) == 0) {
        return length == 24 && all(text + 12, 8, is_capital) && all(value, length, is_capital);
    }
    return 0;
}

static int is_dropped(const us_run *run, const us_piece *piece) {
    const uint32_t steps = run->program->options.steps;
    const uint8_t *text = run->key + piece->start;
    const us_rule *rule = run->rule;
    if (piece->length == 0) return (steps & US_STEP_EMPTY_PIECES) != 0;
    const int noise = (steps & US_STEP_NOISE) && !(rule != NULL && (rule->flags & US_RULE_NOISY));
    if (noise && us_is_noise(run->program, text, piece->name)) return 1;
    if ((steps & US_STEP_QUERY_SESSION) && is_session(text, piece)) return 1;
    if ((steps & US_STEP_BLANK) && piece->length <= piece->name + 1) return 1;
    return rule != NULL && us_rule_drops(rule, text, piece->name);
}

/* Writes the pieces one behind another where the query began. */
static enum us_status join(us_run *run, size_t count, uint8_t *start) {
    us_work *work = run->work;
    const size_t room = (size_t)(run->write - start) + 1;
    if (us_work_spare(work, room) != 0) return US_NO_MEMORY;
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        const us_piece *piece = &work->pieces[i];
        if (length + piece->length + 1 > room) return US_INVALID;   /* cannot be: the pieces are disjoint parts of it */
        if (i > 0) work->spare[length++] = '&';
        memcpy(work->spare + length, run->key + piece->start, piece->length);
        length += piece->length;
    }
    memcpy(start, work->spare, length);
    run->write = start + length;
    return US_OK;
}

/* By name, then by what follows it. */
static int compare_whole(const uint8_t *base, const us_piece *a, const us_piece *b) {
    const int order = us_compare_names(base, a, b);
    if (order != 0) return order;
    const uint32_t common = a->length < b->length ? a->length : b->length;
    const int rest = memcmp(base + a->start, base + b->start, common);
    if (rest != 0) return rest;
    return a->length < b->length ? -1 : a->length > b->length;
}

static int compare_places(const uint8_t *base, const us_piece *a, const us_piece *b) {
    (void)base;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Leaves the first of equal pieces; their order stays. Sorting finds them in n log n. */
static size_t distinct(us_run *run, size_t count) {
    us_work *work = run->work;
    size_t left = 1;
    us_sort_pieces_by(work, count, run->key, compare_whole);
    for (size_t i = 1; i < count; i++) {
        if (compare_whole(run->key, &work->pieces[left - 1], &work->pieces[i]) != 0) work->pieces[left++] = work->pieces[i];
    }
    us_sort_pieces_by(work, left, run->key, compare_places);
    return left;
}

/* 6: drops pieces and sorts what is left; by name only if every piece has an `=`. */
static enum us_status arrange(us_run *run, us_split *split, uint8_t *start) {
    us_piece *pieces = run->work->pieces;
    size_t count = 0;
    int sorted = 1, named = 1;
    for (size_t i = 0; i < split->pieces; i++) {
        if (is_dropped(run, &pieces[i])) continue;
        pieces[count] = pieces[i];
        named &= pieces[count].has_equals != 0;
        if (count > 0 && us_compare_names(run->key, &pieces[count - 1], &pieces[count]) > 0) sorted = 0;
        count++;
    }
    const uint32_t steps = run->rule != NULL && (run->rule->flags & US_RULE_UNSORTED) ? run->program->options.steps & ~(uint32_t)US_STEPS_SORT
                                                                                       : run->program->options.steps;
    if ((steps & US_STEP_DEDUP) && count > 1) count = distinct(run, count);
    const int full = (steps & US_STEP_SORT_FULL) && count > 1, sort = full || (named && !sorted && (steps & US_STEP_SORT));
    if (count == split->pieces && !sort) return US_OK;
    split->pieces = count;
    if (full) {
        us_sort_pieces_by(run->work, count, run->key, compare_whole);
    } else if (sort) {
        us_sort_pieces(run->work, count, run->key);
    }
    return join(run, count, start);
}

enum us_status us_query(us_run *run) {
    const uint32_t steps = run->program->options.steps;
    run->query = NULL;
    if (run->read == run->end || *run->read != '?') return US_OK;
    if (!us_has_room(run, (size_t)(run->end - run->read))) return US_NO_MEMORY;
    uint8_t *mark = run->write;
    us_split split = {0, 0};
    run->read++;
    *run->write++ = '?';
    enum us_status status = spell(run, &split);
    if (status != US_OK) return status;
    if (run->write == mark + 1) {
        if (steps & US_STEP_EMPTY_QUERY) run->write = mark;
        return US_OK;
    }
    run->query = mark + 1;
    if (!split.equals || !(steps & (US_STEP_EMPTY_PIECES | US_STEP_NOISE | US_STEP_QUERY_SESSION | US_STEP_SORT))) return US_OK;
    status = arrange(run, &split, mark + 1);
    if (status == US_OK && run->write == mark + 1) {
        run->write = mark;
        run->query = NULL;
    }
    return status;
}
