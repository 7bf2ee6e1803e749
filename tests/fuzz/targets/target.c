#include "target.h"

#include <string.h>

#include "siphash.h"

static uint64_t state;

void told(void) { abort(); }   /* so that the input is kept */

uint64_t chance(void) {
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void begin(const uint8_t *data, size_t size) { state = us_siphash(1, 2, data, size); }

uint8_t *copy_of(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    CHECK(copy != NULL);
    if (size > 0) memcpy(copy, data, size);
    return copy;
}
