/* Steps 2 and 3: the scheme and the authority go in, `scheme://[user info@]host[:port]` comes out. */
#include <string.h>

#include "ascii.h"
#include "canonical.h"
#include "scan.h"

/* What is to be said of a text that does not begin so: has it another scheme, or none? */
static enum us_status other_scheme(const us_run *run) {
    const uint8_t *s = run->read, *end = run->end;
    const int letter = us_is_alpha(*s);
    for (; s < end && *s != ':'; s++) {
        if (*s == '\t' || *s == '\n' || *s == '\r') return US_IRREGULAR;   /* the parser removes these first */
        if (!letter || !(us_is_alnum(*s) || *s == '+' || *s == '-' || *s == '.')) return US_NO_SCHEME;
    }
    if (s == end || !letter) return US_NO_SCHEME;
    const size_t length = (size_t)(s - run->read);
    uint8_t name[5] = {0};
    for (size_t i = 0; i < length && i < 5; i++) name[i] = us_lower(run->read[i]);
    const int known = (length == 4 && memcmp(name, "http", 4) == 0) || (length == 5 && memcmp(name, "https", 5) == 0);
    return known ? US_IRREGULAR : US_SCHEME;
}

/* Copies a plain ASCII host in lower case. Regular: letters, digits, `.`, `_`, `-`; no address (a last label that begins with a digit), no
label that could be punycode. Anything else is the parser's. */
static int host(us_run *run) {
    const us_host host = us_copy_host(run->read, run->end, run->write);
    const uint8_t *s = run->read + host.length;
    if (host.length == 0 || host.hyphens) return 0;
    if (s < run->end && *s != '/' && *s != ':' && *s != '?' && *s != '#' && *s != '\\') return 0;
    const uint8_t first = run->write[host.label];
    if (us_is_digit(first) || first == '.') return 0;
    run->read = s;
    run->write += host.length;
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
    if (s < end && *s != '/' && *s != '?' && *s != '#' && *s != '\\') return 0;
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
    if (run->program->options.steps & US_STEP_ALWAYS_PARSE) return US_IRREGULAR;
    const size_t scheme = us_web_scheme(run->read, run->end);
    if (scheme == 0) return other_scheme(run);
    if (!us_has_room(run, (size_t)(run->end - run->read))) return US_NO_MEMORY;
    memcpy(run->write, "https://", 8);
    if (scheme == 7) memcpy(run->write + 4, "://", 3);
    run->write += scheme;
    run->read += scheme;
    key->site_start = (uint32_t)scheme;
    if (!host(run)) return US_IRREGULAR;
    if (run->read < run->end && *run->read == ':' && !port(run, scheme == 8 ? 443 : 80)) return US_IRREGULAR;
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
