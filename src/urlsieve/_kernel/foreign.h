/* Forms of other programs, for moving their seen sets: a URL's text goes in, the identity that program gives it comes out, bit for bit, with
that program's own digest of it. They are no canonical forms of ours: no law holds but "the same as theirs".

US_FORM_SCRAPY is w3lib 2.5's canonicalize_url, whose digest is Scrapy's request fingerprint: SHA-1 of a JSON object.
US_FORM_CLASSIC is Go's url.Parse, Query().Encode(), TrimSuffix and ToLower; its digest is MD5. */
#ifndef US_FOREIGN_H
#define US_FOREIGN_H

#include "canonical.h"

enum { US_DIGEST_MOST = 20 };   /* bytes of the longest digest */

/* Fills the tables of a program whose form is US_FORM_SCRAPY. */
void us_scrapy_bytes(us_program *program);

/* As us_canonicalize. `href`: the text is the finished key, made by others; it may hold any bytes. */
enum us_status us_scrapy(const us_program *program, us_work *work, const uint8_t *text, size_t length, int href, size_t spare, us_key *key);

enum us_status us_classic(const us_program *program, us_work *work, const uint8_t *text, size_t length, size_t spare, us_key *key);

/* A key is written: its length, its site (the host, and a port that is not the scheme's own; no host, no site), the limits. */
enum us_status us_foreign_end(us_run *run, us_key *key);

/* Copies a finished key, and that. */
enum us_status us_foreign_key(us_run *run, size_t length, us_key *key);

/* The limits against traps, where the key has a path. */
enum us_status us_foreign_traps(us_run *run);

/* Where the site of `scheme://authority` ends that has a port at `port` (the digits behind the colon, up to `end`): is it the scheme's own? */
int us_is_own_port(const uint8_t *key, const uint8_t *port, const uint8_t *end);

/* Bytes of a form's digest, 0 if it has none; and the digest of a key, at `to`. */
size_t us_digest_size(uint32_t form);
void us_digest(uint32_t form, const uint8_t *key, size_t length, uint8_t *to);

/* Length (2 or 3) of the UTF-8 sequence at `s`, or 0 if it is none, or has four bytes, or is U+FFFD: these may have been lone or paired
surrogates in the caller's text, which only the caller's language can tell. */
static inline size_t us_plain_utf8(const uint8_t *s, const uint8_t *end) {
    if (end - s < 2 || (s[1] & 0xc0) != 0x80) return 0;
    if (s[0] >= 0xc2 && s[0] < 0xe0) return 2;
    if ((s[0] & 0xf0) != 0xe0 || end - s < 3 || (s[2] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
    return s[0] == 0xef && s[1] == 0xbf && s[2] == 0xbd ? 0 : 3;
}

#endif
