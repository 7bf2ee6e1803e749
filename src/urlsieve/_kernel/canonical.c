#include "canonical.h"

#include <string.h>

#include "ascii.h"
#include "foreign.h"
#include "rules.h"

uint8_t *us_percent(const us_program *program, enum us_plain where, const uint8_t **read, const uint8_t *end, uint8_t *write,
                    uint8_t **stray) {
    const uint8_t *at = *read;
    if (end - at < 3 || !us_is_hex(at[1]) || !us_is_hex(at[2])) {
        *write++ = '%';
        *read = at + 1;
        *stray = write;
        return write;
    }
    const uint8_t byte = (uint8_t)(us_hex_value(at[1]) << 4 | us_hex_value(at[2]));
    *read = at + 3;
    if (program->plain[byte] & where) {
        const int completes = write == *stray || (write - 1 == *stray && us_is_hex(write[-1]));
        if (!(completes && us_is_hex(byte))) {
            *write = byte;
            return write + 1;
        }
    }
    write[0] = '%';
    write[1] = us_upper(at[1]);
    write[2] = us_upper(at[2]);
    return write + 3;
}

/* 7: more than `!`, `/` or `!/`, and beginning with one of the two. */
static int is_route(const uint8_t *text, size_t length) {
    if (length < 2 || (text[0] != '!' && text[0] != '/')) return 0;
    return !(length == 2 && text[0] == '!' && text[1] == '/');
}

static enum us_status fragment(us_run *run, us_key *key) {
    key->route = 0;
    if (run->read == run->end) return US_OK;
    const uint8_t *read = run->read + 1, *end = run->end;   /* past the # */
    const us_rule *rule = run->rule;
    const int mode = rule != NULL && (rule->flags & US_RULE_FRAGMENT) ? rule->fragment : run->program->options.fragment;
    uint8_t *write = run->write, *stray = NULL;
    const uint8_t *actions = run->program->fragment;
    const int keep = mode == US_FRAGMENT_KEEP ? read < end : mode == US_FRAGMENT_ROUTES && is_route(read, (size_t)(end - read));
    if (!keep) {
        /* Behind a leading tab or newline, which the parser removes, there may be a route. */
        return mode == US_FRAGMENT_ROUTES && read < end && actions[*read] == US_FOREIGN ? US_IRREGULAR : US_OK;
    }
    if (!us_has_room(run, (size_t)(end - read))) return US_NO_MEMORY;
    *write++ = '#';
    while (read < end) {
        switch (actions[*read]) {
        case US_COPY: *write++ = *read++; break;
        case US_ENCODE: write = us_encode(*read++, write); break;
        case US_PERCENT: write = us_percent(run->program, US_PLAIN_FRAGMENT, &read, end, write, &stray); break;
        default: return US_IRREGULAR;
        }
    }
    run->write = write;
    key->route = 1;
    return US_OK;
}

enum us_status us_more_room(us_run *run, size_t bytes) {
    if ((size_t)(run->limit - run->write) >= bytes) return US_OK;
    us_work *work = run->work;
    const size_t written = (size_t)(run->write - run->key), path = (size_t)(run->path - run->key);
    if (us_work_text(work, written + bytes + run->spare) != 0) return US_NO_MEMORY;
    run->key = work->text + work->used;
    run->write = run->key + written;
    run->path = run->key + path;
    run->limit = work->text + work->room - run->spare;
    return US_OK;
}

/* The WHATWG parser drops C0 controls and blanks at both ends. */
static void strip(const uint8_t **start, const uint8_t **end) {
    while (*start < *end && **start <= 0x20) ++*start;
    while (*end > *start && (*end)[-1] <= 0x20) --*end;
}

enum us_status us_canonicalize(const us_program *program, us_work *work, const uint8_t *text, size_t length, int href, size_t spare,
                               us_key *key) {
    if (!href && length > US_LIMIT) return US_TOO_LONG;
    key->found_length = key->rule = key->unsettled = 0;
    if (program->options.form == US_FORM_CLASSIC) return us_classic(program, work, text, length, spare, key);
    if (program->options.form == US_FORM_SCRAPY) return us_scrapy(program, work, text, length, href, spare, key);
    us_run run = {.program = program, .work = work, .text = text, .read = text, .end = text + length, .spare = spare};
    strip(&run.read, &run.end);
    if (run.read == run.end) return US_EMPTY;
    if (us_work_text(work, 3 * length + spare + 128) != 0) return US_NO_MEMORY;
    run.key = run.write = work->text + work->used;
    run.limit = work->text + work->room - spare;

    enum us_status status = href ? us_copy_head(&run, key) : us_parse_head(&run, key);
    if (status == US_OK && (program->options.steps & US_STEPS_HEAD)) status = us_switch_head(&run, key);
    if (status == US_OK) status = us_path(&run);
    if (status == US_OK && (program->options.steps & US_STEPS_PATH)) us_tidy_path(&run, program->options.steps);
    if (status == US_OK && program->options.rules != NULL) {
        const uint8_t *site = run.key + key->site_start;
        const size_t host = us_host_length(site, key->site_length);
        if (us_may_have_rule(program->options.rules, site, host)) status = us_apply_rule(&run, key, host);
    }
    if (status == US_OK) status = us_query(&run);
    if (status == US_OK && (program->options.trap_segments | program->options.trap_repeats | program->options.trap_names |
                            (run.rule != NULL && (run.rule->flags & US_RULE_TRAPS)))) {
        status = us_check_traps(&run);
    }
    if (status == US_OK) status = fragment(&run, key);
    if (status != US_OK) return status;
    if (run.write - run.key > US_LIMIT) return US_TOO_LONG;
    key->length = (uint32_t)(run.write - run.key);
    return US_OK;
}
