/* A profile compiled: which steps run and their tables. Options go in, an immutable program comes out that any number of threads may run.

The pipeline is an ordered list of steps (canonical.c runs them in this order); a step that is off costs one test. Policy (which names are
noise, which profile has which steps) is Python's; this file only turns it into tables. */
#ifndef US_PROGRAM_H
#define US_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

enum us_step {
    US_STEP_PERCENT = 1 << 0,        /* 4: one spelling of percent-encoding; without it: as the WHATWG serialiser writes */
    US_STEP_PATH_SESSION = 1 << 1,   /* 5: ;jsessionid=… of a path segment */
    US_STEP_EMPTY_QUERY = 1 << 2,    /* 6: a `?` with nothing behind it */
    US_STEP_EMPTY_PIECES = 1 << 3,   /* 6: && */
    US_STEP_NOISE = 1 << 4,          /* 6: names on the noise list */
    US_STEP_QUERY_SESSION = 1 << 5,  /* 6: strict session patterns */
    US_STEP_SORT = 1 << 6,           /* 6: by name */
    /* the switches of the profile `aggressive` */
    US_STEP_USERINFO = 1 << 8,       /* 3: without user info */
    US_STEP_HOST_DOT = 1 << 9,       /* 3: without the host's final dot */
    US_STEP_WWW = 1 << 10,           /* 3: without the host's www. */
    US_STEP_HTTPS = 1 << 11,         /* 3: http on the default port is https */
    US_STEP_SUBDELIMS = 1 << 12,     /* 4: decode what delimits nothing where it stands */
    US_STEP_PLUS = 1 << 13,          /* 4: in the query + is %20 */
    US_STEP_SHORT_SESSION = 1 << 14, /* 5: of any length */
    US_STEP_COLLAPSE = 1 << 15,      /* path: // is / */
    US_STEP_INDEX = 1 << 16,         /* path: without index.html and its like */
    US_STEP_SLASH = 1 << 17,         /* path: without one trailing slash */
    US_STEP_BLANK = 1 << 18,         /* 6: pieces without a value */
    US_STEP_DEDUP = 1 << 19,         /* 6: pieces that were there before */
    US_STEP_SORT_FULL = 1 << 20,     /* 6: by name and value */
    US_STEPS_SORT = US_STEP_SORT | US_STEP_SORT_FULL,
    US_STEPS_HEAD = US_STEP_USERINFO | US_STEP_HOST_DOT | US_STEP_WWW | US_STEP_HTTPS,
    US_STEPS_PATH = US_STEP_COLLAPSE | US_STEP_INDEX | US_STEP_SLASH,
    US_STEP_ASCII_ONLY = 1 << 29,    /* bytes from 0x80 may mean anything: the page is not in UTF-8 */
    US_STEP_ALWAYS_PARSE = 1 << 30   /* no URL counts as regular: even ASCII bytes may mean anything; and for tests */
};

/* Whose identity of a URL: ours, which the steps make, or another program's (foreign.h). */
enum us_form { US_FORM_OURS = 0, US_FORM_SCRAPY = 1, US_FORM_CLASSIC = 2 };

enum us_fragment { US_FRAGMENT_DROP = 0, US_FRAGMENT_ROUTES = 1, US_FRAGMENT_KEEP = 2 };

/* In which component a triplet is decoded. */
enum us_plain { US_PLAIN_PATH = 1, US_PLAIN_QUERY = 2, US_PLAIN_FRAGMENT = 4 };

/* What to do with a byte of a component. */
enum us_action {
    US_COPY = 0,
    US_ENCODE,      /* write %XX */
    US_PERCENT,     /* a triplet or a stray % */
    US_END,         /* the component ends before this byte */
    US_SLASH,
    US_SEMICOLON,
    US_AMPERSAND,
    US_EQUALS,
    US_SPACE,       /* write %20 */
    US_FOREIGN      /* the WHATWG parser must look at it first */
};

/* These bytes of a component, all but NUL. */
static inline void us_mark(uint8_t *table, const char *bytes, enum us_action action) {
    for (; *bytes; bytes++) table[(uint8_t)*bytes] = (uint8_t)action;
}

typedef struct us_rules us_rules;   /* rules.h */
typedef struct us_rule us_rule;

typedef struct {
    uint32_t steps;
    int fragment;
    uint32_t form;            /* enum us_form */
    uint32_t trap_segments;   /* more segments than this: a trap; 0 = no limit (likewise below) */
    uint32_t trap_repeats;    /* the same segment */
    uint32_t trap_names;      /* the same parameter name */
    uint64_t key0, key1;
    const uint8_t *noise;     /* lower-case names, one a line, each ended by LF */
    size_t noise_length;
    const us_rules *rules;    /* or NULL; must live as long as the program */
} us_options;

typedef struct {
    uint8_t length;           /* 0 = free */
    uint8_t name[63];
} us_name;

typedef struct us_program {
    us_options options;       /* .noise is not kept */
    uint8_t path[256];        /* enum us_action by byte */
    uint8_t query[256];
    uint8_t fragment[256];
    uint8_t plain[256];       /* bits by byte: in which component its triplet is decoded */
    uint64_t noise_lengths[256];   /* by first byte: which name lengths exist, bit per length */
    us_name *noise;           /* open addressing */
    uint32_t noise_mask;
} us_program;

/* NULL when memory is out or a name is longer than 63 bytes. */
us_program *us_program_new(const us_options *options);
void us_program_free(us_program *program);

/* Is this name (any ASCII case) on the noise list? */
int us_is_noise(const us_program *program, const uint8_t *name, size_t length);

#endif
