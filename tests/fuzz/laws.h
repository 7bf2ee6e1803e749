/* What holds for every text in every program: checked by the harness on chance, by the targets on what coverage leads to. */
#ifndef US_LAWS_H
#define US_LAWS_H

#include "batch.h"

/* One text through one program of ours: the key is within limits and ASCII, and reads again as itself if it is `at_rest`. */
uint64_t form_laws(const us_program *program, us_work *work, const uint8_t *text, size_t length, int at_rest, uint64_t digest);

/* The same for another program's form: within limits, a fingerprint of its own, and the same site when it comes back as a finished key. */
uint64_t foreign_laws(const us_program *program, us_work *work, const uint8_t *text, size_t length, uint64_t digest);

uint64_t mix(uint64_t digest, const uint8_t *data, size_t length);

#endif
