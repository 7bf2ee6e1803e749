/* A glob (`*` any bytes, `?` one byte, `\` takes the next byte literally) and a text go in, whether it matches all of it comes out.

A literal, `head*`, `*tail` and `head*tail` are compared with memcmp; all others run as one shift-and automaton (Baeza-Yates, Gonnet 1992), a
few operations per byte whatever the pattern is. */
#ifndef US_GLOB_H
#define US_GLOB_H

#include <stddef.h>
#include <stdint.h>

enum { US_GLOB_MOST = 128, US_GLOB_STATES = 63 };   /* bytes of a pattern without `?` and with one `*`; elements but `*` of others */

typedef struct {
    uint8_t *head;       /* its own memory: head, then tail */
    uint16_t head_length, tail_length;
    uint8_t starred;     /* something may stand between head and tail */
    uint8_t states;      /* automaton: elements but `*`; 0: none is needed */
    uint64_t stars;      /* automaton: bit i: a `*` stands behind element i */
    uint64_t *follow;    /* automaton: by byte, bit i: element i takes it */
} us_glob;

enum us_glob_status { US_GLOB_OK = 0, US_GLOB_MEMORY, US_GLOB_TOO_LONG };

enum us_glob_status us_glob_new(us_glob *glob, const uint8_t *pattern, size_t length);
void us_glob_free(us_glob *glob);

/* Can a text that begins with this byte match? */
int us_glob_begins(const us_glob *glob, uint8_t byte);
int us_glob_matches(const us_glob *glob, const uint8_t *text, size_t length);

#endif
