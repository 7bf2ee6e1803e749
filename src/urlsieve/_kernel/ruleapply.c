/* The rule for a URL is found and applied: a key up to its path goes in, the same on its host, with its scheme and its path comes out.

The key of a key is the key, whatever the rules are: a change of the path that would put the URL under another rule, or that would change it
again when done again, is not made (policy refuses such rules when it finds out; loading tries them on examples and made-up URLs). */
#include <string.h>

#include "ascii.h"
#include "rules.h"

/* Puts `size` bytes in the place of `old` bytes at `offset` of the key, before the path. */
static enum us_status replace(us_run *run, size_t offset, size_t old, const uint8_t *text, size_t size) {
    if (us_more_room(run, size + 32) != US_OK) return US_NO_MEMORY;
    uint8_t *at = run->key + offset;
    memmove(at + size, at + old, (size_t)(run->write - at) - old);
    memcpy(at, text, size);
    run->write = run->write + size - old;
    run->path = run->path + size - old;
    return US_OK;
}

static enum us_status change_head(us_run *run, us_key *key, const us_rule *rule) {
    const us_host_move *move = us_find_move(rule, run->key + key->site_start, key->site_length);
    if (move != NULL) {
        if (us_keep_site(run, key) != US_OK) return US_NO_MEMORY;
        if (replace(run, key->site_start, key->site_length, move->to, move->to_length) != US_OK) return US_NO_MEMORY;
        key->site_length = move->to_length;
    }
    if (!(rule->flags & US_RULE_HTTPS) || run->key[4] == 's') return US_OK;
    const uint8_t *site = run->key + key->site_start;
    if (us_host_length(site, key->site_length) != key->site_length) return US_OK;   /* another port is another server */
    if (replace(run, 4, 0, (const uint8_t *)"s", 1) != US_OK) return US_NO_MEMORY;
    key->site_start++;
    return US_OK;
}

/* The replacement with its groups; with to == NULL only its length. */
static size_t expand(const us_rewrite *rewrite, const uint8_t *path, const uint32_t *slots, uint8_t *to) {
    size_t size = 0;
    for (size_t i = 0; i < rewrite->to_length; i++) {
        const uint8_t byte = rewrite->to[i], next = i + 1 < rewrite->to_length ? rewrite->to[i + 1] : 0;
        if (byte == '$' && us_is_digit(next)) {
            const uint32_t group = 2u * (uint32_t)(next - '0');
            i++;
            if (group >= rewrite->regex->slots || slots[group] == UINT32_MAX || slots[group + 1] == UINT32_MAX) continue;
            const size_t length = slots[group + 1] - slots[group];
            if (to != NULL) memcpy(to + size, path + slots[group], length);
            size += length;
            continue;
        }
        if (byte == '$' && next == '$') i++;
        if (to != NULL) to[size] = byte;
        size++;
    }
    return size;
}

/* Dot segments, 4 and 5 for a path made by a rewrite; it becomes the key's. */
static enum us_status respell(us_run *run, const uint8_t *text, size_t length) {
    run->write = run->path;
    if (us_more_room(run, 3 * length + 64) != US_OK) return US_NO_MEMORY;
    us_run made = *run;
    made.text = made.read = text;
    made.end = text + length;
    const enum us_status status = us_path(&made);
    run->write = made.write;
    return status == US_OK && made.read < made.end ? US_INVALID : status;   /* a ? or #: policy lets none through */
}

/* The first match of the path, once. */
static enum us_status rewrite_path(us_run *run, const us_rewrite *rewrite) {
    us_work *work = run->work;
    uint32_t slots[2 * US_REGEX_GROUPS];
    const size_t length = (size_t)(run->write - run->path);
    if (length > US_REWRITE_PATH) return US_OK;
    if (us_work_machine(work, run->program->options.rules->scratch) != 0) return US_NO_MEMORY;
    if (!us_regex_match(rewrite->regex, run->path, length, work->machine, slots, &work->steps)) return US_OK;
    const size_t size = expand(rewrite, run->path, slots, NULL), rest = length - slots[1];
    const size_t made = slots[0] + size + rest;
    if (made > US_LIMIT) return US_TOO_LONG;
    if (us_work_spare(work, made + 1) != 0) return US_NO_MEMORY;
    memcpy(work->spare, run->path, slots[0]);
    expand(rewrite, run->path, slots, work->spare + slots[0]);
    memcpy(work->spare + slots[0] + size, run->path + slots[1], rest);
    return respell(run, work->spare, made);
}

