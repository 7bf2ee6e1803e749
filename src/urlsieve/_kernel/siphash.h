/* SipHash-2-4 (Aumasson, Bernstein 2012): a 128-bit key and bytes go in, a keyed 64-bit hash nobody can steer without the key comes out. */
#ifndef US_SIPHASH_H
#define US_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t us_siphash(uint64_t key0, uint64_t key1, const uint8_t *data, size_t length);

/* Little-endian on every machine: stores and their workers may differ. */
uint64_t us_load64(const uint8_t *from);
void us_store64(uint8_t *to, uint64_t value);

#endif
