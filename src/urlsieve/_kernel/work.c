#include "work.h"

#include <stdlib.h>
#include <string.h>

void us_work_init(us_work *work) { memset(work, 0, sizeof *work); }

void us_work_free(us_work *work) {
    free(work->text);
    free(work->spare);
    free(work->joined);
    free(work->site);
    free(work->saved);
    free(work->machine);
    free(work->pieces);
    free(work->sorted);
    us_work_init(work);
}

/* Half as much again, so that appending a million keys copies each a few times only. */
static int grow(uint8_t **data, size_t *room, size_t wanted) {
    if (wanted <= *room) return 0;
    size_t size = *room + *room / 2;
    if (size < wanted) size = wanted;
    uint8_t *bigger = realloc(*data, size);
    if (bigger == NULL) return -1;
    *data = bigger;
    *room = size;
    return 0;
}

int us_work_grow(us_work *work, size_t more) {
    if (more > SIZE_MAX / 4 - work->used) return -1;
    return grow(&work->text, &work->room, work->used + more);
}

int us_work_spare(us_work *work, size_t size) { return grow(&work->spare, &work->spare_room, size); }

int us_work_joined(us_work *work, size_t size) { return grow(&work->joined, &work->joined_room, size); }

int us_work_site(us_work *work, size_t size) { return grow(&work->site, &work->site_room, size); }

int us_work_saved(us_work *work, size_t size) { return grow(&work->saved, &work->saved_room, size); }

int us_work_machine(us_work *work, size_t size) { return grow(&work->machine, &work->machine_room, size); }

int us_work_pieces(us_work *work, size_t count) {
    if (count <= work->piece_room) return 0;
    size_t room = work->piece_room < 32 ? 32 : work->piece_room * 2;
    if (room < count) room = count;
    if (room > SIZE_MAX / (2 * sizeof(us_piece))) return -1;
    us_piece *pieces = realloc(work->pieces, room * sizeof(us_piece));
    if (pieces == NULL) return -1;
    work->pieces = pieces;
    us_piece *sorted = realloc(work->sorted, room * sizeof(us_piece));
    if (sorted == NULL) return -1;
    work->sorted = sorted;
    work->piece_room = room;
    return 0;
}

int us_compare_names(const uint8_t *base, const us_piece *a, const us_piece *b) {
    const uint32_t common = a->name < b->name ? a->name : b->name;
    const int order = memcmp(base + a->start, base + b->start, common);
    if (order != 0) return order;
    return a->name < b->name ? -1 : a->name > b->name;
}

static inline void insertion_sort(us_piece *pieces, size_t count, const uint8_t *base, us_compare *compare) {
    for (size_t i = 1; i < count; i++) {
        const us_piece moved = pieces[i];
        size_t j = i;
        while (j > 0 && compare(base, &pieces[j - 1], &moved) > 0) {
            pieces[j] = pieces[j - 1];
            j--;
        }
        pieces[j] = moved;
    }
}

static inline void merge(const us_piece *from, us_piece *to, size_t low, size_t middle, size_t high, const uint8_t *base,
                         us_compare *compare) {
    size_t left = low, right = middle;
    for (size_t k = low; k < high; k++) {
        if (left < middle && (right >= high || compare(base, &from[left], &from[right]) <= 0)) {
            to[k] = from[left++];
        } else {
            to[k] = from[right++];
        }
    }
}

static inline void sort_pieces(us_work *work, size_t count, const uint8_t *base, us_compare *compare) {
    enum { RUN = 16 };
    for (size_t i = 0; i < count; i += RUN) insertion_sort(work->pieces + i, count - i < RUN ? count - i : RUN, base, compare);
    /* A hostile query has tens of thousands of pieces: bottom-up merging keeps that n log n. */
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            const size_t middle = count - low < width ? count : low + width;
            const size_t high = count - low < 2 * width ? count : low + 2 * width;
            merge(work->pieces, work->sorted, low, middle, high, base, compare);
        }
        us_piece *swap = work->pieces;
        work->pieces = work->sorted;
        work->sorted = swap;
    }
}

void us_sort_pieces(us_work *work, size_t count, const uint8_t *base) { sort_pieces(work, count, base, us_compare_names); }

void us_sort_pieces_by(us_work *work, size_t count, const uint8_t *base, us_compare *compare) { sort_pieces(work, count, base, compare); }