/* ASCII letters, not inside a triplet. */
static void lower(uint8_t *s, const uint8_t *end) {
    while (s < end) {
        if (*s == '%' && end - s >= 3 && us_is_hex(s[1]) && us_is_hex(s[2])) {
            s += 3;
        } else {
            *s = us_lower(*s);
            s++;
        }
    }
}

static enum us_status change_path(us_run *run, const us_rule *rule) {
    for (size_t i = 0; i < rule->rewrite_count; i++) {
        const enum us_status status = rewrite_path(run, &rule->rewrites[i]);
        if (status != US_OK) return status;
    }
    if (rule->flags & US_RULE_LOWER) lower(run->path, run->write);
    us_tidy_path(run, run->program->options.steps | (rule->flags & US_RULE_SLASH ? (uint32_t)US_STEP_SLASH : 0));
    return US_OK;
}

static int path_is(const us_run *run, const uint8_t *text, size_t length) {
    return (size_t)(run->write - run->path) == length && memcmp(run->path, text, length) == 0;
}

/* A quick look that most URLs of a rule end with. */
static int may_change_path(const us_run *run, const us_rule *rule) {
    if (rule->flags & US_RULE_LOWER) return 1;
    if ((rule->flags & US_RULE_SLASH) && run->write[-1] == '/') return 1;
    for (size_t i = 0; i < rule->rewrite_count; i++) {
        if (us_regex_may_match(rule->rewrites[i].regex, run->path, (size_t)(run->write - run->path))) return 1;
    }
    return 0;
}

/* Changes the path if the change is at rest; else the path stays and *why says why. */
static enum us_status settle_path(us_run *run, const us_key *key, const us_rule *rule, uint32_t *why) {
    us_work *work = run->work;
    const size_t before = (size_t)(run->write - run->path);
    if (us_work_saved(work, before) != 0) return US_NO_MEMORY;
    memcpy(work->saved, run->path, before);
    enum us_status status = change_path(run, rule);
    if (status == US_NO_MEMORY) return status;
    if (status == US_OK && path_is(run, work->saved, before)) return US_OK;
    const size_t after = (size_t)(run->write - run->path);
    if (status == US_OK) {
        const uint8_t *site = run->key + key->site_start;
        const size_t host = us_host_length(site, key->site_length);
        *why = us_find_rule(run->program->options.rules, site, host, run->path, after) == rule ? US_SETTLED : US_LEAVES;
        if (us_work_saved(work, before + after) != 0) return US_NO_MEMORY;
        memcpy(work->saved + before, run->path, after);
        if (*why == US_SETTLED) status = change_path(run, rule);
        if (status == US_NO_MEMORY) return status;
    }
    if (status == US_OK && *why == US_SETTLED && path_is(run, work->saved + before, after)) return US_OK;
    if (*why == US_SETTLED) *why = US_RESTLESS;
    run->write = run->path;
    if (us_more_room(run, before + 32) != US_OK) return US_NO_MEMORY;
    memcpy(run->path, work->saved, before);
    run->write = run->path + before;
    return US_OK;
}

enum us_status us_apply_rule(us_run *run, us_key *key, size_t host) {
    if (us_more_room(run, 32) != US_OK) return US_NO_MEMORY;
    const uint8_t *site = run->key + key->site_start;
    const size_t path = (size_t)(run->write - run->path);
    const us_rule *rule = us_find_rule(run->program->options.rules, site, host, run->path, path);
    if (rule == NULL) return US_OK;
    run->rule = rule;
    key->rule = rule->number + 1;
    if (rule->move_count > 0 || (rule->flags & US_RULE_HTTPS)) {
        const enum us_status status = change_head(run, key, rule);
        if (status != US_OK) return status;
    }
    return may_change_path(run, rule) ? settle_path(run, key, rule, &key->unsettled) : US_OK;
}
