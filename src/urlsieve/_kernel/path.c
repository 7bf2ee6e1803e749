/* A path as it stands in the text goes in; the same without dot segments (2), with one spelling of percent-encoding (4) and without Java
session parameters (5) comes out. */
#include <string.h>

#include "ascii.h"
#include "canonical.h"
#include "scan.h"

/* 1 for `.`, 2 for `..`, 0 for all else; %2e counts as a dot. */
static int dots(const uint8_t *s, const uint8_t *end) {
    int count = 0;
    while (s < end) {
        if (*s == '.') {
            s++;
        } else if (end - s >= 3 && s[0] == '%' && s[1] == '2' && (s[2] | 0x20) == 'e') {
            s += 3;
        } else {
            return 0;
        }
        if (++count > 2) return 0;
    }
    return count;
}

/* Where the value of a `;jsessionid=` at `s` ends, or NULL if this is none: `least` or more characters, then `;` or the segment's end. */
static const uint8_t *session_end(const uint8_t *s, const uint8_t *end, size_t least) {
    static const char name[] = ";jsessionid=";
    const size_t length = sizeof name - 1;
    if ((size_t)(end - s) < length + least) return NULL;
    for (size_t i = 1; i < length; i++) {
        if (us_lower(s[i]) != (uint8_t)name[i]) return NULL;
    }
    const uint8_t *value = s + length, *at = value;
    while (at < end && us_is_jsession(*at)) at++;
    return (size_t)(at - value) >= least && (at == end || *at == ';') ? at : NULL;
}

/* 5: a segment [start, end) with at least one `;` goes in; the place it now ends at comes out. */
static uint8_t *drop_sessions(uint8_t *start, uint8_t *end, size_t least) {
    size_t left = 0;
    for (const uint8_t *s = start; s < end;) {
        const uint8_t *past = *s == ';' ? session_end(s, end, least) : NULL;
        if (past != NULL) {
            s = past;
        } else {
            s++;
            left++;
        }
    }
    const size_t length = (size_t)(end - start);
    if (left == length || (left == 1 && start[0] == '.') || (left == 2 && start[0] == '.' && start[1] == '.')) return end;
    uint8_t *write = start;
    for (const uint8_t *s = start; s < end;) {
        const uint8_t *past = *s == ';' ? session_end(s, end, least) : NULL;
        if (past != NULL) {
            s = past;
        } else {
            *write++ = *s++;
        }
    }
    return write;
}

/* Copies one segment up to its end; *foreign is set where the parser has to look first. */
static uint8_t *segment(const us_program *program, const uint8_t **from, const uint8_t *end, uint8_t *write, int *semicolon, int *foreign) {
    const uint8_t *read = *from, *actions = program->path;
    uint8_t *stray = NULL;
    while (read < end) {
        const uint8_t action = actions[*read];
        if (action == US_COPY) {
            *write++ = *read++;
        } else if (action == US_PERCENT) {
            write = us_percent(program, US_PLAIN_PATH, &read, end, write, &stray);
            *semicolon |= write[-1] == ';';
        } else if (action == US_ENCODE) {
            write = us_encode(*read++, write);
        } else if (action == US_SEMICOLON) {
            *semicolon = 1;
            *write++ = *read++;
        } else {
            *foreign = action == US_FOREIGN;
            break;
        }
    }
    *from = read;
    return write;
}

/* Where a segment [raw, read) that is `.` or `..` makes the path go on: `start` is where it would stand, behind its slash. */
static uint8_t *step_back(int dots, const uint8_t *root, uint8_t *start) {
    if (dots == 1 || start - 1 == root) return start;
    uint8_t *write = start - 2;
    while (*write != '/') write--;
    return write + 1;
}

/* Segment after segment from `read` on; run->write stands behind a slash. */
static enum us_status segments(us_run *run, const uint8_t *root) {
    const uint8_t *read = run->read, *end = run->end;
    const uint8_t *actions = run->program->path;
    const uint32_t steps = run->program->options.steps;
    const size_t least = steps & US_STEP_SHORT_SESSION ? 1 : 8;
    uint8_t *write = run->write;
    for (;;) {
        const uint8_t *raw = read;
        uint8_t *start = write;
        int semicolon = 0, foreign = 0;
        write = segment(run->program, &read, end, write, &semicolon, &foreign);
        if (foreign) return US_IRREGULAR;
        const int last = read == end || actions[*read] != US_SLASH;
        const int kind = raw < read && read - raw <= 6 && (*raw == '.' || *raw == '%') ? dots(raw, read) : 0;
        if (kind != 0) {
            write = step_back(kind, root, start);
        } else {
            if (semicolon && (steps & US_STEP_PATH_SESSION)) write = drop_sessions(start, write, least);
            if (!last) *write++ = '/';
        }
        if (last) break;
        read++;
    }
    run->read = read;
    run->write = write;
    return US_OK;
}

enum us_status us_path(us_run *run) {
    uint8_t *root = run->write;
    if (!us_has_room(run, (size_t)(run->end - run->read))) return US_NO_MEMORY;
    run->path = root;
    *run->write++ = '/';
    if (run->read < run->end && (*run->read == '/' || *run->read == '\\')) run->read++;
    /* Most paths need nothing at all. Where one does, go on carefully from the segment it is in; the slash before counts for `.`. */
    if (run->read < run->end && *run->read == '.') return segments(run, root);
    const size_t plain = us_plain_path(run->text, run->read, run->end);
    memcpy(run->write, run->read, plain);
    run->read += plain;
    run->write += plain;
    if (run->read == run->end || run->program->path[*run->read] == US_END) return US_OK;
    while (run->write[-1] != '/') {
        run->write--;
        run->read--;
    }
    return segments(run, root);
}
