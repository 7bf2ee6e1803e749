/* What many small crawlers make of a URL: text goes in, the same characters come out as from this Go:

    u, err := url.Parse(text)                     // err: rejected
    q := u.Query(); q.Del("utm_source"); q.Del("utm_medium"); q.Del("ts")
    u.RawQuery, u.Fragment = q.Encode(), ""
    return strings.ToLower(strings.TrimSuffix(u.String(), "/"))

Go takes the text as bytes and repairs nothing: a blank before the scheme, a bad triplet, a control character are errors. All that is written
is ASCII, so lowering is done as it is written. Here and not in Go: without a scheme a text is Python's to join to a base; only http and
https are accepted; `http:` and no slash is rejected where it is not ASCII, as only there Go would lower other alphabets. */
#include <string.h>

#include "ascii.h"
#include "foreign.h"

typedef struct {
    const uint8_t *at, *end;
} us_part;

static int is_one_of(uint8_t c, const char *marks) { return c != 0 && strchr(marks, c) != NULL; }

static int in_host(uint8_t c) { return us_is_unreserved(c) || is_one_of(c, "!$&'()*+,;=:[]<>\""); }

static int in_user(uint8_t c) { return us_is_unreserved(c) || is_one_of(c, "$&+,;="); }

static int in_path(uint8_t c) { return us_is_unreserved(c) || is_one_of(c, "$&+,/:;=@"); }

/* What Go leaves alone in a path that it need not encode anew. */
static int in_valid_path(uint8_t c) { return in_path(c) || is_one_of(c, "!'()*[]%"); }

static uint8_t *escape(uint8_t byte, uint8_t *write) {
    write = us_encode(byte, write);
    write[-2] = us_lower(write[-2]);
    write[-1] = us_lower(write[-1]);
    return write;
}

static const uint8_t *last(us_part part, uint8_t byte) {
    for (const uint8_t *s = part.end; s > part.at; s--) {
        if (s[-1] == byte) return s - 1;
    }
    return NULL;
}

static const uint8_t *first(us_part part, uint8_t byte) {
    return part.at < part.end ? memchr(part.at, byte, (size_t)(part.end - part.at)) : NULL;
}

static int is_triplet(const uint8_t *at, const uint8_t *end) { return end - at >= 3 && us_is_hex(at[1]) && us_is_hex(at[2]); }

static uint8_t value_of(const uint8_t *triplet) { return (uint8_t)(us_hex_value(triplet[1]) << 4 | us_hex_value(triplet[2])); }

/* Is every `%` a triplet? */
static int is_escaped(us_part part) {
    for (const uint8_t *s = part.at; (s = first((us_part){s, part.end}, '%')) != NULL; s += 3) {
        if (!is_triplet(s, part.end)) return 0;
    }
    return 1;
}

/* Decoded and encoded again, in lower case: what is plain stays as it is. Every `%` must be a triplet. */
static void respell(us_run *run, us_part part, int (*plain)(uint8_t)) {
    uint8_t *write = run->write;
    while (part.at < part.end) {
        const uint8_t c = *part.at == '%' ? value_of(part.at) : *part.at;
        part.at += *part.at == '%' ? 3 : 1;
        if (plain(c)) {
            *write++ = us_lower(c);
        } else {
            write = escape(c, write);
        }
    }
    run->write = write;
}

static void lower(us_run *run, us_part part) {
    while (part.at < part.end) *run->write++ = us_lower(*part.at++);
}

/* A part of a host: triplets only for what is not ASCII, and for `%`; in a zone also for what could stand there plainly, and blanks. */
static int host_part(us_run *run, us_part part, int zone) {
    for (const uint8_t *s = part.at; s < part.end; s++) {
        if (*s != '%') {
            if (*s < 0x80 && !in_host(*s)) return 0;
            continue;
        }
        if (!is_triplet(s, part.end)) return 0;
        const uint8_t c = value_of(s);
        if (c != '%' && (zone ? c != ' ' && !in_host(c) : c < 0x80)) return 0;
        s += 2;
    }
    respell(run, part, in_host);
    return 1;
}

/* Nothing, or a colon and digits. */
static int is_port(us_part part) {
    if (part.at < part.end && *part.at++ != ':') return 0;
    while (part.at < part.end && us_is_digit(*part.at)) part.at++;
    return part.at == part.end;
}

