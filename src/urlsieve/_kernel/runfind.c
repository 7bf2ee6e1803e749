/* Looking keys up in a run: a window of keys at a time, so that the waits for memory of all of them pass together; and many keys in the
order of the file as long as parts of it were never touched, so that a disk is walked and not jumped about on (measured on a cold file: a
third to a half of the time; in memory the sorting costs more than it saves). */
#include <stdlib.h>

#include "run.h"

enum { WINDOW = 16, CHUNK = 16384, SORT_FROM = 128, FEW_KEYS = 64 };

/* A key on its way: its block, then the stretch of its site there, then the place its URL half should have. */
typedef struct {
    size_t number;
    us_block block;
    us_stretch stretch;
    uint64_t wanted;   /* the URL half, or its low part */
    uint32_t high;
    uint32_t bit;      /* of a long stretch: where the keys with this upper part should begin, then where they do */
    uint32_t guess;    /* and which key that is, or should be */
    int is_here;       /* it may be */
} search;

static void locate(const us_runfile *run, const us_record *key, search *s) {
    s->number = us_run_locate(run, key);
    const uint8_t *bytes = run->data + US_RUN_HEADER;
    const uint64_t offset = us_load64(run->index + US_RUN_ENTRY * s->number + 16);
    if (offset < run->index_offset) bytes = run->data + offset;
    __builtin_prefetch(bytes);
    __builtin_prefetch(bytes + 64);
}

/* The last of the sites that is not after the key's, whose half less the block's first one that is: no branch, as in the index. */
static uint32_t site_of(const us_block *block, uint64_t rest) {
    const uint64_t mask = us_mask(8 * block->site_bytes);
    uint32_t low = 0;
    for (uint32_t count = block->site_count; count > 1;) {
        const uint32_t half = count / 2;
        low += (us_load64(block->sites + (size_t)block->site_bytes * (low + half)) & mask) <= rest ? half : 0;
        count -= half;
    }
    return low;
}

static void prefetch_key(const us_stretch *s, uint32_t key) {
    __builtin_prefetch(s->urls + (s->url_bit + (size_t)s->url_step * key) / 8);
    if (s->upper == NULL) __builtin_prefetch(s->codes + (s->code_bit + (size_t)s->code_step * key) / 8);
}

static uint64_t short_url(const us_stretch *s, uint32_t key) { return us_bits64(s->urls, s->url_bit + (size_t)s->url_step * key); }

static void enter_short(search *s) {
    const us_stretch *stretch = &s->stretch;
    s->is_here = 1;
    s->guess = 0;
    if (stretch->keys > FEW_KEYS) {
        const uint64_t least = short_url(stretch, 0), most = short_url(stretch, stretch->keys - 1);
        s->is_here = s->wanted >= least && s->wanted <= most;
        /* URL halves are uniform: the share of the range is the share of the keys, give or take a root of their number */
        const double share = s->is_here && most > least ? (double)(s->wanted - least) / (double)(most - least) : 0.0;
        const uint32_t step = (uint32_t)(share * (double)(stretch->keys - 1));
        s->guess = step < stretch->keys ? step : stretch->keys - 1;
    }
    prefetch_key(stretch, s->guess);
}

static void enter_long(search *s) {
    const us_stretch *stretch = &s->stretch;
    const uint64_t rest = s->wanted - stretch->first, high = rest >> stretch->low;
    if (s->wanted < stretch->first || high > stretch->zeros) return;
    s->high = (uint32_t)high;
    s->wanted = rest & us_mask(stretch->low);
    s->is_here = 1;
    const size_t about = (size_t)((float)high / (float)(stretch->zeros + 1) * (float)stretch->keys);
    s->bit = (uint32_t)(high + about);
    __builtin_prefetch(stretch->upper + s->bit / 8);
    prefetch_key(stretch, (uint32_t)about);
}

static int enter(const us_record *key, search *s) {
    s->is_here = 0;
    if (key->site < s->block.first_site) return 0;
    const uint32_t site = site_of(&s->block, key->site - s->block.first_site);
    if (us_block_site(&s->block, site) != key->site) return 0;
    if (us_block_stretch(&s->block, site, &s->stretch) != 0) return -1;
    s->wanted = key->url;
    if (s->stretch.upper != NULL) enter_long(s);
    else enter_short(s);
    return 0;
}

/* Zeros before a piece. Wrong ranks make it wrong, and nothing worse. */
static uint32_t zeros_before(const us_stretch *s, uint32_t piece) {
    return US_BLOCK_PIECE * piece - (piece > 0 ? us_load16(s->ranks + 2 * (size_t)(piece - 1)) : 0);
}

