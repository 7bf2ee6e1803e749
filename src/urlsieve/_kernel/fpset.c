#define _DEFAULT_SOURCE
#include "fpset.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "siphash.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

enum { MAPPED_FROM = 65536, AHEAD = 12, SMALLEST = 8 };

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

static us_slot *allocate(size_t bytes) {
    if (bytes < MAPPED_FROM) return calloc(1, bytes);
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

static size_t bytes_of(const us_segment *segment) { return (segment->home + segment->tail) * sizeof(us_slot); }

void us_fpset_init(us_fpset *set) { memset(set, 0, sizeof *set); }

void us_fpset_free(us_fpset *set) {
    for (size_t i = 0; i < US_FPSET_SEGMENTS; i++) {
        if (set->segments[i].slots != NULL) release(set->segments[i].slots, bytes_of(&set->segments[i]));
    }
    us_fpset_init(set);
}

/* Moves all keys of `old` into the empty `fresh`; 0 if the tail is too short for them. Sequential in both: the order is the same. */
static int refill(const us_segment *old, us_segment *fresh) {
    const size_t end = old->home + old->tail, fresh_end = fresh->home + fresh->tail;
    size_t next = 0;
    for (size_t i = 0; i < end; i++) {
        if (is_free(&old->slots[i])) continue;
        const size_t wanted = place(fresh, old->slots[i].order);
        const size_t at = wanted > next ? wanted : next;
        if (at >= fresh_end) return 0;
        fresh->slots[at] = old->slots[i];
        next = at + 1;
    }
    fresh->used = old->used;
    return 1;
}

static int grow(us_fpset *set, us_segment *segment) {
    us_segment fresh = *segment;
    const size_t before = segment->slots != NULL ? bytes_of(segment) : 0;
    for (;;) {
        fresh.home = fresh.home < SMALLEST ? SMALLEST : fresh.home + fresh.home / 5 + 1;
        fresh.tail = fresh.home / 8 < 128 ? 4 + fresh.home / 8 : 128;
        if (fresh.home > SIZE_MAX / (4 * sizeof(us_slot))) return -1;
        fresh.slots = allocate(bytes_of(&fresh));
        if (fresh.slots == NULL) return -1;
        if (set->bytes + bytes_of(&fresh) > set->peak) set->peak = set->bytes + bytes_of(&fresh);
        if (refill(segment, &fresh)) break;
        release(fresh.slots, bytes_of(&fresh));
    }
    if (segment->slots != NULL) release(segment->slots, before);
    set->bytes += bytes_of(&fresh) - before;
    *segment = fresh;
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
        if (segment->used + 1 <= segment->home - segment->home / 10) {
            while (gap < end && !is_free(&segment->slots[gap])) gap++;
        } else {
            gap = end;
        }
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
    if (segment->slots != NULL) __builtin_prefetch(&segment->slots[place(segment, key->order)]);
}

int us_fpset_add(us_fpset *set, const uint8_t *fingerprints, const uint8_t *status, size_t count, uint8_t *flags, size_t *done) {
    us_slot ahead[AHEAD];
    for (size_t i = 0; i < count + AHEAD; i++) {
        if (i >= AHEAD) {
            const size_t now = i - AHEAD;
            const us_slot key = ahead[now % AHEAD];
            if (status != NULL && status[now] != 0) {
                flags[now] = 2;
            } else {
                const int fresh = add(set, &key);
                if (fresh < 0) return -1;
                flags[now] = (uint8_t)fresh;
            }
            *done = now + 1;
        }
        if (i < count) {
            ahead[i % AHEAD] = mixed(fingerprints + 16 * i);
            prefetch(set, &ahead[i % AHEAD]);
        }
    }
    return 0;
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