static enum us_status host(us_run *run, us_part part) {
    if (part.at == part.end || *part.at != '[') {
        const uint8_t *colon = last(part, ':');
        if (colon != NULL && !is_port((us_part){colon, part.end})) return US_INVALID;
        return host_part(run, part, 0) ? US_OK : US_HOST;
    }
    const uint8_t *closing = last(part, ']');
    if (closing == NULL) return US_HOST;
    if (!is_port((us_part){closing + 1, part.end})) return US_INVALID;
    const uint8_t *zone = part.at;
    while ((zone = first((us_part){zone, closing}, '%')) != NULL && (closing - zone < 3 || memcmp(zone, "%25", 3) != 0)) zone++;
    if (zone == NULL) return host_part(run, part, 0) ? US_OK : US_HOST;
    const int good = host_part(run, (us_part){part.at, zone}, 0) && host_part(run, (us_part){zone, closing}, 1);
    return good && host_part(run, (us_part){closing, part.end}, 0) ? US_OK : US_HOST;
}

static enum us_status user(us_run *run, us_part part) {
    for (const uint8_t *s = part.at; s < part.end; s++) {
        if (!us_is_unreserved(*s) && !is_one_of(*s, ":!$&'()*+,;=%@")) return US_INVALID;
    }
    const uint8_t *colon = first(part, ':');
    const us_part name = {part.at, colon != NULL ? colon : part.end}, password = {colon != NULL ? colon + 1 : part.end, part.end};
    if (!is_escaped(name) || !is_escaped(password)) return US_INVALID;
    respell(run, name, in_user);
    if (colon != NULL) *run->write++ = ':';
    respell(run, password, in_user);
    *run->write++ = '@';
    return US_OK;
}

static enum us_status authority(us_run *run, us_part part) {
    const uint8_t *at = last(part, '@');
    if (at != NULL) {
        enum us_status status = user(run, (us_part){part.at, at});
        if (status != US_OK) return status;
        part.at = at + 1;
    }
    return host(run, part);
}

/* As it stands, if it has nothing that must be encoded; else decoded and encoded anew. */
static enum us_status path(us_run *run, us_part part) {
    if (!is_escaped(part)) return US_INVALID;
    const uint8_t *s = part.at;
    while (s < part.end && in_valid_path(*s)) s++;
    if (s == part.end) {
        lower(run, part);
    } else {
        respell(run, part, in_path);
    }
    return US_OK;
}

static int is_dropped(const uint8_t *name, size_t length) {
    return (length == 10 && (memcmp(name, "utm_source", 10) == 0 || memcmp(name, "utm_medium", 10) == 0)) ||
           (length == 2 && memcmp(name, "ts", 2) == 0);
}

/* One field of a query, decoded at `write`; NULL where Go drops it: it is empty, or has a `;` or a bad triplet. */
static uint8_t *field(us_part part, uint8_t *write, const uint8_t **equals) {
    if (part.at == part.end || first(part, ';') != NULL || !is_escaped(part)) return NULL;
    *equals = NULL;
    while (part.at < part.end) {
        if (*part.at == '=' && *equals == NULL) {
            *equals = write;
            part.at++;
        } else if (*part.at == '%') {
            *write++ = value_of(part.at);
            part.at += 3;
        } else {
            *write++ = *part.at == '+' ? ' ' : *part.at;
            part.at++;
        }
    }
    return write;
}

/* The fields that stay, decoded, in work->spare. */
static enum us_status fields(us_work *work, us_part part, size_t *count) {
    if (us_work_spare(work, (size_t)(part.end - part.at) + 1) != 0) return US_NO_MEMORY;
    uint8_t *start = work->spare;
    while (part.at < part.end) {
        const uint8_t *past = first(part, '&'), *equals = NULL;
        if (past == NULL) past = part.end;
        uint8_t *end = field((us_part){part.at, past}, start, &equals);
        part.at = past < part.end ? past + 1 : part.end;
        if (end == NULL || is_dropped(start, (size_t)((equals != NULL ? equals : end) - start))) continue;
        if (us_work_pieces(work, *count + 1) != 0) return US_NO_MEMORY;
        us_piece *piece = &work->pieces[(*count)++];
        piece->start = (uint32_t)(start - work->spare);
        piece->name = (uint32_t)((equals != NULL ? equals : end) - start);
        piece->length = (uint32_t)(end - start);
        piece->has_equals = 1;
        start = end;
    }
    return US_OK;
}

