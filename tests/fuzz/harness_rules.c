/* Made-up rules, regular expressions and globs, good ones and broken ones, run on made-up texts; what they promise for any of them must hold. */
#include <string.h>

#include "harness.h"
#include "laws.h"
#include "rules.h"
#include "siphash.h"

static const char *const HOSTS[] = {"e.com", "www.e.com", "m.e.com", "com", "example-host.com", "a", "[::1]", "x.e.com", "t.co", "1.2.3.4"};
static const char *const PATHS[] = {"", "", "", "/a*", "*", "*.*", "/*/b?", "/index.html", "\\*", "/a/*/b/*/c*"};
static const char *const LINES[] = {"d\tsid", "d\tutm_*", "d\t*a*b?", "d\t*", "k", "k\ta", "k\tb*", "s", "c", "t", "o", "n", "f\t0", "f\t1", "f\t2",
                                    "w\t^(/[^/]*)/.*\t$1", "w\ta\taa", "w\t/\t//", "w\t^/(.*)/(.*)$\t/$2/$1", "w\t.\t$0$0$0", "w\t[A-Z]+\t../",
                                    "w\t(a*)*b\t%", "w\t%\t%4", "w\t$\t/x", "w\t^\t;jsessionid=0123456789", "w\tx?\t",
                                    "l\t3\t-\t1", "l\t-\t1\t0", "l\t0\t0\t0"};
static const char *const PARTS[] = {"a", "b", "/", ".", "*", "+", "?", "|", "(", "(?:", ")", "[a-c]", "[^/]", "{2}", "{0,3}", "{2,}", "^", "$", "\\d", "\\.",
                                    "*?", "[", "]", "{", "\\", "(?=", "\xff", "%", "-"};

#define ONE_OF(list) ((list)[below(sizeof(list) / sizeof *(list))])

static size_t add(char *to, size_t length, size_t room, const char *text) {
    const size_t size = strlen(text);
    if (length + size > room) return length;
    memcpy(to + length, text, size);
    return length + size;
}

/* One to five rules; sometimes a line that is none, or a byte that is another. */
static size_t rule_text(char *to, size_t room) {
    size_t length = 0;
    for (size_t rule = 1 + below(5); rule > 0; rule--) {
        length = add(to, length, room, below(2) ? "r\te\t" : "r\tb\t");
        length = add(to, length, room, ONE_OF(HOSTS));
        length = add(to, length, room, "\t");
        length = add(to, length, room, ONE_OF(PATHS));
        length = add(to, length, room, "\n");
        for (size_t lines = below(5); lines > 0; lines--) {
            length = add(to, length, room, ONE_OF(LINES));
            length = add(to, length, room, "\n");
        }
        if (below(4) == 0) length = add(to, length, room, below(2) ? "h\tm.e.com\twww.e.com\n" : "h\te.com\tx.e.com\n");
    }
    if (below(8) == 0 && length > 0) to[below(length)] = (char)chance();
    return length;
}

static uint64_t expression(const uint8_t *text, size_t length, uint64_t digest) {
    char pattern[256];
    size_t size = 0;
    for (size_t parts = below(14); parts > 0; parts--) size = add(pattern, size, sizeof pattern, ONE_OF(PARTS));
    us_glob glob;
    if (us_glob_new(&glob, (const uint8_t *)pattern, size) == US_GLOB_OK) {
        const int matches = us_glob_matches(&glob, text, length);
        CHECK(!matches || length == 0 || us_glob_begins(&glob, text[0]));
        digest += (uint64_t)matches;
    }
    us_glob_free(&glob);
    us_regex_error error;
    us_regex *regex = us_regex_new((const uint8_t *)pattern, size, &error);
    CHECK((regex == NULL) == (error.what != NULL) && error.at <= size);
    if (regex == NULL) return digest;
    uint32_t slots[2 * US_REGEX_GROUPS];
    uint64_t steps = 0, state = chance();
    void *scratch = malloc(us_regex_scratch(regex));
    CHECK(scratch != NULL);
    if (us_regex_match(regex, text, length, scratch, slots, &steps)) {
        CHECK(slots[0] <= slots[1] && slots[1] <= length);
        for (uint32_t i = 0; i < regex->slots; i += 2) {
            CHECK((slots[i] == UINT32_MAX && slots[i + 1] == UINT32_MAX) || (slots[i] <= slots[i + 1] && slots[i + 1] <= length));
        }
        digest = us_siphash(digest, 3, (const uint8_t *)slots, regex->slots * sizeof *slots);
    }
    CHECK(steps <= 3 * (uint64_t)regex->size * (length + 1));
    uint8_t sample[64];
    CHECK(us_regex_sample(regex, &state, sample, sizeof sample) <= sizeof sample);
    free(scratch);
    us_regex_free(regex);
    return digest;
}

uint64_t rule_round(us_work *work, const uint8_t *text, size_t length, uint64_t digest) {
    static const uint8_t noise[] = "utm_source\ngclid\n";
    char lines[4096];
    int moves = 0;
    us_rules_error error;
    digest = expression(text, length < 4096 ? length : 4096, digest);
    const size_t size = rule_text(lines, sizeof lines);
    us_rules *rules = us_rules_new((const uint8_t *)lines, size, &error);
    CHECK((rules == NULL) == (error.what != NULL));
    const uint32_t switches = (uint32_t)(chance() & chance()) & 0x1fff00;
    us_options options = {.steps = 0x7f | switches, .fragment = US_FRAGMENT_ROUTES, .key0 = 1, .key1 = 2, .noise = noise, .noise_length = 17};
    options.rules = rules;
    us_program *program = us_program_new(&options);
    CHECK(program != NULL);
    for (size_t i = 0; rules != NULL && i < rules->count; i++) moves |= rules->rules[i].move_count > 0;
    digest = form_laws(program, work, text, length, !moves, digest);   /* moved hosts are checked by policy */
    us_program_free(program);
    us_rules_free(rules);
    return digest;
}
