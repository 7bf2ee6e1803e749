/* What w3lib's canonicalize_url makes of a URL: text goes in, the same characters as w3lib 2.5 gives come out.

w3lib quotes a URL, takes it apart, unquotes and quotes its path again, and its query as a form. Its steps are one pass here, as quoting makes
no new triplet: it never touches a `%`. Regular is `http://` or `https://`, a host of printable ASCII without `@[]%`, a port of digits, and
UTF-8 that was no surrogate; all other URLs are Python's to read (its idna codec, its IPv6 addresses), and come back as finished keys. */
#include <string.h>

#include "ascii.h"
#include "foreign.h"
#include "scan.h"

/* path: a path's bytes as found. fragment: bytes that stay behind a `;`. query: bytes of a query as found. */
void us_scrapy_bytes(us_program *program) {
    memset(program->path, US_ENCODE, 256);
    memset(program->fragment, US_ENCODE, 256);
    memset(program->query, US_COPY, 256);
    for (int c = 0; c < 0x80; c++) {
        if (us_is_unreserved((uint8_t)c)) program->path[c] = program->fragment[c] = US_COPY;
    }
    us_mark(program->path, ":[]@!$&'()*+,=|", US_COPY);
    us_mark(program->fragment, ":@!$&'()*+,;=%", US_COPY);
    us_mark(program->path, "%", US_PERCENT);
    us_mark(program->path, "/\\", US_SLASH);
    us_mark(program->path, ";", US_SEMICOLON);
    us_mark(program->query, "%", US_PERCENT);
    us_mark(program->query, "+", US_SPACE);
    us_mark(program->query, "&", US_AMPERSAND);
    us_mark(program->query, "=", US_EQUALS);
    uint8_t *const tables[] = {program->path, program->fragment, program->query};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        us_mark(tables[i], "\t\n\r", US_FOREIGN);   /* removed first, wherever they are */
        us_mark(tables[i], i < 2 ? "?#" : "#", US_END);
        memset(tables[i] + 0x80, US_FOREIGN, 0x80);
    }
}

/* Bytes from 0x80 on: how many of them are one character that may be copied, byte by byte? 0: not ours to say. */
static size_t wide(const us_run *run, const uint8_t *at) {
    return *at < 0x80 || (run->program->options.steps & US_STEP_ASCII_ONLY) ? 0 : us_plain_utf8(at, run->end);
}

static int is_host(uint8_t c) {
    return c > 0x20 && c < 0x7f && c != '/' && c != '\\' && c != '?' && c != '#' && c != ':' && c != '@' && c != '[' && c != ']' && c != '%';
}

/* `:port`, if it has digits; they lose their leading zeros. 0: not regular, as is a port of so many zeros that Python would not read it. */
static int port(us_run *run) {
    const uint8_t *s = run->read + 1, *digits = s;
    uint32_t number = 0;
    for (; s < run->end && us_is_digit(*s); s++) {
        number = number * 10 + (uint32_t)(*s - '0');
        if (number > 65535 || s - digits > 99) return 0;
    }
    if (s < run->end && *s != '/' && *s != '\\' && *s != '?' && *s != '#') return 0;
    run->read = s;
    if (s == digits) return 1;
    while (digits + 1 < s && *digits == '0') digits++;
    *run->write++ = ':';
    memcpy(run->write, digits, (size_t)(s - digits));
    run->write += s - digits;
    return 1;
}

static enum us_status head(us_run *run, us_key *key) {
    const size_t scheme = us_web_scheme(run->read, run->end);
    if (scheme == 0) return US_IRREGULAR;
    memcpy(run->write, "https://", 8);
    if (scheme == 7) memcpy(run->write + 4, "://", 3);
    run->write += scheme;
    run->read += scheme;
    const us_host known = us_copy_host(run->read, run->end, run->write);
    run->read += known.length;
    run->write += known.length;
    for (; run->read < run->end && is_host(*run->read); run->read++) *run->write++ = us_lower(*run->read);
    const uint8_t *host = run->key + scheme, *colon = run->write;
    if (colon == host) return US_IRREGULAR;
    if (run->read < run->end && *run->read == ':' && !port(run)) return US_IRREGULAR;
    if (run->read < run->end && *run->read != '/' && *run->read != '\\' && *run->read != '?' && *run->read != '#') return US_IRREGULAR;
    const uint8_t *past = colon < run->write && us_is_own_port(run->key, colon + 1, run->write) ? colon : run->write;
    key->site_start = (uint32_t)scheme;
    key->site_length = (uint32_t)(past - host);
    return US_OK;
}