/* Where the keys with this upper part begin in the bit string; `about`: a guess. No further than its
end, in blocks that are not sound too. */
static uint32_t part_of(const us_stretch *s, uint32_t high, uint32_t about) {
    if (high == 0) return 0;
    const uint32_t bits = us_string_bits(s), last = (bits - 1) / US_BLOCK_PIECE;
    uint32_t piece = about / US_BLOCK_PIECE < last ? about / US_BLOCK_PIECE : last;
    while (piece > 0 && zeros_before(s, piece) >= high) piece--;
    while (piece < last && zeros_before(s, piece + 1) < high) piece++;
    const uint32_t left = high - 1 - zeros_before(s, piece);   /* of its zeros the one with this number */
    const uint8_t *from = s->upper + US_BLOCK_PIECE / 8 * (size_t)piece;
    uint64_t words[4], sums[4];
    for (int i = 0; i < 4; i++) {
        words[i] = ~us_load64(from + 8 * i);
        sums[i] = us_bit_sums(words[i]);
    }
    const uint32_t first = (uint32_t)(sums[0] >> 56), second = first + (uint32_t)(sums[1] >> 56), third = second + (uint32_t)(sums[2] >> 56);
    const uint32_t word = (left >= first) + (left >= second) + (left >= third);
    const uint32_t before[4] = {0, first, second, third};
    const uint32_t bit = US_BLOCK_PIECE * piece + 64 * word + us_select_bit(words[word], sums[word], (left - before[word]) & 63) + 1;
    return bit < bits ? bit : bits;
}

static void reach(search *s) {
    if (!s->is_here || s->stretch.upper == NULL) return;
    s->bit = part_of(&s->stretch, s->high, s->bit);
    s->guess = s->bit - s->high;
    if (s->guess < s->stretch.keys) prefetch_key(&s->stretch, s->guess);
}

/* The keys with this upper part, one or two, until one is not smaller. */
static uint32_t finish_long(const search *s) {
    const us_stretch *stretch = &s->stretch;
    uint32_t key = s->guess;
    for (uint32_t bit = s->bit; key < stretch->keys && (stretch->upper[bit / 8] >> bit % 8 & 1) != 0; bit++, key++) {
        const uint64_t low = us_stretch_url(stretch, key);
        if (low == s->wanted) return key;
        if (low > s->wanted || bit + 1 >= stretch->keys + stretch->zeros) break;
    }
    return stretch->keys;
}

/* The first key not smaller: from the guess in doubling steps until it is between two, then by halves. A bad guess costs a logarithm. */
static uint32_t finish_short(const search *s) {
    const us_stretch *stretch = &s->stretch;
    if (stretch->keys <= FEW_KEYS) {   /* no branch */
        uint32_t key = 0;
        for (uint32_t count = stretch->keys; count > 1;) {
            const uint32_t half = count / 2;
            key += short_url(stretch, key + half) <= s->wanted ? half : 0;
            count -= half;
        }
        return short_url(stretch, key) == s->wanted ? key : stretch->keys;
    }
    uint32_t low = s->guess, high = s->guess, step = 1;
    if (short_url(stretch, s->guess) < s->wanted) {
        while (high < stretch->keys && short_url(stretch, high) < s->wanted) {
            low = high + 1;
            high = step < stretch->keys - high ? high + step : stretch->keys;
            step *= 2;
        }
    } else {
        while (low > 0 && short_url(stretch, low - 1) >= s->wanted) {
            high = low - 1;
            low = step < low ? low - step : 0;
            step *= 2;
        }
    }
    for (uint32_t count = high - low; count > 0;) {
        const uint32_t half = count / 2;
        const int smaller = short_url(stretch, low + half) < s->wanted;
        low += smaller ? half + 1 : 0;
        count = smaller ? count - half - 1 : half;
    }
    return low < stretch->keys && short_url(stretch, low) == s->wanted ? low : stretch->keys;
}

static int find_window(us_runfile *run, const us_record *keys, size_t count, uint8_t *values, us_found *found) {
    search searches[WINDOW];
    for (size_t i = 0; i < count; i++) locate(run, &keys[i], &searches[i]);
    for (size_t i = 0; i < count; i++) {
        if (us_run_block(run, searches[i].number, 0, &searches[i].block) != 0 || enter(&keys[i], &searches[i]) != 0) {
            found->damaged = searches[i].number;
            return -1;
        }
    }
    for (size_t i = 0; i < count; i++) reach(&searches[i]);
    for (size_t i = 0; i < count; i++) {
        const search *s = &searches[i];
        if (!s->is_here) continue;
        const uint32_t at = s->stretch.upper != NULL ? finish_long(s) : finish_short(s);
        if (at >= s->stretch.keys) continue;
        us_store64(values + 8 * (size_t)keys[i].value, (uint64_t)us_stretch_value(&s->block, &s->stretch, at));
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
