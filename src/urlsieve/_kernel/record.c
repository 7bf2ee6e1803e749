#include "record.h"

static void insertion_sort(us_record *records, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const us_record moved = records[i];
        size_t j = i;
        for (; j > 0 && us_before(&moved, &records[j - 1]); j--) records[j] = records[j - 1];
        records[j] = moved;
    }
}

static void merge(const us_record *left, const us_record *middle, const us_record *end, us_record *to) {
    const us_record *right = middle;
    while (left < middle && right < end) {
        const int take_right = us_before(right, left);
        *to++ = *(take_right ? right : left);
        right += take_right;
        left += !take_right;
    }
    const size_t rest = (size_t)(middle - left);
    memcpy(to, left, rest * sizeof *to);
    memcpy(to + rest, right, (size_t)(end - right) * sizeof *to);
}

us_record *us_sort_records(us_record *records, us_record *spare, size_t count) {
    enum { SHORT = 8 };
    for (size_t i = 0; i < count; i += SHORT) insertion_sort(records + i, count - i < SHORT ? count - i : SHORT);
    for (size_t width = SHORT; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            const size_t middle = count - low < width ? count : low + width;
            const size_t high = count - low < 2 * width ? count : low + 2 * width;
            merge(records + low, records + middle, records + high, spare + low);
        }
        us_record *swap = records;
        records = spare;
        spare = swap;
    }
    return records;
}