/* A triplet of a path: one that stands for what would be read differently unquoted stays. */
static uint8_t *triplet(const us_run *run, const uint8_t **read, uint8_t *write) {
    const uint8_t *at = *read;
    if (run->end - at < 3 || !us_is_hex(at[1]) || !us_is_hex(at[2])) {
        *write++ = '%';
        *read = at + 1;
        return write;
    }
    const uint8_t byte = (uint8_t)(us_hex_value(at[1]) << 4 | us_hex_value(at[2]));
    *read = at + 3;
    if (run->program->path[byte] != US_COPY) return us_encode(byte, write);
    *write = byte;
    return write + 1;
}

/* What stands behind the first `;` of the last segment: quoted, never unquoted. Without anything there, the `;` goes too. */
static enum us_status params(us_run *run) {
    const uint8_t *actions = run->program->fragment;
    uint8_t *start = run->write;
    *run->write++ = ';';
    while (run->read < run->end) {
        const uint8_t action = actions[*run->read];
        size_t count = 1;
        if (action == US_END) break;
        if (action == US_COPY) {
            *run->write++ = *run->read++;
            continue;
        }
        if (action == US_FOREIGN && (count = wide(run, run->read)) == 0) return US_IRREGULAR;
        while (count-- > 0) run->write = us_encode(*run->read++, run->write);
    }
    if (run->write == start + 1) run->write = start;
    return US_OK;
}

/* Resolves the segments `.` and `..` of [root, end), where root is a slash; returns the new end. */
static uint8_t *resolve_dots(uint8_t *root, uint8_t *end) {
    uint8_t *write = root + 1;
    for (const uint8_t *s = root + 1;; ) {
        const uint8_t *past = memchr(s, '/', (size_t)(end - s));
        const size_t length = (size_t)((past != NULL ? past : end) - s);
        if (length == 2 && s[0] == '.' && s[1] == '.') {
            if (write > root + 1) {
                write--;
                while (write[-1] != '/') write--;
            }
        } else if (!(length == 1 && s[0] == '.')) {
            memmove(write, s, length);
            write += length;
            if (past != NULL) *write++ = '/';
        }
        if (past == NULL) return write;
        s = past + 1;
    }
}

typedef struct {
    const uint8_t *semicolon;   /* the segment's first `;` as found, or NULL */
    uint8_t *before;            /* where that is written */
    int dotted;                 /* a segment begins with a dot */
} us_segments;

static enum us_status segments(us_run *run, us_segments *at) {
    const uint8_t *actions = run->program->path, *read = run->read;
    uint8_t *write = run->write, *start = write;
    for (; read < run->end; ) {
        const uint8_t action = actions[*read];
        if (action == US_COPY) {
            *write++ = *read++;
        } else if (action == US_SLASH) {
            at->dotted |= write > start && *start == '.';
            at->semicolon = NULL;
            *write++ = '/';
            start = write;
            read++;
        } else if (action == US_PERCENT) {
            write = triplet(run, &read, write);
        } else if (action == US_SEMICOLON) {
            if (at->semicolon == NULL) at->before = write;
            if (at->semicolon == NULL) at->semicolon = read;
            *write++ = *read++;
        } else if (action == US_END) {
            break;
        } else {
            size_t count = action == US_ENCODE ? 1 : wide(run, read);
            if (count == 0) return US_IRREGULAR;
            while (count-- > 0) write = us_encode(*read++, write);
        }
    }
    at->dotted |= write > start && *start == '.';
    run->read = read;
    run->write = write;
    return US_OK;
}

static enum us_status path(us_run *run) {
    run->path = run->write;
    if (run->read == run->end || *run->read == '?' || *run->read == '#') {
        *run->write++ = '/';
        return US_OK;
    }
    /* Most paths need nothing at all; where one does, go on carefully from the segment it is in. */
    const size_t plain = us_plain_path(run->text, run->read, run->end);
    memcpy(run->write, run->read, plain);
    run->read += plain;
    run->write += plain;
    if (run->read == run->end || *run->read == '?' || *run->read == '#') return US_OK;
    while (run->write > run->path && run->write[-1] != '/') {
        run->write--;
        run->read--;
    }
    us_segments at = {NULL, NULL, 0};
    enum us_status status = segments(run, &at);
    if (status != US_OK) return status;
    if (at.semicolon != NULL) {
        run->write = at.before;
        run->read = at.semicolon + 1;
    }
    if (at.dotted) run->write = resolve_dots(run->path, run->write);
    return at.semicolon != NULL ? params(run) : US_OK;
}

