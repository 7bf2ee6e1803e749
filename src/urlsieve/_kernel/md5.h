/* MD5: bytes go in, 16 bytes come out. Only to meet other programs' fingerprints: it protects nothing. */
#ifndef US_MD5_H
#define US_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { US_MD5_SIZE = 16 };

void us_md5(const uint8_t *data, size_t length, uint8_t *to);

#endif