static uint8_t *form_encoded(const uint8_t *s, size_t length, uint8_t *write) {
    for (const uint8_t *end = s + length; s < end; s++) {
        if (us_is_unreserved(*s)) {
            *write++ = us_lower(*s);
        } else if (*s == ' ') {
            *write++ = '+';
        } else {
            write = escape(*s, write);
        }
    }
    return write;
}

/* `mark`: there is a `?` with nothing behind it, which Go keeps. */
static enum us_status query(us_run *run, us_part part, int mark) {
    us_work *work = run->work;
    size_t count = 0;
    enum us_status status = fields(work, part, &count);
    if (status != US_OK) return status;
    us_sort_pieces(work, count, work->spare);
    if (mark || count > 0) *run->write++ = '?';
    for (size_t i = 0; i < count; i++) {
        const us_piece *piece = &work->pieces[i];
        const uint8_t *name = work->spare + piece->start;
        if (i > 0) *run->write++ = '&';
        run->write = form_encoded(name, piece->name, run->write);
        *run->write++ = '=';
        run->write = form_encoded(name + piece->name, piece->length - piece->name, run->write);
    }
    return US_OK;
}

/* What stands between the scheme's colon and the query. */
static enum us_status middle(us_run *run, us_part part) {
    if (part.at == part.end || *part.at != '/') {
        for (const uint8_t *s = part.at; s < part.end; s++) {
            if (*s >= 0x80) return US_HOST;
        }
        lower(run, part);
        return US_OK;
    }
    if (part.end - part.at < 2 || part.at[1] != '/') return path(run, part);
    const uint8_t *slash = first((us_part){part.at + 2, part.end}, '/');
    if (slash == NULL) slash = part.end;
    if (part.end - part.at > 2) {   /* `http://` and nothing more loses its slashes */
        *run->write++ = '/';
        *run->write++ = '/';
    }
    enum us_status status = authority(run, (us_part){part.at + 2, slash});
    return status == US_OK ? path(run, (us_part){slash, part.end}) : status;
}

/* Length of the scheme, as Go finds it; 0 if there is none. */
static size_t scheme(us_part part) {
    const uint8_t *s = part.at;
    if (s == part.end || !us_is_alpha(*s)) return 0;
    while (s < part.end && (us_is_alnum(*s) || *s == '+' || *s == '-' || *s == '.')) s++;
    return s < part.end && *s == ':' ? (size_t)(s - part.at) : 0;
}

static int has_control(us_part part) {
    for (const uint8_t *s = part.at; s < part.end; s++) {
        if (*s < 0x20 || *s == 0x7f) return 1;
    }
    return 0;
}

static enum us_status parse(us_run *run, us_part whole) {
    const size_t name = scheme(whole);
    if (name == 0) return US_IRREGULAR;
    for (size_t i = 0; i < name; i++) *run->write++ = us_lower(whole.at[i]);
    if (!(name == 4 || name == 5) || memcmp(run->key, "https", name) != 0) return US_SCHEME;
    *run->write++ = ':';
    const uint8_t *hash = first(whole, '#');
    const us_part text = {whole.at + name + 1, hash != NULL ? hash : whole.end};
    if (has_control((us_part){whole.at, text.end})) return US_INVALID;
    const uint8_t *ask = first(text, '?');
    enum us_status status = middle(run, (us_part){text.at, ask != NULL ? ask : text.end});
    if (status != US_OK) return status;
    if (hash != NULL && !is_escaped((us_part){hash + 1, whole.end})) return US_INVALID;
    return ask == NULL ? US_OK : query(run, (us_part){ask + 1, text.end}, ask + 1 == text.end);
}

enum us_status us_classic(const us_program *program, us_work *work, const uint8_t *text, size_t length, size_t spare, us_key *key) {
    us_run run = {.program = program, .work = work, .text = text, .read = text, .end = text + length, .spare = spare};
    const uint8_t *s = text;
    while (s < run.end && *s <= 0x20) s++;
    if (s == run.end) return US_EMPTY;
    if (us_work_text(work, 3 * length + spare + 128) != 0) return US_NO_MEMORY;
    run.key = run.write = work->text + work->used;
    run.limit = work->text + work->room - spare;
    enum us_status status = parse(&run, (us_part){text, run.end});
    if (status != US_OK) return status;
    if (run.write[-1] == '/') run.write--;
    return us_foreign_end(&run, key);
}
