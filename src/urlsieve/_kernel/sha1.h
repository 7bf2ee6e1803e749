/* SHA-1: bytes go in piece by piece, 20 bytes come out. Only to meet other programs' fingerprints: it protects nothing. */
#ifndef US_SHA1_H
#define US_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum { US_SHA1_SIZE = 20 };

typedef struct {
    uint32_t state[5];
    uint64_t length;      /* bytes so far */
    uint8_t block[64];
} us_sha1;

void us_sha1_init(us_sha1 *sha);
void us_sha1_add(us_sha1 *sha, const uint8_t *data, size_t length);
void us_sha1_finish(us_sha1 *sha, uint8_t *to);

#endif
