/* The canonical forms: the first byte chooses a profile, the rest is a text. Its laws hold, and a batch of the text's lines says what single
calls say. */
#include <string.h>

#include "../laws.h"
#include "foreign.h"
#include "rules.h"
#include "target.h"

enum { PROGRAMS = 9, OURS = 7 };

static const char RULES[] =
    "r\tb\te.com\t\nd\tsid\nd\tref_*\nr\te\twww.e.com\t/shop/*\nk\nk\tid\nh\tm.e.com\twww.e.com\nw\t^(/a/[0-9]+)(/.*)?$\t$1\nf\t2\ns\nc\nt\no\nn\n"
    "r\tb\tcom\t\nh\twww.a.com\ta.com\n";

static us_program *programs[PROGRAMS];

static void make_programs(void) {
    static const uint8_t noise[] = "utm_source\ngclid\n";
    us_rules_error error = {0, NULL};
    const us_rules *rules = us_rules_new((const uint8_t *)RULES, sizeof RULES - 1, &error);
    CHECK(rules != NULL);
    for (int i = 0; i < PROGRAMS; i++) {
        us_options options = {.steps = i == 0 ? 0 : 0x7f, .fragment = i % 3, .key0 = 1, .key1 = 2, .noise = noise, .noise_length = 17};
        if (i == 4) options.trap_segments = 16, options.trap_repeats = 3, options.trap_names = 4;
        if (i == 5) options.steps = 0x1fff7f;   /* every switch of aggressive */
        if (i == 6) options.rules = rules;
        if (i >= OURS) options.form = i == OURS ? US_FORM_SCRAPY : US_FORM_CLASSIC;
        programs[i] = us_program_new(&options);
        CHECK(programs[i] != NULL);
    }
}

/* Each line alone and in the batch: one status, one key, one site. */
static void batch_is_single(const us_program *program, us_work *work, const uint8_t *text, size_t length) {
    const size_t count = us_count_lines(text, length);
    us_span *cut = malloc((count + 1) * sizeof *cut);
    us_entry *entries = malloc((count + 1) * sizeof *entries);
    uint8_t *fingerprints = malloc(16 * count + 1), *status = malloc(count + 1), *digests = malloc(US_DIGEST_MOST * count + 1);
    CHECK(cut != NULL && entries != NULL && fingerprints != NULL && status != NULL && digests != NULL);
    us_cut_lines(text, length, cut, count);
    for (size_t i = 0; i < count; i++) cut[i] = us_line_url(cut[i]);
    work->used = 0;
    us_batch batch = {.program = program, .work = work, .fingerprints = fingerprints, .status = status, .entries = entries, .digests = digests};
    CHECK(us_batch_run(&batch, cut, 0, count) == 0);
    us_work alone;
    us_work_init(&alone);
    for (size_t i = 0; i < count; i++) {
        us_key key = {0};
        const enum us_status single = us_canonicalize(program, &alone, cut[i].text, cut[i].length, 0, 1, &key);
        CHECK((single == US_NO_SCHEME ? US_RELATIVE : single) == status[i]);
        if (single != US_OK) continue;
        const us_key *other = &entries[i].key;
        CHECK(key.length == other->length && memcmp(alone.text, work->text + entries[i].start, key.length) == 0);
        CHECK(key.site_start == other->site_start && key.site_length == other->site_length && key.route == other->route);
    }
    us_work_free(&alone);
    free(cut);
    free(entries);
    free(fingerprints);
    free(status);
    free(digests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (programs[0] == NULL) make_programs();
    if (size == 0) return 0;
    begin(data, size);
    const int chosen = data[0] % PROGRAMS;
    uint8_t *text = copy_of(data + 1, size - 1);
    us_work work;
    us_work_init(&work);
    if (chosen < OURS) {
        form_laws(programs[chosen], &work, text, size - 1, 1, 0);
    } else {
        foreign_laws(programs[chosen], &work, text, size - 1, 0);
    }
    batch_is_single(programs[chosen], &work, text, size - 1);
    us_work_free(&work);
    free(text);
    return 0;
}
