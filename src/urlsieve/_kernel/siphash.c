#include "siphash.h"

typedef struct {
    uint64_t v0, v1, v2, v3;
} state;

#define ROTATE(x, b) ((x) << (b) | (x) >> (64 - (b)))

static inline void begin(state *s, uint64_t key0, uint64_t key1) {
    s->v0 = key0 ^ UINT64_C(0x736f6d6570736575);
    s->v1 = key1 ^ UINT64_C(0x646f72616e646f6d);
    s->v2 = key0 ^ UINT64_C(0x6c7967656e657261);
    s->v3 = key1 ^ UINT64_C(0x7465646279746573);
}

static inline void round_of(state *s) {
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = ROTATE(s->v1, 13) ^ s->v0;
    s->v3 = ROTATE(s->v3, 16) ^ s->v2;
    s->v0 = ROTATE(s->v0, 32) + s->v3;
    s->v2 += s->v1;
    s->v3 = ROTATE(s->v3, 21) ^ s->v0;
    s->v1 = ROTATE(s->v1, 17) ^ s->v2;
    s->v2 = ROTATE(s->v2, 32);
}

static inline void absorb(state *s, uint64_t word) {
    s->v3 ^= word;
    round_of(s);
    round_of(s);
    s->v0 ^= word;
}

static inline uint64_t finish(state *s) {
    s->v2 ^= 0xff;
    for (int i = 0; i < 4; i++) round_of(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* The bytes that make no whole word, and the length in the top byte. */
static inline uint64_t last_word(const uint8_t *data, size_t length) {
    const size_t rest = length & 7;
    uint64_t word = 0;
    if (rest != 0 && length >= 8) {
        word = us_load64(data + length - 8) >> (8 * (8 - rest));   /* no loop whose end cannot be foretold */
    } else {
        for (size_t i = 0; i < rest; i++) word |= (uint64_t)data[i] << (8 * i);
    }
    return word | (uint64_t)length << 56;
}

uint64_t us_siphash(uint64_t key0, uint64_t key1, const uint8_t *data, size_t length) {
    state s;
    begin(&s, key0, key1);
    for (size_t i = 0; i + 8 <= length; i += 8) absorb(&s, us_load64(data + i));
    absorb(&s, last_word(data, length));
    return finish(&s);
}

void us_siphash_two(uint64_t key0, uint64_t key1, const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length, uint64_t hashes[2]) {
    state s, t;
    size_t i = 0;
    begin(&s, key0, key1);
    begin(&t, key0, key1);
    for (; i + 8 <= a_length && i + 8 <= b_length; i += 8) {
        const uint64_t x = us_load64(a + i), y = us_load64(b + i);
        s.v3 ^= x;
        t.v3 ^= y;
        round_of(&s);
        round_of(&t);
        round_of(&s);
        round_of(&t);
        s.v0 ^= x;
        t.v0 ^= y;
    }
    for (size_t k = i; k + 8 <= a_length; k += 8) absorb(&s, us_load64(a + k));
    absorb(&s, last_word(a, a_length));
    hashes[0] = finish(&s);
    for (size_t k = i; k + 8 <= b_length; k += 8) absorb(&t, us_load64(b + k));
    absorb(&t, last_word(b, b_length));
    hashes[1] = finish(&t);
}
