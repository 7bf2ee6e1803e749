#include "target.h"

#include <string.h>

#include "siphash.h"

static uint64_t state;

void told(void) { abort(); }   /* so that the input is kept */

uint64_t chance(void) {
    return next_of(&state);
}

void begin(const uint8_t *data, size_t size) { state = us_siphash(1, 2, data, size); }

uint8_t *copy_of(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    CHECK(copy != NULL);
    if (size > 0) memcpy(copy, data, size);
    return copy;
}
