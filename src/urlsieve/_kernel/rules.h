/* Site rules compiled: lines of text go in, an immutable table comes out that any number of threads may ask; a host and a path go in, the one
rule for them comes out.

The most specific rule wins: the exact host before its parents, a longer parent before a shorter, and of one host's rules in the order of
the lines (policy puts the longer path first). Nothing cascades. A host that is in no rule costs one look into a filter per label.

The lines, fields separated by tabs, a rule and then what it does; a rule of the same host follows the one before it:

    r KIND HOST PATH    KIND e: exactly HOST, b: HOST and everything below, a: every URL. PATH: a glob, or nothing
    d GLOB   k GLOB     drop, keep a parameter name; k alone: there is an allow-list
    h FROM TO           one site (host[:port]) becomes another
    w REGEX TO          rewrite the path
    f 0|1|2             fragment (enum us_fragment)
    l N N N             limits against traps instead of the program's: segments, equal segments, equal names; 0: none, -: the program's
    s  https   c  lower-case path   t  no trailing slash   o  keep the parameters' order   n  keep noise names */
#ifndef US_RULES_H
#define US_RULES_H

#include "canonical.h"
#include "glob.h"
#include "regex.h"
#include "siphash.h"

#define US_NO_PARENT (SIZE_MAX / 2)

enum {
    US_RULES_MOST = 10000,
    US_RULES_SITE = 259,           /* bytes of a host and a port */
    US_RULES_REWRITES = 16,        /* of one rule */
    US_RULES_TO = 1000,            /* bytes of a replacement */
    US_REWRITE_PATH = 4096         /* longer paths are not rewritten: matching costs their length times the program's */
};

typedef struct {
    uint8_t *from, *to;
    uint16_t from_length, to_length;
} us_host_move;

typedef struct {
    us_regex *regex;
    uint8_t *to;
    size_t to_length;
} us_rewrite;

enum us_rule_flag {
    US_RULE_HTTPS = 1,
    US_RULE_LOWER = 2,
    US_RULE_SLASH = 4,
    US_RULE_UNSORTED = 8,
    US_RULE_NOISY = 16,
    US_RULE_KEEP = 32,      /* the names are an allow-list */
    US_RULE_FRAGMENT = 64,  /* it has a say in it */
    US_RULE_EXACT = 128,
    US_RULE_PATH = 256,     /* it has a path */
    US_RULE_TRAPS = 512     /* it has a say in the limits against traps */
};

#define US_TRAP_UNSAID UINT32_MAX

/* What most URLs of a rule need is in the first 64 bytes. */
struct us_rule {
    uint32_t number;        /* from 0, in the order of the lines */
    uint32_t flags;
    int fragment;
    uint32_t name_count, move_count, rewrite_count;
    uint64_t starts[4];     /* bits of the bytes that a name can begin with to match one of `names` */
    us_glob *names;
    us_host_move *moves;    /* by length and bytes of `from` */
    us_rewrite *rewrites;
    us_glob path;
    uint32_t traps[3];       /* segments, equal segments, equal names; US_TRAP_UNSAID: the program's */
};

/* 64 bytes: a host that is not very long is compared where it is found. */
typedef struct {
    uint32_t length;
    uint32_t first, count;   /* its rules */
    uint8_t near[44];
    uint8_t *far;            /* a host that does not fit in `near` */
} us_rule_site;

static inline const uint8_t *us_site_host(const us_rule_site *site) { return site->far != NULL ? site->far : site->near; }

struct us_rules {
    us_rule *rules;
    size_t count, room;
    us_rule_site *sites;
    size_t site_count, site_room;
    uint32_t *slots;         /* open addressing; 0 = free, else 16 bits of the hash and the site's number + 1 */
    uint32_t mask;
    uint64_t *filter;        /* bits by the last bytes of a host and its length */
    uint32_t filter_shift;
    uint64_t *ends;          /* bits by the last eight bytes of a host, or by all of a shorter one; as many as in filter */
    uint32_t short_lengths;  /* bit n: there is a host of n < 8 bytes */
    size_t shortest_parent, longest_parent;   /* hosts with a rule for what is below them; US_NO_PARENT: there is none */
    const us_rule *any;      /* or NULL */
    size_t bytes;            /* of memory, all in all */
    size_t scratch;          /* bytes that the greediest regex needs */
};

typedef struct {
    size_t line;             /* from 1 */
    const char *what;        /* NULL: nothing is wrong; "memory" */
} us_rules_error;

/* NULL on an error. */
us_rules *us_rules_new(const uint8_t *text, size_t length, us_rules_error *error);
void us_rules_free(us_rules *rules);

/* The bit of the filter for a host; the last eight bytes of hosts and their lengths differ, mostly. */
static inline uint64_t us_filter_bit(const us_rules *rules, const uint8_t *host, size_t length) {
    uint64_t last = 0;
    if (length >= 8) {
        last = us_load64(host + length - 8) ^ us_load64(host) * UINT64_C(0xbf58476d1ce4e5b9);
    } else {
        for (size_t i = 0; i < length; i++) last = last << 8 | host[i];
    }
    return ((last ^ (uint64_t)length << 56) * UINT64_C(0x9e3779b97f4a7c15)) >> rules->filter_shift;
}

static inline int us_in_filter(const us_rules *rules, const uint8_t *host, size_t length) {
    const uint64_t bit = us_filter_bit(rules, host, length);
    return rules->filter[bit >> 6] >> (bit & 63) & 1;
}

/* A quick look that most URLs end with: 0 if no rule is for this host or one above it. Eight bytes before the host's end must be readable. */
static inline int us_may_have_rule(const us_rules *rules, const uint8_t *host, size_t length) {
    if (rules->any != NULL) return 1;
    uint64_t last = us_load64(host + length - 8), bit = last * UINT64_C(0x9e3779b97f4a7c15) >> rules->filter_shift;
    if (rules->ends[bit >> 6] >> (bit & 63) & 1) return rules->shortest_parent != US_NO_PARENT || us_in_filter(rules, host, length);
    for (uint32_t lengths = rules->short_lengths; lengths != 0; lengths &= lengths - 1) {
        const uint64_t end = last >> (64 - 8 * (uint32_t)__builtin_ctz(lengths));   /* little-endian: the last bytes are the high ones */
        bit = end * UINT64_C(0x9e3779b97f4a7c15) >> rules->filter_shift;
        if (rules->ends[bit >> 6] >> (bit & 63) & 1) return 1;
    }
    return 0;
}

/* 16 bytes behind the host must be readable. NULL: no rule. */
const us_rule *us_find_rule(const us_rules *rules, const uint8_t *host, size_t length, const uint8_t *path, size_t path_length);

/* Where a site goes, or NULL. */
const us_host_move *us_find_move(const us_rule *rule, const uint8_t *site, size_t length);

/* Does one of the rule's globs match the name? */
int us_rule_names(const us_rule *rule, const uint8_t *name, size_t length);

/* Does the rule drop a parameter of this name? */
static inline int us_rule_drops(const us_rule *rule, const uint8_t *name, size_t length) {
    const int keep = (rule->flags & US_RULE_KEEP) != 0;
    if (length > 0 && !(rule->starts[name[0] >> 6] >> (name[0] & 63) & 1)) return keep;
    return us_rule_names(rule, name, length) != keep;
}

#endif
