/* Looking keys up in a run: a window of keys at a time, so that the waits for memory of all of them pass together; and many keys in the
order of the file as long as parts of it were never touched, so that a disk is walked and not jumped about on (measured on a cold file: a
third to a half of the time; in memory the sorting costs more than it saves). */
#include <stdlib.h>

#include "run.h"

enum { WINDOW = 16, CHUNK = 16384, SORT_FROM = 128 };

/* A key on its way: its block, then the stretch of its site there, then the place its URL half should have. */
typedef struct {
    size_t number;
    us_block block;
    uint32_t low;    /* keys [low, high) are the site's; none: it is not here */
    uint32_t high;
    uint32_t guess;
} search;

static uint64_t url_at(const us_block *block, uint32_t key) { return us_load64(block->urls + 8 * (size_t)key); }

static void locate(const us_runfile *run, const us_record *key, search *s) {
    s->number = us_run_locate(run, key);
    const uint8_t *bytes = run->data + US_RUN_HEADER;
    const uint64_t offset = us_load64(run->index + US_RUN_ENTRY * s->number + 16);
    if (offset < run->index_offset) bytes = run->data + offset;
    __builtin_prefetch(bytes);
}

/* The last of the sites that is not after the key's: no branch, as in the index. */
static uint32_t site_of(const us_block *block, uint64_t site) {
    uint32_t low = 0;
    for (uint32_t count = block->site_count; count > 1;) {
        const uint32_t half = count / 2;
        low += us_load64(block->sites + 8 * (size_t)(low + half)) <= site ? half : 0;
        count -= half;
    }
    return low;
}

static void enter(const us_record *key, search *s) {
    const us_block *block = &s->block;
    const uint32_t site = site_of(block, key->site);
    s->low = s->high = 0;
    if (us_load64(block->sites + 8 * (size_t)site) != key->site) return;
    const uint32_t low = us_load16(block->starts + 2 * (size_t)site), high = us_block_end(block, site);
    if (low >= high) return;
    const uint64_t least = url_at(block, low), most = url_at(block, high - 1);
    if (key->url < least || key->url > most) return;
    /* URL halves are uniform: the share of the range is the share of the keys, give or take a root of their number */
    const double share = most > least ? (double)(key->url - least) / (double)(most - least) : 0.0;
    const uint32_t step = (uint32_t)(share * (double)(high - 1 - low));
    s->low = low;
    s->high = high;
    s->guess = step < high - low ? low + step : high - 1;
    __builtin_prefetch(block->urls + 8 * (size_t)s->guess);
    __builtin_prefetch(block->codes + block->width * (size_t)s->guess);
}

/* The first key not smaller: from the guess in doubling steps until it is between two, then by halves. A bad guess costs a logarithm. */
static uint32_t finish(const search *s, uint64_t url) {
    const us_block *block = &s->block;
    uint32_t low = s->guess, high = s->guess, step = 1;
    if (url_at(block, s->guess) < url) {
        while (high < s->high && url_at(block, high) < url) {
            low = high + 1;
            high = step < s->high - high ? high + step : s->high;
            step *= 2;
        }
    } else {
        while (low > s->low && url_at(block, low - 1) >= url) {
            high = low - 1;
            low = step < low - s->low ? low - step : s->low;
            step *= 2;
        }
    }
    for (uint32_t count = high - low; count > 0;) {
        const uint32_t half = count / 2;
        const int smaller = url_at(block, low + half) < url;
        low += smaller ? half + 1 : 0;
        count = smaller ? count - half - 1 : half;
    }
    return low;
}

static int find_window(us_runfile *run, const us_record *keys, size_t count, uint8_t *values, us_found *found) {
    search searches[WINDOW];
    for (size_t i = 0; i < count; i++) locate(run, &keys[i], &searches[i]);
    for (size_t i = 0; i < count; i++) {
        if (us_run_block(run, searches[i].number, 0, &searches[i].block) != 0) {
            found->damaged = searches[i].number;
            return -1;
        }
        enter(&keys[i], &searches[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const search *s = &searches[i];
        if (s->low == s->high) continue;
        const uint32_t at = finish(s, keys[i].url);
        if (at >= s->high || url_at(&s->block, at) != keys[i].url) continue;
        us_store64(values + 8 * (size_t)keys[i].value, (uint64_t)us_block_value(&s->block, at));
        found->filled++;
    }
    return 0;
}

/* Those still without a value that may be here; their numbers stand as their values. */
static size_t wanted_of(const us_runfile *run, const uint8_t *fingerprints, size_t count, const uint8_t *values, us_record *wanted) {
    const us_record first = us_run_first(run, 0);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        us_record key = us_load_fingerprint(fingerprints + US_FINGERPRINT * i);
        key.value = (int64_t)i;
        wanted[used] = key;
        const int here = !us_before(&key, &first) & !us_before(&run->last, &key);
        used += (size_t)(here & (us_signed(us_load64(values + 8 * i)) == US_ABSENT));
    }
    return used;
}

int us_run_find(us_runfile *run, const uint8_t *fingerprints, size_t count, uint8_t *values, us_found *found) {
    *found = (us_found){0, 0};
    if (run->blocks == 0 || count == 0) return 0;
    const size_t chunk = count < CHUNK ? count : CHUNK;
    us_record *wanted = malloc(2 * chunk * sizeof *wanted);
    if (wanted == NULL) return -2;
    int failed = 0;
    for (size_t start = 0; start < count && !failed; start += chunk) {
        const size_t some = count - start < chunk ? count - start : chunk;
        uint8_t *to = values + 8 * start;
        const size_t used = wanted_of(run, fingerprints + US_FINGERPRINT * start, some, to, wanted);
        const int is_cold = atomic_load_explicit(&run->unverified, memory_order_relaxed) > 0;
        const us_record *keys = is_cold && used >= SORT_FROM ? us_sort_records(wanted, wanted + chunk, used) : wanted;
        for (size_t i = 0; i < used && !failed; i += WINDOW) {
            failed = find_window(run, keys + i, used - i < WINDOW ? used - i : WINDOW, to, found);
        }
    }
    free(wanted);
    return failed;
}
