/* Hostile bytes go into the kernel's C core, built with sanitizers; a finding aborts, a clean run prints its number of rounds and a digest.

    harness SEED FIRST COUNT SECONDS     rounds [FIRST, FIRST + COUNT), ending early after SECONDS (0 = no limit)

Round i depends on SEED and i only, so a finding is repeated by `harness SEED i 1 0`. Every input is an allocation of exactly its size. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "foreign.h"
#include "fpset.h"
#include "harness.h"
#include "laws.h"
#include "siphash.h"

void __sanitizer_set_death_callback(void (*callback)(void));

static uint64_t round_now, seed_now, state;

void told(void) { fprintf(stderr, "finding in round %" PRIu64 " of seed %" PRIu64 "\n", round_now, seed_now); }

uint64_t chance(void) {
    return next_of(&state);
}

static const char *const TOKENS[] = {
    "http://", "https://", "HTTP://", "hTtPs://", "http:/", "ftp://", "//", ":", "e.com", "WWW.E.com", "a--b.", "xn--a", "1.2.3.4", ".", "..",
    "/", "//", "/./", "/../", "/%2e%2E/", "/%2e", "%", "%%", "%4", "%41", "%7e", "%2f", "%34%31", "%zz", "?", "?", "#", "#!/", "#/", "&", "&&",
    "=", "a=1", "b=2", "a", "utm_source=x", "gclid", "PHPSESSID=0123456789abcdef0123456789", "jsessionid=0123456789ABCDEF", ";",
    ";jsessionid=0123456789", ";JSESSIONID=AAAAAAAAAA", "\\", " ", "\t", "\n", "\r", "\r\n", "\x01", "\x7f", "\x80", "\xc3\xa9", "\xff", "'",
    "\"", "<>", "[::1]", "@", "u:p@", ":80", ":443", ":65535", ":65536", ":00080", "ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX",
    "aaaaaaaaaaaaaaaa", "index.html", "|", "^", "{}", "~", "-", "_", "+", ",", "$", "*", "!"};

static size_t hostile(uint8_t *to, size_t room) {
    size_t length = 0, parts = 1 + below(24);
    if (below(3) != 0) {
        const char *start = below(2) ? "http://e.com" : "https://WWW.example-host.COM:8443";
        length = strlen(start);
        memcpy(to, start, length);
    }
    if (below(400) == 0) parts = 20000;
    for (size_t i = 0; i < parts; i++) {
        if (below(9) == 0) {
            if (length < room) to[length++] = (uint8_t)chance();
            continue;
        }
        const char *token = TOKENS[below(sizeof TOKENS / sizeof *TOKENS)];
        const size_t size = strlen(token), times = below(60) == 0 ? 1 + below(300) : 1;
        for (size_t k = 0; k < times && length + size <= room; k++) {
            memcpy(to + length, token, size);
            length += size;
        }
    }
    return length;
}

static uint64_t lines(const us_program *program, us_work *work, const uint8_t *text, size_t length, uint64_t digest) {
    const size_t count = us_count_lines(text, length);
    us_span *cut = malloc((count + 1) * sizeof *cut);
    uint8_t *flags = malloc(count + 1), *fingerprints = malloc(16 * count + 1), *status = malloc(count + 1);
    us_entry *entries = malloc((count + 1) * sizeof *entries);
    CHECK(cut != NULL && flags != NULL && fingerprints != NULL && status != NULL && entries != NULL);
    us_cut_lines(text, length, cut, count);
    for (size_t i = 0; i < count; i++) flags[i] = (uint8_t)below(3);
    const us_span ending = {(const uint8_t *)"\n", 1};
    const size_t size = us_selected_size(cut, flags, count, 1);
    uint8_t *joined = malloc(size + 1);
    CHECK(joined != NULL && us_select(cut, flags, count, ending, joined, size) == 0);
    CHECK(size == 0 || us_select(cut, flags, count, ending, joined, size - 1) == -1);
    work->used = 0;
    uint8_t *digests = malloc(US_DIGEST_MOST * count + 1);
    CHECK(digests != NULL);
    us_batch batch = {.program = program, .work = work, .variants = NULL, .fingerprints = fingerprints, .status = status,
                      .entries = entries, .digests = digests};
    static const char base[] = "https://u:p@[::1]:8080/a/b%2f/c?d/e#f/g";
    if (below(2)) us_batch_base(&batch, (us_span){(const uint8_t *)base, sizeof base - 1});
    for (size_t i = 0; i < count; i++) cut[i] = us_line_url(cut[i]);
    CHECK(us_batch_run(&batch, cut, 0, count) == 0);
    digest = mix(digest, fingerprints, 16 * count);
    digest = mix(digest, digests, us_digest_size(program->options.form) * count);
    free(digests);
    free(cut);
    free(flags);
    free(fingerprints);
    free(status);
    free(entries);
    free(joined);
    return digest;
}

/* `even`: keys as keyed hashes are, for which the memory is bounded; else keys that crowd, for which only the answers are promised. */
static void set_rounds(us_fpset *set, int even) {
    uint8_t keys[64 * 16], flags[64], known[64];
    if (set->count > 1000000) us_fpset_free(set);   /* an empty set again: small sizes are where the corners are */
    const uint64_t narrow = below(2) ? UINT64_MAX : 0xff;
    for (size_t i = 0; i < 128; i++) us_store64(keys + 8 * i, even ? chance() : chance() & (i % 2 ? narrow : 3));
    us_fpset_contains(set, keys, 64, known);
    const size_t before = set->count;
    CHECK(us_fpset_add(set, keys, NULL, 64, flags) == 0);
    size_t fresh = 0;
    for (size_t i = 0; i < 64; i++) {
        CHECK(!(known[i] && flags[i]));
        fresh += flags[i];
    }
    CHECK(set->count == before + fresh);
    us_fpset_contains(set, keys, 64, known);
    for (size_t i = 0; i < 64; i++) CHECK(known[i]);
    /* just grown, a segment has 1.18 / 0.82 places a key, 16 bytes each, and at most 1 + 8 + 128 more; 64 of them may have grown last */
    CHECK(set->bytes <= set->peak && (!even || set->peak <= set->count * 2304 / 100 + 64 * 137 * 16));
}

