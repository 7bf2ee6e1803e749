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
    US_STEP_ASCII_ONLY = 1 << 29,    /* bytes from 0x80 may mean anything: the page is not in UTF-8 */
    US_STEP_ALWAYS_PARSE = 1 << 30   /* no URL counts as regular: even ASCII bytes may mean anything; and for tests */
};

enum us_fragment { US_FRAGMENT_DROP = 0, US_FRAGMENT_ROUTES = 1, US_FRAGMENT_KEEP = 2 };

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
    US_FOREIGN      /* the WHATWG parser must look at it first */
};

typedef struct {
    uint32_t steps;
    int fragment;
    uint32_t trap_segments;   /* more segments than this: a trap; 0 = no limit (likewise below) */
    uint32_t trap_repeats;    /* the same segment */
    uint32_t trap_names;      /* the same parameter name */
    uint64_t key0, key1;
    const uint8_t *noise;     /* lower-case names, one a line, each ended by LF */
    size_t noise_length;
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
