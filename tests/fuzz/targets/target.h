/* What a coverage-guided target shares with the harness: chance that depends on the input only, so that an input repeats its finding. */
#ifndef US_TARGET_H
#define US_TARGET_H

#include "../harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Begins a run: chance() follows from these bytes. */
void begin(const uint8_t *data, size_t size);

/* A copy of exactly this size, so that a byte read beside it is seen. */
uint8_t *copy_of(const uint8_t *data, size_t size);

#endif
