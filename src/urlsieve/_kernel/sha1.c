#include "sha1.h"

#include <string.h>

static inline uint32_t rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

static inline uint32_t load(const uint8_t *s) { return (uint32_t)s[0] << 24 | (uint32_t)s[1] << 16 | (uint32_t)s[2] << 8 | s[3]; }

static inline void store(uint8_t *to, uint32_t x) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(x >> (24 - 8 * i));
}

/* One round: the five words are not moved but renamed, so the caller rotates the names. */
#define ROUND(a, b, c, d, e, f, k, w) \
    do { \
        e += rotate(a, 5) + (f) + (k) + (w); \
        b = rotate(b, 30); \
    } while (0)
#define CHOOSE(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define PARITY(b, c, d) ((b) ^ (c) ^ (d))
#define MAJORITY(b, c, d) (((b) & (c)) | ((d) & ((b) | (c))))
#define NEXT(t) (words[(t) & 15] = rotate(words[((t) + 13) & 15] ^ words[((t) + 8) & 15] ^ words[((t) + 2) & 15] ^ words[(t) & 15], 1))
#define FIVE(t, function, k, word) \
    do { \
        ROUND(a, b, c, d, e, function(b, c, d), k, word(t)); \
        ROUND(e, a, b, c, d, function(a, b, c), k, word((t) + 1)); \
        ROUND(d, e, a, b, c, function(e, a, b), k, word((t) + 2)); \
        ROUND(c, d, e, a, b, function(d, e, a), k, word((t) + 3)); \
        ROUND(b, c, d, e, a, function(c, d, e), k, word((t) + 4)); \
    } while (0)
#define FIRST(t) words[t]

static void block(uint32_t *state, const uint8_t *data) {
    uint32_t words[16], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++) words[i] = load(data + 4 * i);
    FIVE(0, CHOOSE, 0x5a827999u, FIRST);
    FIVE(5, CHOOSE, 0x5a827999u, FIRST);
    FIVE(10, CHOOSE, 0x5a827999u, FIRST);
    ROUND(a, b, c, d, e, CHOOSE(b, c, d), 0x5a827999u, words[15]);
    ROUND(e, a, b, c, d, CHOOSE(a, b, c), 0x5a827999u, NEXT(16));
    ROUND(d, e, a, b, c, CHOOSE(e, a, b), 0x5a827999u, NEXT(17));
    ROUND(c, d, e, a, b, CHOOSE(d, e, a), 0x5a827999u, NEXT(18));
    ROUND(b, c, d, e, a, CHOOSE(c, d, e), 0x5a827999u, NEXT(19));
    for (int t = 20; t < 40; t += 5) FIVE(t, PARITY, 0x6ed9eba1u, NEXT);
    for (int t = 40; t < 60; t += 5) FIVE(t, MAJORITY, 0x8f1bbcdcu, NEXT);
    for (int t = 60; t < 80; t += 5) FIVE(t, PARITY, 0xca62c1d6u, NEXT);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void us_sha1_init(us_sha1 *sha) {
    static const uint32_t start[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    memcpy(sha->state, start, sizeof start);
    sha->length = 0;
}

void us_sha1_add(us_sha1 *sha, const uint8_t *data, size_t length) {
    size_t held = (size_t)(sha->length & 63);
    sha->length += length;
    if (held > 0) {
        const size_t wanted = 64 - held < length ? 64 - held : length;
        memcpy(sha->block + held, data, wanted);
        data += wanted;
        length -= wanted;
        held += wanted;
        if (held < 64) return;
        block(sha->state, sha->block);
    }
    for (; length >= 64; data += 64, length -= 64) block(sha->state, data);
    if (length > 0) memcpy(sha->block, data, length);
}

void us_sha1_finish(us_sha1 *sha, uint8_t *to) {
    const uint64_t bits = sha->length * 8;
    size_t held = (size_t)(sha->length & 63);
    sha->block[held++] = 0x80;
    if (held > 56) {
        memset(sha->block + held, 0, 64 - held);
        block(sha->state, sha->block);
        held = 0;
    }
    memset(sha->block + held, 0, 56 - held);
    store(sha->block + 56, (uint32_t)(bits >> 32));
    store(sha->block + 60, (uint32_t)bits);
    block(sha->state, sha->block);
    for (int i = 0; i < 5; i++) store(to + 4 * i, sha->state[i]);
}
