#include "foreign.h"

#include <string.h>

#include "ascii.h"
#include "md5.h"
#include "sha1.h"

int us_is_own_port(const uint8_t *key, const uint8_t *port, const uint8_t *end) {
    const size_t length = (size_t)(end - port);
    if (memcmp(key, "http://", 7) == 0) return length == 2 && memcmp(port, "80", 2) == 0;
    return memcmp(key, "https://", 8) == 0 && length == 3 && memcmp(port, "443", 3) == 0;
}

/* [start, end) is a finished key: where are its site and its path? */
static void find_parts(us_run *run, us_key *key) {
    const uint8_t *start = run->key, *end = run->write, *s = start;
    key->site_start = key->site_length = 0;
    while (s < end && (us_is_alnum(*s) || *s == '+' || *s == '-' || *s == '.')) s++;
    if (end - s < 3 || memcmp(s, "://", 3) != 0) {
        run->path = run->write;
        return;
    }
    const uint8_t *site = s += 3, *port = NULL;
    for (; s < end && *s != '/' && *s != '?' && *s != '#'; s++) {
        if (*s == '@') {
            site = s + 1;
            port = NULL;
        } else if (*s == ':') {
            port = s;
        } else if (*s == ']') {
            port = NULL;
        }
    }
    const uint8_t *past = port != NULL && us_is_own_port(start, port + 1, s) ? port : s;
    key->site_start = (uint32_t)(site - start);
    key->site_length = (uint32_t)(past - site);
    run->path = run->key + (s - start);
    const uint8_t *mark = memchr(s, '?', (size_t)(end - s));
    if (mark != NULL) run->query = run->key + (mark + 1 - start);
}

enum us_status us_foreign_end(us_run *run, us_key *key) {
    if (run->write - run->key > US_LIMIT) return US_TOO_LONG;
    find_parts(run, key);
    key->route = 0;
    key->length = (uint32_t)(run->write - run->key);
    return us_foreign_traps(run);
}

enum us_status us_foreign_key(us_run *run, size_t length, us_key *key) {
    memcpy(run->write, run->text, length);
    run->write += length;
    return us_foreign_end(run, key);
}

enum us_status us_foreign_traps(us_run *run) {
    const us_options *limits = &run->program->options;
    if (!(limits->trap_segments | limits->trap_repeats | limits->trap_names)) return US_OK;
    return run->path < run->write && *run->path == '/' ? us_check_traps(run) : US_OK;
}

size_t us_digest_size(uint32_t form) { return form == US_FORM_SCRAPY ? US_SHA1_SIZE : form == US_FORM_CLASSIC ? US_MD5_SIZE : 0; }

static void hex4(us_sha1 *sha, uint32_t unit) {
    static const char digits[] = "0123456789abcdef";
    const uint8_t escape[6] = {'\\', 'u', (uint8_t)digits[unit >> 12 & 15], (uint8_t)digits[unit >> 8 & 15],
                               (uint8_t)digits[unit >> 4 & 15], (uint8_t)digits[unit & 15]};
    us_sha1_add(sha, escape, 6);
}

/* What json.dumps writes for a character that is not printable ASCII. */
static void escape(us_sha1 *sha, uint32_t c) {
    static const char marks[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    const char *mark = c != 0 && c < 0x80 ? strchr(marks, (int)c) : NULL;
    if (mark != NULL) {
        const uint8_t two[2] = {'\\', (uint8_t)letters[mark - marks]};
        us_sha1_add(sha, two, 2);
    } else if (c >= 0x10000) {
        hex4(sha, 0xd800 + ((c - 0x10000) >> 10));
        hex4(sha, 0xdc00 + ((c - 0x10000) & 0x3ff));
    } else {
        hex4(sha, c);
    }
}

/* One character of valid UTF-8; what is cut off or none counts byte by byte. */
static uint32_t character(const uint8_t **at, const uint8_t *end) {
    const uint8_t *s = *at;
    const size_t more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
    *at = s + 1;
    if (more == 0 || (size_t)(end - s) <= more) return s[0];
    uint32_t c = s[0] & (0x3fu >> more);
    for (size_t i = 1; i <= more; i++) c = c << 6 | (s[i] & 0x3f);
    *at = s + 1 + more;
    return c;
}

/* SHA-1 of {"body": "", "headers": {}, "method": "GET", "url": key} as json.dumps(…, sort_keys=True) writes it. */
static void scrapy_digest(const uint8_t *key, size_t length, uint8_t *to) {
    static const char before[] = "{\"body\": \"\", \"headers\": {}, \"method\": \"GET\", \"url\": \"";
    const uint8_t *s = key, *plain = key, *end = key + length;
    us_sha1 sha;
    us_sha1_init(&sha);
    us_sha1_add(&sha, (const uint8_t *)before, sizeof before - 1);
    while (s < end) {
        if (*s >= 0x20 && *s < 0x7f && *s != '"' && *s != '\\') {
            s++;
            continue;
        }
        us_sha1_add(&sha, plain, (size_t)(s - plain));
        escape(&sha, character(&s, end));
        plain = s;
    }
    us_sha1_add(&sha, plain, (size_t)(s - plain));
    us_sha1_add(&sha, (const uint8_t *)"\"}", 2);
    us_sha1_finish(&sha, to);
}

void us_digest(uint32_t form, const uint8_t *key, size_t length, uint8_t *to) {
    if (form == US_FORM_SCRAPY) scrapy_digest(key, length, to);
    if (form == US_FORM_CLASSIC) us_md5(key, length, to);
}
