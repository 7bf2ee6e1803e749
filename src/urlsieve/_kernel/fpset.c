#define _GNU_SOURCE   /* mremap, where there is one */
#include "fpset.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "siphash.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

enum { MAPPED_FROM = 65536, AHEAD = 16, SMALLEST = 8, SORT_FROM = 1024, SORT_MOST = 16384, SORT_BITS = 11 };

/* A bijection for each `rest`, so that the pair (order, rest) says exactly which key it was; equal URL halves of different sites part. */
static us_slot mixed(const uint8_t *fingerprint) {
    us_slot slot;
    slot.rest = us_load64(fingerprint);
    uint64_t x = us_load64(fingerprint + 8) ^ slot.rest * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    slot.order = x ^ x >> 33;
    return slot;
}

static size_t segment_of(uint64_t order) { return (size_t)(order >> 58); }

/* The share of the segment's key range, rounded down to a slot: monotonous in `order`. */
static size_t place(const us_segment *segment, uint64_t order) {
#ifdef __SIZEOF_INT128__
    return (size_t)((unsigned __int128)(order << 6) * segment->home >> 64);
#else
    const uint64_t high = (order << 6) >> 32;
    return (size_t)(high * segment->home >> 32);
#endif
}

static int is_free(const us_slot *slot) { return (slot->order | slot->rest) == 0; }

static us_slot *map(size_t bytes) {
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapping == MAP_FAILED ? NULL : mapping;
}

static void release(us_slot *slots, size_t bytes) {
    if (bytes < MAPPED_FROM) {
        free(slots);
    } else {
        munmap(slots, bytes);
    }
}

/* The same slots with room for more; what is behind them is not set. NULL: no memory, and nothing has changed. *twice: the bytes that were
there two times meanwhile. Mappings, not the heap, from a size on: only they really go back. */
static us_slot *lengthen(us_slot *slots, size_t before, size_t bytes, size_t *twice) {
    *twice = 0;
    if (bytes < MAPPED_FROM) return realloc(slots, bytes);
#ifdef MREMAP_MAYMOVE
    if (before >= MAPPED_FROM) {
        void *moved = mremap(slots, before, bytes, MREMAP_MAYMOVE);
        return moved == MAP_FAILED ? NULL : moved;
    }
#endif
    us_slot *longer = map(bytes);
    if (longer == NULL) return NULL;
    if (before > 0) {
        memcpy(longer, slots, before);
        release(slots, before);
    }
    *twice = before;
    return longer;
}

static size_t bytes_of(const us_segment *segment) { return (segment->home + segment->tail) * sizeof(us_slot); }

static int is_full(const us_segment *segment) { return segment->used >= segment->home - segment->home * 18 / 100; }

void us_fpset_init(us_fpset *set) { memset(set, 0, sizeof *set); }

void us_fpset_free(us_fpset *set) {
    for (size_t i = 0; i < US_FPSET_SEGMENTS; i++) {
        if (set->segments[i].slots != NULL) release(set->segments[i].slots, bytes_of(&set->segments[i]));
    }
    us_fpset_init(set);
}

/* Moves all keys, in order, to the end of the array; where the first now stands. What is before it is not set. */
static size_t gather(us_segment *segment, size_t old_end) {
    size_t to = segment->home + segment->tail;
    for (size_t i = old_end; i-- > 0;) {
        const us_slot key = segment->slots[i];
        segment->slots[to - 1] = key;   /* never before slot i: at worst onto itself */
        to -= !is_free(&key);
    }
    return to;
}

/* Puts the keys, gathered from `from` on, to their places. A place is never behind where its key is now, unless the tail is too short
for the last ones: then they stay gathered at the end, which is in order too, and the answer is 0. */
static int spread(us_segment *segment, size_t from) {
    const size_t end = segment->home + segment->tail;
    const us_slot none = {0, 0};
    size_t next = 0;   /* never behind `from` */
    for (; from < end; from++) {
        const us_slot key = segment->slots[from];
        const size_t wanted = place(segment, key.order);
        if (wanted > from) {
            memset(&segment->slots[next], 0, (from - next) * sizeof(us_slot));
            return 0;
        }
        while (next < wanted) segment->slots[next++] = none;
        segment->slots[next++] = key;
    }
    memset(&segment->slots[next], 0, (end - next) * sizeof(us_slot));
    return 1;
}

/* Room for one more where the array is too full, a longer tail where keys have piled up at its end (only chosen keys do). */
static int grow(us_fpset *set, us_segment *segment) {
    int fits = 0, longer_tail = !is_full(segment);
    while (!fits) {
        us_segment longer = *segment;
        size_t twice = 0;
        const size_t before = bytes_of(segment), old_end = segment->home + segment->tail;
        if (longer_tail) {
            longer.tail += longer.tail / 2 + 8;
        } else {
            longer.home = segment->home < SMALLEST ? SMALLEST : segment->home + segment->home * 9 / 50 + 1;
            const size_t tail = longer.home / 8 < 128 ? 4 + longer.home / 8 : 128;
            if (longer.tail < tail) longer.tail = tail;
        }
        if (longer.home > SIZE_MAX / (8 * sizeof(us_slot)) || longer.tail > SIZE_MAX / (8 * sizeof(us_slot))) return -1;
        longer.slots = lengthen(segment->slots, before, bytes_of(&longer), &twice);
        if (longer.slots == NULL) return -1;
        *segment = longer;
        set->bytes += bytes_of(segment) - before;
        if (set->bytes + twice > set->peak) set->peak = set->bytes + twice;
        fits = spread(segment, gather(segment, old_end));
        longer_tail = 1;
    }
    return 0;
}

