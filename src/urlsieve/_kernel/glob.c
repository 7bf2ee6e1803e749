#include "glob.h"

#include <stdlib.h>
#include <string.h>

/* What a pattern is made of, escapes resolved. */
typedef struct {
    uint8_t bytes[US_GLOB_MOST];
    uint8_t any[US_GLOB_MOST];   /* a `?` */
    size_t length;               /* elements but `*` */
    size_t first_star;           /* elements before the first `*` */
    size_t stars, marks;         /* runs of `*`; `?` */
    uint8_t star_behind[US_GLOB_MOST + 1];
} us_elements;

static enum us_glob_status read_pattern(us_elements *found, const uint8_t *pattern, size_t length) {
    memset(found, 0, sizeof *found);
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] == '*') {
            if (found->stars == 0) found->first_star = found->length;
            if (!found->star_behind[found->length]) found->stars++;
            found->star_behind[found->length] = 1;
            continue;
        }
        if (found->length == US_GLOB_MOST) return US_GLOB_TOO_LONG;
        if (pattern[i] == '?') {
            found->any[found->length] = 1;
            found->marks++;
        } else if (pattern[i] == '\\' && i + 1 < length) {
            i++;
        }
        found->bytes[found->length++] = pattern[i];
    }
    return US_GLOB_OK;
}

static enum us_glob_status automaton(us_glob *glob, const us_elements *found) {
    if (found->length > US_GLOB_STATES) return US_GLOB_TOO_LONG;
    glob->follow = calloc(256, sizeof *glob->follow);
    if (glob->follow == NULL) return US_GLOB_MEMORY;
    glob->states = (uint8_t)(found->length + 1);
    for (size_t i = 0; i < found->length; i++) {
        const uint64_t bit = UINT64_C(1) << (i + 1);
        if (!found->any[i]) glob->follow[found->bytes[i]] |= bit;
        for (size_t byte = 0; found->any[i] && byte < 256; byte++) glob->follow[byte] |= bit;
    }
    for (size_t i = 0; i <= found->length; i++) {
        if (found->star_behind[i]) glob->stars |= UINT64_C(1) << i;
    }
    return US_GLOB_OK;
}

enum us_glob_status us_glob_new(us_glob *glob, const uint8_t *pattern, size_t length) {
    us_elements found;
    memset(glob, 0, sizeof *glob);
    const enum us_glob_status status = read_pattern(&found, pattern, length);
    if (status != US_GLOB_OK) return status;
    if (found.stars > 1 || found.marks > 0) return automaton(glob, &found);
    glob->head = malloc(found.length + 1);
    if (glob->head == NULL) return US_GLOB_MEMORY;
    memcpy(glob->head, found.bytes, found.length);
    glob->starred = found.stars > 0;
    glob->head_length = (uint16_t)(glob->starred ? found.first_star : found.length);
    glob->tail_length = (uint16_t)(found.length - glob->head_length);
    return US_GLOB_OK;
}

void us_glob_free(us_glob *glob) {
    free(glob->head);
    free(glob->follow);
    memset(glob, 0, sizeof *glob);
}

int us_glob_begins(const us_glob *glob, uint8_t byte) {
    if (glob->states != 0) return (glob->stars & 1) || (glob->follow[byte] >> 1 & 1);
    if (glob->head_length > 0) return glob->head[0] == byte;
    return glob->starred;
}

int us_glob_matches(const us_glob *glob, const uint8_t *text, size_t length) {
    if (glob->states == 0) {
        const size_t least = (size_t)glob->head_length + glob->tail_length;
        if (glob->starred ? length < least : length != least) return 0;
        return memcmp(text, glob->head, glob->head_length) == 0 &&
               memcmp(text + length - glob->tail_length, glob->head + glob->head_length, glob->tail_length) == 0;
    }
    uint64_t state = 1;   /* bit i: the first i elements are matched */
    for (size_t i = 0; i < length && state != 0; i++) state = (state << 1 & glob->follow[text[i]]) | (state & glob->stars);
    return (int)(state >> (glob->states - 1) & 1);
}