static void hashes(const uint8_t *text, size_t length) {
    uint64_t two[2];
    const size_t cut = length ? below(length) : 0;
    us_siphash_two(1, 2, text, cut, text, length, two);
    CHECK(two[0] == us_siphash(1, 2, text, cut) && two[1] == us_siphash(1, 2, text, length));
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const uint64_t seed = strtoull(argv[1], NULL, 10), first = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
    const double seconds = atof(argv[4]);
    enum { OURS = 5, PROGRAMS = 7, ROOM = 70000 };
    static const uint8_t noise[] = "utm_source\ngclid\n";
    us_program *programs[PROGRAMS];
    for (int i = 0; i < PROGRAMS; i++) {
        us_options options = {.steps = i == 0 ? 0 : 0x7f, .fragment = i % 3, .key0 = 1, .key1 = 2, .noise = noise, .noise_length = 17};
        if (i >= OURS) options.form = i == OURS ? US_FORM_SCRAPY : US_FORM_CLASSIC;
        if (i == 4) options.trap_segments = 16, options.trap_repeats = 3, options.trap_names = 4;
        programs[i] = us_program_new(&options);
        CHECK(programs[i] != NULL);
    }
    us_fpset set, even;
    us_work work;
    us_fpset_init(&set);
    us_fpset_init(&even);
    us_work_init(&work);
    uint8_t *room = malloc(ROOM);
    CHECK(room != NULL);
    __sanitizer_set_death_callback(told);
    const time_t began = time(NULL);
    uint64_t digest = 0;
    seed_now = seed;
    memory_round();
    for (round_now = first; round_now < first + count; round_now++) {
        if (seconds > 0 && round_now % 64 == 0 && difftime(time(NULL), began) >= seconds) break;
        state = seed * UINT64_C(0x2545f4914f6cdd1d) ^ round_now;
        const size_t length = hostile(room, ROOM);
        uint8_t *text = malloc(length ? length : 1);
        CHECK(text != NULL);
        memcpy(text, room, length);
        for (int i = 0; i < OURS; i++) digest = form_laws(programs[i], &work, text, length, 1, digest);
        for (int i = OURS; i < PROGRAMS; i++) digest = foreign_laws(programs[i], &work, text, length, digest);
        digest = lines(programs[below(2) ? 1 : PROGRAMS - 1], &work, text, length, digest);
        digest = rule_round(&work, text, length, digest);
        hashes(text, length);
        set_rounds(&set, 0);
        set_rounds(&even, 1);
        if (round_now % 8 == 0) digest = sketch_round(digest);
        if (round_now % 64 == 0) digest = run_round(digest);   /* as long as some 80 of the others */
        free(text);
    }
    printf("%" PRIu64 " %016" PRIx64 "\n", round_now - first, digest);
    for (int i = 0; i < PROGRAMS; i++) us_program_free(programs[i]);
    us_fpset_free(&set);
    us_fpset_free(&even);
    us_work_free(&work);
    free(room);
    return 0;
}