/* The first slot whose key is not smaller, or is free; the end of the segment if there is none. */
static size_t find(const us_segment *segment, const us_slot *key, int *known) {
    const size_t end = segment->home + segment->tail;
    size_t at = place(segment, key->order);
    *known = 0;
    for (; at < end; at++) {
        const us_slot *slot = &segment->slots[at];
        if (is_free(slot) || slot->order > key->order) return at;
        if (slot->order == key->order && slot->rest == key->rest) {
            *known = 1;
            return at;
        }
    }
    return at;
}

/* 1 new, 0 known, -1 no memory. */
static int add(us_fpset *set, const us_slot *key) {
    if (is_free(key)) {
        const int fresh = !set->has_zero;
        set->has_zero = 1;
        set->count += (size_t)fresh;
        return fresh;
    }
    us_segment *segment = &set->segments[segment_of(key->order)];
    for (;;) {
        int known = 0;
        const size_t at = find(segment, key, &known);
        if (known) return 0;
        const size_t end = segment->home + segment->tail;
        size_t gap = at;
        if (is_full(segment)) gap = end;
        while (gap < end && !is_free(&segment->slots[gap])) gap++;
        if (gap < end) {
            memmove(&segment->slots[at + 1], &segment->slots[at], (gap - at) * sizeof(us_slot));
            segment->slots[at] = *key;
            segment->used++;
            set->count++;
            return 1;
        }
        if (grow(set, segment) != 0) return -1;
    }
}

static void prefetch(const us_fpset *set, const us_slot *key) {
    const us_segment *segment = &set->segments[segment_of(key->order)];
    if (segment->slots == NULL) return;
    const us_slot *slot = &segment->slots[place(segment, key->order)];
    __builtin_prefetch(slot, 1);
    __builtin_prefetch(slot + 4, 1);   /* within the tail at least */
}

/* A few keys as they come. */
static int add_few(us_fpset *set, const uint8_t *fingerprints, const uint8_t *status, size_t count, uint8_t *flags) {
    us_slot ahead[AHEAD];
    for (size_t i = 0; i < count + AHEAD; i++) {
        if (i >= AHEAD) {
            const size_t now = i - AHEAD;
            const int fresh = status != NULL && status[now] != 0 ? 2 : add(set, &ahead[now % AHEAD]);
            if (fresh < 0) return -1;
            flags[now] = (uint8_t)fresh;
        }
        if (i < count) {
            ahead[i % AHEAD] = mixed(fingerprints + 16 * i);
            prefetch(set, &ahead[i % AHEAD]);
        }
    }
    return 0;
}

typedef struct {
    us_slot key[SORT_MOST];
    uint32_t number[SORT_MOST];              /* which of the batch it is */
    uint32_t start[(1 << SORT_BITS) + 1];
} sorting;

/* Many keys, by the top bits of their order; equal ones stay in the order they came in. */
static int add_sorted(us_fpset *set, sorting *sort, const uint8_t *fingerprints, const uint8_t *status, size_t count, uint8_t *flags) {
    memset(sort->start, 0, sizeof sort->start);
    for (size_t i = 0; i < count; i++) sort->start[(mixed(fingerprints + 16 * i).order >> (64 - SORT_BITS)) + 1]++;
    for (size_t i = 1; i <= 1 << SORT_BITS; i++) sort->start[i] += sort->start[i - 1];
    for (size_t i = 0; i < count; i++) {
        const us_slot key = mixed(fingerprints + 16 * i);
        const uint32_t at = sort->start[key.order >> (64 - SORT_BITS)]++;
        sort->key[at] = key;
        sort->number[at] = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) prefetch(set, &sort->key[i + AHEAD]);
        const uint32_t number = sort->number[i];
        const int fresh = status != NULL && status[number] != 0 ? 2 : add(set, &sort->key[i]);
        if (fresh < 0) return -1;
        flags[number] = (uint8_t)fresh;
    }
    return 0;
}

int us_fpset_add(us_fpset *set, const uint8_t *fingerprints, const uint8_t *status, size_t count, uint8_t *flags) {
    sorting *sort = count >= SORT_FROM ? malloc(sizeof *sort) : NULL;
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i += SORT_MOST) {
        const size_t some = count - i < SORT_MOST ? count - i : SORT_MOST;
        const uint8_t *codes = status != NULL ? status + i : NULL;
        failed = sort != NULL ? add_sorted(set, sort, fingerprints + 16 * i, codes, some, flags + i)
                              : add_few(set, fingerprints + 16 * i, codes, some, flags + i);
    }
    free(sort);
    return failed;
}

void us_fpset_contains(const us_fpset *set, const uint8_t *fingerprints, size_t count, uint8_t *flags) {
    us_slot ahead[AHEAD];
    for (size_t i = 0; i < count + AHEAD; i++) {
        if (i >= AHEAD) {
            const us_slot *key = &ahead[(i - AHEAD) % AHEAD];
            const us_segment *segment = &set->segments[segment_of(key->order)];
            int known = 0;
            if (is_free(key)) {
                known = set->has_zero;
            } else if (segment->slots != NULL) {
                (void)find(segment, key, &known);
            }
            flags[i - AHEAD] = (uint8_t)known;
        }
        if (i < count) {
            ahead[i % AHEAD] = mixed(fingerprints + 16 * i);
            prefetch(set, &ahead[i % AHEAD]);
        }
    }
}
