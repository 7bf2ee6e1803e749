/* Patterns of site rules: the first byte chooses, then a line with the pattern, then a text. A regular expression's steps stay below its size
times the text's length, whatever both are; a glob and a table of rules touch nothing outside. */
#include <string.h>

#include "rules.h"
#include "target.h"

static void regex(const uint8_t *pattern, size_t length, const uint8_t *text, size_t size) {
    us_regex_error error = {NULL, 0};
    us_regex *made = us_regex_new(pattern, length, &error);
    if (made == NULL) {
        CHECK(error.what != NULL && error.at <= length);
        return;
    }
    CHECK(made->size <= US_REGEX_SIZE && made->slots <= 2 * US_REGEX_GROUPS);
    uint32_t slots[2 * US_REGEX_GROUPS];
    uint64_t steps = 0;
    void *scratch = malloc(us_regex_scratch(made) + 1);
    CHECK(scratch != NULL);
    if (us_regex_match(made, text, size, scratch, slots, &steps)) {
        CHECK(slots[0] <= slots[1] && slots[1] <= size);
        for (uint32_t i = 2; i < made->slots; i += 2) {
            CHECK((slots[i] == UINT32_MAX && slots[i + 1] == UINT32_MAX) || (slots[i] <= slots[i + 1] && slots[i + 1] <= size));
        }
    }
    CHECK(steps <= 4 * (uint64_t)(made->size + 1) * (size + 2));
    uint8_t sample[64];
    uint64_t state = chance();
    CHECK(us_regex_sample(made, &state, sample, sizeof sample) <= sizeof sample);
    free(scratch);
    us_regex_free(made);
}

static void glob(const uint8_t *pattern, size_t length, const uint8_t *text, size_t size) {
    us_glob made;
    if (us_glob_new(&made, pattern, length) == US_GLOB_OK) {
        (void)us_glob_matches(&made, text, size);
        us_glob_free(&made);
    }
}

static void table(const uint8_t *lines, size_t length) {
    static const char *const URLS[] = {"http://www.e.com/shop/a/1/b?id=1&sid=2&ref_x=3#/r", "https://m.e.com:8443/A//b/?k", "http://a.b.c.e.com/"};
    us_rules_error error = {0, NULL};
    us_rules *rules = us_rules_new(lines, length, &error);
    if (rules == NULL) {
        CHECK(error.what != NULL);
        return;
    }
    us_options options = {.steps = 0x7f, .fragment = US_FRAGMENT_ROUTES, .key0 = 1, .noise = (const uint8_t *)"", .rules = rules};
    us_program *program = us_program_new(&options);
    us_work work;
    us_work_init(&work);
    CHECK(program != NULL);
    for (size_t i = 0; i < sizeof URLS / sizeof *URLS; i++) {
        us_key key = {0};
        work.used = 0;
        if (us_canonicalize(program, &work, (const uint8_t *)URLS[i], strlen(URLS[i]), 0, 1, &key) == US_OK) CHECK(key.length <= US_LIMIT);
    }
    us_work_free(&work);
    us_program_free(program);
    us_rules_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    begin(data, size);
    const uint8_t *rest = data + 1, *end = data + size;
    const uint8_t *feed = memchr(rest, '\n', size - 1);
    const uint8_t *text = feed != NULL ? feed + 1 : end;
    const size_t length = (size_t)((feed != NULL ? feed : end) - rest);
    uint8_t *pattern = copy_of(rest, length), *behind = copy_of(text, (size_t)(end - text)), *whole = copy_of(rest, size - 1);
    if (data[0] % 3 == 0) regex(pattern, length, behind, (size_t)(end - text));
    if (data[0] % 3 == 1) glob(pattern, length, behind, (size_t)(end - text));
    if (data[0] % 3 == 2) table(whole, size - 1);
    free(pattern);
    free(behind);
    free(whole);
    return 0;
}
