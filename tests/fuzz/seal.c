#include "harness.h"
#include "run.h"

void us_seal(uint8_t *file, size_t size, size_t blocks, size_t index, uint64_t owner) {
    for (size_t i = 0; i < blocks; i++) {
        uint8_t *entry = file + index + US_RUN_ENTRY * i;
        const uint64_t start = us_load64(entry + 16), end = i + 1 < blocks ? us_load64(entry + US_RUN_ENTRY + 16) : index;
        if (start > index || end > index || end < start + 8) continue;
        us_store64(file + start, us_checksum(owner, i, file + start + 8, (size_t)(end - start - 8)));
        us_store64(entry + 24, us_load64(file + start));
    }
    uint8_t *footer = file + size - US_RUN_FOOTER;
    us_store64(file + 56, us_checksum(us_load64(file + 16), US_PART_HEADER, file, 56));
    us_store64(footer + 56, us_checksum(owner, US_PART_INDEX, file + index, blocks * US_RUN_ENTRY));
    us_store64(footer + 88, us_checksum(owner, US_PART_FOOTER, footer, 88));
}
