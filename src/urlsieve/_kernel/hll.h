/* HyperLogLog: how many different fingerprints were met, from 2^p bytes. The same set gives the same registers in whatever order it comes;
the registers of two sets, the larger of each, are those of their union. */
#ifndef US_HLL_H
#define US_HLL_H

#include <stddef.h>
#include <stdint.h>

enum { US_HLL_LEAST = 4, US_HLL_MOST = 18 };

/* registers: 2^p bytes. Whether any changed. */
int us_hll_add(uint8_t *registers, uint32_t p, const uint8_t *fingerprints, size_t count);

/* Ertl's improved estimator (arXiv:1702.01284, algorithm 6): no tables, no bias at either end. */
double us_hll_estimate(const uint8_t *registers, uint32_t p);

/* 0, or -1: a register has a value that none can have. */
int us_hll_check(const uint8_t *registers, uint32_t p);

#endif
