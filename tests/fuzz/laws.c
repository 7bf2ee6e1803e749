#include "laws.h"

#include <string.h>

#include "foreign.h"
#include "harness.h"
#include "siphash.h"

uint64_t mix(uint64_t digest, const uint8_t *data, size_t length) { return us_siphash(digest, 1, data, length); }

uint64_t form_laws(const us_program *program, us_work *work, const uint8_t *text, size_t length, int at_rest, uint64_t digest) {
    us_key key = {0}, again = {0};
    work->used = 0;
    const enum us_status status = us_canonicalize(program, work, text, length, 0, 1, &key);
    const uint8_t code = (uint8_t)status;
    digest = mix(digest, &code, 1);
    if (status != US_OK) return digest;
    CHECK(key.length <= US_LIMIT && key.site_start + key.site_length <= key.length && key.site_length > 0);
    uint8_t *copy = malloc(key.length);
    CHECK(copy != NULL);
    memcpy(copy, work->text, key.length);
    for (size_t i = 0; i < key.length; i++) CHECK(copy[i] > 0x20 && copy[i] < 0x7f);
    for (int href = 0; href < 2 && at_rest; href++) {
        CHECK(us_canonicalize(program, work, copy, key.length, href, 1, &again) == US_OK);
        CHECK(again.length == key.length && memcmp(work->text, copy, key.length) == 0);
        CHECK(again.rule == key.rule && again.found_length == 0);
        CHECK(again.site_start == key.site_start && again.site_length == key.site_length && again.route == key.route);
    }
    digest = mix(digest, copy, key.length);
    free(copy);
    return digest;
}

uint64_t foreign_laws(const us_program *program, us_work *work, const uint8_t *text, size_t length, uint64_t digest) {
    us_key key = {0}, again = {0};
    uint8_t own[US_DIGEST_MOST];
    work->used = 0;
    const enum us_status status = us_canonicalize(program, work, text, length, 0, 1, &key);
    const uint8_t code = (uint8_t)status;
    digest = mix(digest, &code, 1);
    if (status != US_OK) return digest;
    CHECK(key.length <= US_LIMIT && key.site_start + key.site_length <= key.length && !key.route);
    uint8_t *copy = malloc(key.length + 1);
    CHECK(copy != NULL);
    memcpy(copy, work->text, key.length);
    us_digest(program->options.form, copy, key.length, own);
    const enum us_status second = us_canonicalize(program, work, copy, key.length, 1, 1, &again);
    if (program->options.form == US_FORM_SCRAPY) {   /* classic has no finished keys: it reads what comes back as it reads everything */
        CHECK(second == US_OK && again.length == key.length && memcmp(work->text, copy, key.length) == 0);
        CHECK(again.site_start == key.site_start && again.site_length == key.site_length);
    }
    digest = mix(mix(digest, copy, key.length), own, us_digest_size(program->options.form));
    free(copy);
    return digest;
}