/* Fields of the query, unquoted, into work->spare: a piece's name and, right behind it, its value. */
static enum us_status fields(us_run *run, size_t *count) {
    us_work *work = run->work;
    const uint8_t *actions = run->program->query, *read = run->read, *end = run->end;
    if (us_work_spare(work, (size_t)(end - read)) != 0) return US_NO_MEMORY;
    uint8_t *write = work->spare, *start = write, *equals = NULL;
    const uint8_t *field = read;
    for (;; ) {
        const uint8_t action = read < end ? actions[*read] : US_END;
        if (action == US_COPY) {
            *write++ = *read++;
        } else if (action == US_EQUALS && equals == NULL) {
            equals = write;
            read++;
        } else if (action == US_EQUALS) {
            *write++ = *read++;
        } else if (action == US_SPACE) {
            *write++ = ' ';
            read++;
        } else if (action == US_PERCENT) {
            const int whole = end - read >= 3 && us_is_hex(read[1]) && us_is_hex(read[2]);
            *write++ = whole ? (uint8_t)(us_hex_value(read[1]) << 4 | us_hex_value(read[2])) : '%';
            read += whole ? 3 : 1;
        } else if (action == US_FOREIGN) {
            size_t bytes = wide(run, read);
            if (bytes == 0) return US_IRREGULAR;
            while (bytes-- > 0) *write++ = *read++;
        } else {
            if (read > field) {
                if (us_work_pieces(work, *count + 1) != 0) return US_NO_MEMORY;
                us_piece *piece = &work->pieces[(*count)++];
                piece->start = (uint32_t)(start - work->spare);
                piece->name = (uint32_t)((equals != NULL ? equals : write) - start);
                piece->length = (uint32_t)(write - start);
                piece->has_equals = 1;
            }
            if (action == US_END) break;
            field = ++read;
            start = write;
            equals = NULL;
        }
    }
    run->read = read;
    return US_OK;
}

/* By name, then by value. */
static int compare_pairs(const uint8_t *text, const us_piece *a, const us_piece *b) {
    const int order = us_compare_names(text, a, b);
    if (order != 0) return order;
    const uint32_t left = a->length - a->name, right = b->length - b->name;
    const int values = memcmp(text + a->start + a->name, text + b->start + b->name, left < right ? left : right);
    return values != 0 ? values : (left > right) - (left < right);
}

static void sort(us_work *work, size_t count) {
    size_t i = 1;
    while (i < count && compare_pairs(work->spare, &work->pieces[i - 1], &work->pieces[i]) <= 0) i++;
    if (i < count) us_sort_pieces_by(work, count, work->spare, compare_pairs);
}

static uint8_t *form_encoded(const uint8_t *s, size_t length, uint8_t *write) {
    for (const uint8_t *end = s + length; s < end; s++) {
        if (us_is_unreserved(*s)) {
            *write++ = *s;
        } else if (*s == ' ') {
            *write++ = '+';
        } else {
            write = us_encode(*s, write);
        }
    }
    return write;
}

static enum us_status query(us_run *run) {
    if (run->read == run->end || *run->read != '?') return US_OK;
    run->read++;
    size_t count = 0;
    enum us_status status = fields(run, &count);
    if (status != US_OK || count == 0) return status;
    sort(run->work, count);
    uint8_t *write = run->write;
    *write++ = '?';
    run->query = write;
    for (size_t i = 0; i < count; i++) {
        const us_piece *piece = &run->work->pieces[i];
        const uint8_t *name = run->work->spare + piece->start;
        if (i > 0) *write++ = '&';
        write = form_encoded(name, piece->name, write);
        *write++ = '=';
        write = form_encoded(name + piece->name, piece->length - piece->name, write);
    }
    run->write = write;
    return US_OK;
}

/* The fragment is dropped, but w3lib encodes it first, which surrogates do not survive. */
static enum us_status rest(const us_run *run) {
    for (const uint8_t *s = run->read; s < run->end; s++) {
        if (*s >= 0xc0 && wide(run, s) == 0) return US_IRREGULAR;
    }
    return US_OK;
}

enum us_status us_scrapy(const us_program *program, us_work *work, const uint8_t *text, size_t length, int href, size_t spare, us_key *key) {
    us_run run = {.program = program, .work = work, .text = text, .read = text, .end = text + length};
    if (us_work_text(work, 3 * length + spare + 128) != 0) return US_NO_MEMORY;
    run.key = run.write = work->text + work->used;
    run.limit = work->text + work->room - spare;
    if (href) return us_foreign_key(&run, length, key);
    while (run.read < run.end && *run.read <= 0x20) run.read++;
    while (run.end > run.read && run.end[-1] <= 0x20) run.end--;
    if (run.read == run.end) return US_EMPTY;
    if (program->options.steps & US_STEP_ALWAYS_PARSE) return US_IRREGULAR;
    key->route = 0;
    enum us_status status = head(&run, key);
    if (status == US_OK) status = path(&run);
    if (status == US_OK) status = query(&run);
    if (status == US_OK) status = rest(&run);
    if (status == US_OK) status = us_foreign_traps(&run);
    if (status != US_OK) return status;
    if (run.write - run.key > US_LIMIT) return US_TOO_LONG;
    key->length = (uint32_t)(run.write - run.key);
    return US_OK;
}
