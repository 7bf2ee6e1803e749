/* The table: building it and asking it. */
#include "rules.h"

#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "siphash.h"

/* All bytes of a host, eight at a time and none waiting for another. The table's hosts are the operator's: nobody else can make its chains
long. */
static inline uint64_t hash_host(const uint8_t *host, size_t length) {
    uint64_t hash = length * UINT64_C(0x9e3779b97f4a7c15), tail = 0;
    if (length >= 8) {
        for (size_t i = 0; i + 8 < length; i += 8) hash += (us_load64(host + i) ^ i) * UINT64_C(0xbf58476d1ce4e5b9) >> (i & 31);
        tail = us_load64(host + length - 8);
    } else {
        for (size_t i = 0; i < length; i++) tail = tail << 8 | host[i];
    }
    hash = (hash ^ tail) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 32;
}

static inline int same(const uint8_t *a, const uint8_t *b, size_t length) {
    if (length < 8) return memcmp(a, b, length) == 0;
    uint64_t different = us_load64(a + length - 8) ^ us_load64(b + length - 8);
    for (size_t i = 0; i + 8 < length; i += 8) different |= us_load64(a + i) ^ us_load64(b + i);
    return different == 0;
}

static inline const us_rule_site *find_site(const us_rules *rules, const uint8_t *host, size_t length) {
    const uint64_t hash = hash_host(host, length);
    for (uint32_t at = (uint32_t)hash & rules->mask; rules->slots[at] != 0; at = (at + 1) & rules->mask) {
        if (rules->slots[at] >> 16 != hash >> 48) continue;
        const us_rule_site *site = &rules->sites[(rules->slots[at] & 0xffff) - 1];
        if (site->length == length && same(us_site_host(site), host, length)) return site;
    }
    return NULL;
}

static inline const us_rule *first_of(const us_rules *rules, const us_rule_site *site, int exact, const uint8_t *path, size_t path_length) {
    for (uint32_t i = 0; i < site->count; i++) {
        const us_rule *rule = &rules->rules[site->first + i];
        if ((rule->flags & US_RULE_EXACT) && !exact) continue;
        if (!(rule->flags & US_RULE_PATH) || us_glob_matches(&rule->path, path, path_length)) return rule;
    }
    return NULL;
}

static inline const us_rule *ask(const us_rules *rules, const uint8_t *host, size_t length, int exact, const uint8_t *path, size_t path_length) {
    if (!us_in_filter(rules, host, length)) return NULL;
    const us_rule_site *site = find_site(rules, host, length);
    return site == NULL ? NULL : first_of(rules, site, exact, path, path_length);
}

const us_rule *us_find_rule(const us_rules *rules, const uint8_t *host, size_t length, const uint8_t *path, size_t path_length) {
    if (rules->any != NULL || rules->site_count == 0) return rules->any;
    const us_rule *rule = ask(rules, host, length, 1, path, path_length);
    const size_t longest = rules->longest_parent, shortest = rules->shortest_parent;
    /* parents longer than the longest that has a rule for what is below it are none of its; without any there is nothing to look for */
    size_t i = length > longest + 1 ? length - longest - 1 : 0;
    while (rule == NULL && i + shortest < length) {
#ifdef US_SSE2
        uint32_t points = (uint32_t)_mm_movemask_epi8(us_is(us_load16(host + i), '.'));
        for (; rule == NULL && points != 0; points &= points - 1) {
            const size_t at = i + (size_t)__builtin_ctz(points) + 1;
            if (at + shortest > length) break;
            rule = ask(rules, host + at, length - at, 0, path, path_length);
        }
        i += 16;
#else
        if (host[i++] == '.') rule = ask(rules, host + i, length - i, 0, path, path_length);
#endif
    }
    return rule;
}

/* --- building ----------------------------------------------------------------------------------------------------------------------- */

/* Is there a rule of this host that is for what is below it too? */
static int has_parent(const us_rules *rules, const us_rule_site *site) {
    for (uint32_t i = 0; i < site->count; i++) {
        if (!(rules->rules[site->first + i].flags & US_RULE_EXACT)) return 1;
    }
    return 0;
}

int us_rules_index(us_rules *rules) {
    uint32_t slots = 16, filter = 1024;
    rules->filter_shift = 54;
    while (slots < 4 * rules->site_count) slots *= 2;
    for (; filter < 64 * rules->site_count; filter *= 2) rules->filter_shift--;
    rules->slots = calloc(slots, sizeof *rules->slots);
    rules->filter = calloc(filter / 64, sizeof *rules->filter);
    rules->ends = calloc(filter / 64, sizeof *rules->ends);
    if (rules->slots == NULL || rules->filter == NULL || rules->ends == NULL) return -1;
    rules->mask = slots - 1;
    rules->bytes += slots * sizeof *rules->slots + filter / 4;
    rules->shortest_parent = US_NO_PARENT;
    for (size_t i = 0; i < rules->site_count; i++) {
        const us_rule_site *site = &rules->sites[i];
        const uint8_t *host = us_site_host(site);
        const uint64_t hash = hash_host(host, site->length), bit = us_filter_bit(rules, host, site->length);
        uint32_t at = (uint32_t)hash & rules->mask;
        while (rules->slots[at] != 0) at = (at + 1) & rules->mask;
        rules->slots[at] = (uint32_t)(hash >> 48) << 16 | (uint32_t)(i + 1);   /* US_RULES_MOST fits into 16 bits */
        rules->filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
        uint8_t end[8] = {0};
        const size_t bytes = site->length < 8 ? site->length : 8;
        memcpy(end + 8 - bytes, host + site->length - bytes, bytes);
        const uint64_t last = (us_load64(end) >> (64 - 8 * bytes)) * UINT64_C(0x9e3779b97f4a7c15) >> rules->filter_shift;
        rules->ends[last >> 6] |= UINT64_C(1) << (last & 63);
        if (bytes < 8) rules->short_lengths |= UINT32_C(1) << bytes;
        if (!has_parent(rules, site)) continue;
        if (site->length < rules->shortest_parent) rules->shortest_parent = site->length;
        if (site->length > rules->longest_parent) rules->longest_parent = site->length;
    }
    return 0;
}

/* --- asking one rule ---------------------------------------------------------------------------------------------------------------- */

static int compare_site(const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length) {
    if (a_length != b_length) return a_length < b_length ? -1 : 1;
    return memcmp(a, b, a_length);
}

static int compare_moves(const void *a, const void *b) {
    const us_host_move *x = a, *y = b;
    return compare_site(x->from, x->from_length, y->from, y->from_length);
}

void us_rule_sort_moves(us_rule *rule) {
    if (rule->move_count > 1) qsort(rule->moves, rule->move_count, sizeof *rule->moves, compare_moves);
}

const us_host_move *us_find_move(const us_rule *rule, const uint8_t *site, size_t length) {
    size_t low = 0, high = rule->move_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const us_host_move *move = &rule->moves[middle];
        const int order = compare_site(site, length, move->from, move->from_length);
        if (order == 0) return move;
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

int us_rule_names(const us_rule *rule, const uint8_t *name, size_t length) {
    for (size_t i = 0; i < rule->name_count; i++) {
        if (us_glob_matches(&rule->names[i], name, length)) return 1;
    }
    return 0;
}
