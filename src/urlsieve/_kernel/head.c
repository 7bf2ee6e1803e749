/* Steps 2 and 3: the scheme and the authority go in, `scheme://[user info@]host[:port]` comes out. */
#include <string.h>

#include "ascii.h"
#include "canonical.h"

/* Has the text a scheme, and which? US_OK with *rest past `http://` or `https://`; otherwise what is to be said of it. */
static enum us_status scheme(const us_run *run, int *secure, const uint8_t **rest) {
    const uint8_t *s = run->read, *end = run->end;
    if (end - s > 7 && (s[0] | 0x20) == 'h' && (s[1] | 0x20) == 't' && (s[2] | 0x20) == 't' && (s[3] | 0x20) == 'p') {
        *secure = (s[4] | 0x20) == 's';
        const uint8_t *colon = s + 4 + *secure;
        if (colon[0] == ':' && colon[1] == '/' && end - colon > 2 && colon[2] == '/') {
            *rest = colon + 3;
            return US_OK;
        }
    }
    int letters = us_is_alpha(*s);
    for (; s < end; s++) {
        if (*s == '\t' || *s == '\n' || *s == '\r') return US_IRREGULAR;   /* the parser removes these first */
        if (*s == ':' && letters) break;
        if (!us_is_alnum(*s) && *s != '+' && *s != '-' && *s != '.') return US_NO_SCHEME;
        if (!letters) return US_NO_SCHEME;
    }
    if (s == end) return US_NO_SCHEME;
    const size_t length = (size_t)(s - run->read);
    uint8_t name[5];
    for (size_t i = 0; i < length && i < 5; i++) name[i] = us_lower(run->read[i]);
    const int web = (length == 4 && memcmp(name, "http", 4) == 0) || (length == 5 && memcmp(name, "https", 5) == 0);
    return web ? US_IRREGULAR : US_SCHEME;
}

/* Copies a plain ASCII host in lower case. Regular: letters, digits, `.`, `_`, `-`; no address (a last label that begins with a digit), no
label that could be punycode. Anything else is the parser's. */
static int host(us_run *run) {
    const uint8_t *s = run->read, *end = run->end;
    uint8_t *write = run->write, *start = write;
    uint8_t previous = 0;
    for (; s < end; s++) {
        const uint8_t c = us_lower(*s);
        if (!(us_is_alnum(c) || c == '.' || c == '-' || c == '_')) break;
        if (c == '-' && previous == '-') return 0;
        *write++ = previous = c;
    }
    if (write == start) return 0;
    if (s < end && *s != '/' && *s != ':' && *s != '?' && *s != '#') return 0;
    const uint8_t *last = write - (write[-1] == '.');
    while (last > start && last[-1] != '.') last--;
    if (us_is_digit(*last) || *last == '.') return 0;
    run->read = s;
    run->write = write;
    return 1;
}

/* Copies `:port` unless it is empty or the scheme's own; leading zeros go. */
static int port(us_run *run, uint32_t own) {
    const uint8_t *s = run->read + 1, *end = run->end;
    uint32_t number = 0;
    const int empty = s == end || !us_is_digit(*s);
    for (; s < end && us_is_digit(*s); s++) {
        number = number * 10 + (uint32_t)(*s - '0');
        if (number > 65535) return 0;
    }
    if (s < end && *s != '/' && *s != '?' && *s != '#') return 0;
    run->read = s;
    if (empty || number == own) return 1;
    uint8_t digits[5];
    int count = 0;
    do digits[count++] = (uint8_t)('0' + number % 10); while ((number /= 10) != 0);
    *run->write++ = ':';
    while (count > 0) *run->write++ = digits[--count];
    return 1;
}

enum us_status us_parse_head(us_run *run, us_key *key) {
    int secure = 0;
    const uint8_t *rest = NULL;
    if (run->program->options.steps & US_STEP_ALWAYS_PARSE) return US_IRREGULAR;
    const enum us_status status = scheme(run, &secure, &rest);
    if (status != US_OK) return status;
    if (!us_has_room(run, (size_t)(run->end - run->read))) return US_NO_MEMORY;
    memcpy(run->write, "https://", 8);
    if (!secure) memcpy(run->write + 4, "://", 3);
    run->write += 7 + secure;
    run->read = rest;
    key->site_start = (uint32_t)(run->write - run->key);
    if (!host(run)) return US_IRREGULAR;
    if (run->read < run->end && *run->read == ':' && !port(run, secure ? 443 : 80)) return US_IRREGULAR;
    key->site_length = (uint32_t)(run->write - run->key) - key->site_start;
    return US_OK;
}

enum us_status us_copy_head(us_run *run, us_key *key) {
    const size_t length = (size_t)(run->end - run->read);
    const uint8_t *authority = length > 8 && run->read[4] == 's' ? run->read + 8 : run->read + 7;
    if (length < 9 || memcmp(run->read, "http", 4) != 0) return US_INVALID;   /* `http://h/` is the shortest */
    const uint8_t *site = authority, *s = authority;
    for (; s < run->end && *s != '/' && *s != '?' && *s != '#'; s++) {
        if (*s == '@') site = s + 1;
    }
    if (!us_has_room(run, length)) return US_NO_MEMORY;
    memcpy(run->write, run->read, (size_t)(s - run->read));
    key->site_start = (uint32_t)(site - run->read);
    key->site_length = (uint32_t)(s - site);
    run->write += s - run->read;
    run->read = s;
    return US_OK;
}
