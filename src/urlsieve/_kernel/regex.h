/* Regular expressions in linear time: a pattern goes in, a program comes out; a program and a text go in, the first match comes out.

The syntax is what most dialects share: literals, `.`, classes, `^ $`, groups `( )` and `(?: )`, `|`, `* + ? {m} {m,} {m,n}` and their lazy
forms with `?`, escapes `\d \w \s \D \W \S` and of punctuation. Meaning as in Perl and Python: the leftmost match, alternatives from left
to right, repetitions greedy. What cannot be matched in linear time (back references, look-around) is refused.

The matcher is Pike's (Thompson 1968, Pike 1987, Cox 2009): all ways to match go on side by side, in order of preference, so that a byte
costs at most one visit of each instruction, whatever the pattern is. */
#ifndef US_REGEX_H
#define US_REGEX_H

#include <stddef.h>
#include <stdint.h>

enum {
    US_REGEX_SIZE = 500,      /* instructions */
    US_REGEX_GROUPS = 10,     /* with group 0, the whole match */
    US_REGEX_PATTERN = 1000,  /* bytes of a pattern */
    US_REGEX_NESTING = 32
};

enum us_regex_op { US_RE_BYTE, US_RE_ANY, US_RE_CLASS, US_RE_SPLIT, US_RE_JUMP, US_RE_SAVE, US_RE_BEGIN, US_RE_END, US_RE_MATCH };

typedef struct {
    uint8_t op;
    uint8_t byte;        /* BYTE; SAVE: the slot */
    uint16_t x, y;       /* SPLIT: x is preferred; JUMP: x; CLASS: x is its number */
} us_inst;

typedef struct us_regex {
    us_inst *code;
    uint32_t size;
    uint32_t slots;      /* two for each group */
    uint32_t anchored;   /* it can match at the text's begin only */
    uint8_t prefix[16];  /* what every match of an anchored one begins with */
    uint32_t prefix_length;
    uint8_t (*classes)[32];
    uint32_t class_count;
} us_regex;

typedef struct {
    const char *what;    /* NULL: nothing; "memory": memory is out */
    size_t at;           /* in the pattern */
} us_regex_error;

/* NULL on an error. */
us_regex *us_regex_new(const uint8_t *pattern, size_t length, us_regex_error *error);
void us_regex_free(us_regex *regex);

/* Bytes of scratch memory, aligned as malloc's, that a match needs. */
size_t us_regex_scratch(const us_regex *regex);

/* 1: matches; slots[2 i], slots[2 i + 1] are the ends of group i, UINT32_MAX where it took no part. `steps` counts visits of instructions. */
int us_regex_match(const us_regex *regex, const uint8_t *text, size_t length, void *scratch, uint32_t *slots, uint64_t *steps);

/* A text that the regex matches, by chance; at most `room` bytes (what is longer is cut off). `state`: see us_chance. */
size_t us_regex_sample(const us_regex *regex, uint64_t *state, uint8_t *to, size_t room);

/* A quick look: 0 if it certainly does not match. */
int us_regex_may_match(const us_regex *regex, const uint8_t *text, size_t length);

static inline int us_in_class(const us_regex *regex, uint32_t number, uint8_t byte) {
    return regex->classes[number][byte >> 3] >> (byte & 7) & 1;
}

#endif
