/* One URL's text goes in, its canonical form comes out at the end of work->text, or the word why not.

The theory is in the specification of the canonical form; the order of the steps is that of us_canonicalize. A *regular* URL (http or https,
plain ASCII host that is no address, nothing the WHATWG parser would repair) is parsed here; all others answer US_IRREGULAR and come back
as the href that a WHATWG parser made of them, for which every step is the same code. */
#ifndef US_CANONICAL_H
#define US_CANONICAL_H

#include "ascii.h"
#include "program.h"
#include "work.h"

enum { US_LIMIT = 65536 };   /* bytes of UTF-8, of the text as given and of the key */

enum us_status {
    US_OK = 0,
    US_EMPTY,
    US_INVALID,
    US_SCHEME,
    US_HOST,
    US_TOO_LONG,
    US_RELATIVE,
    US_TRAP,
    US_NO_SCHEME = 253,   /* internal: relative, if there is a base */
    US_IRREGULAR = 254,   /* internal: to be parsed by others first */
    US_NO_MEMORY = 255
};

typedef struct {
    uint32_t length;
    uint32_t site_start, site_length;   /* within the key */
    uint32_t route;                     /* the key kept a fragment */
    uint32_t found_length;              /* bytes of the site as found, in work->site, if a rule or a switch changed it; else 0 */
    uint32_t rule;                      /* number of the rule + 1; 0: there was none */
    uint32_t unsettled;                 /* enum us_unsettled */
} us_key;

/* Why a rule's change of the path was not made, so that the key's key is the key. */
enum us_unsettled {
    US_SETTLED = 0,
    US_LEAVES = 1,     /* it would put the URL under another rule */
    US_RESTLESS = 2    /* done again it would change it again */
};

/* The state of one run; the components read on from `read` and write on at `write`. */
typedef struct {
    const us_program *program;
    us_work *work;
    const uint8_t *text, *read, *end;
    uint8_t *key;                 /* first byte of the key */
    uint8_t *write, *limit;
    uint8_t *path, *query;        /* first byte of each in the key; query NULL where there is none */
    size_t spare;                 /* bytes behind the key that stay free */
    const us_rule *rule;          /* the one for this URL, or NULL */
} us_run;

/* `href`: the text is a WHATWG-serialised http(s) URL. The key is written at work->text + work->used, which the caller may then move on;
`spare` more bytes are free behind it. */
enum us_status us_canonicalize(const us_program *program, us_work *work, const uint8_t *text, size_t length, int href, size_t spare,
                               us_key *key);

/* Is there room for everything `bytes` of input can become (three bytes each), and a few more? */
static inline int us_has_room(const us_run *run, size_t bytes) { return (size_t)(run->limit - run->write) >= 3 * bytes + 32; }

enum us_status us_parse_head(us_run *run, us_key *key);   /* head.c: scheme, authority of a regular URL */
enum us_status us_copy_head(us_run *run, us_key *key);    /* head.c: the same of an href */
enum us_status us_switch_head(us_run *run, us_key *key);  /* tidy.c: the switches of the authority */
enum us_status us_path(us_run *run);                      /* path.c: dot segments, 4, 5 */
void us_tidy_path(us_run *run, uint32_t steps);           /* tidy.c: the switches of the path */
enum us_status us_apply_rule(us_run *run, us_key *key, size_t host);   /* ruleapply.c: hosts, https and all that a rule does to the path */
enum us_status us_query(us_run *run);                     /* query.c: 4, 6 */
enum us_status us_check_traps(us_run *run);               /* traps.c */

/* Step 4 (a) (b) and a stray %: reads from a `%` at *read, returns where to write on. *stray is the place behind the last stray `%`: a
decoded hexadecimal digit there, or one digit later, would make a triplet of it. */
uint8_t *us_percent(const us_program *program, enum us_plain where, const uint8_t **read, const uint8_t *end, uint8_t *write,
                    uint8_t **stray);

/* Makes room for so many more bytes behind run->write; the key may move. */
enum us_status us_more_room(us_run *run, size_t bytes);

/* Keeps the site as found, before it is changed for the first time. */
enum us_status us_keep_site(us_run *run, us_key *key);

/* Bytes of a site without its port. */
static inline size_t us_host_length(const uint8_t *site, size_t length) {
    size_t i = length;
    while (i > 0 && us_is_digit(site[i - 1])) i--;
    return i > 0 && i < length && site[i - 1] == ':' ? i - 1 : length;
}

static inline uint8_t *us_encode(uint8_t byte, uint8_t *write) {
    static const char digits[] = "0123456789ABCDEF";
    write[0] = '%';
    write[1] = (uint8_t)digits[byte >> 4];
    write[2] = (uint8_t)digits[byte & 15];
    return write + 3;
}

#endif
