/* Texts go in, how much work the kernel does on each comes out: branches taken (the compiler counts them) and bytes that library calls touch.
The same on every machine, so a bound on it is a test that cannot flicker.

    steps < CASES       a case: program (0 …), length of the text in decimal, LF, the text, LF       out: one line each, status and steps */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "foreign.h"
#include "rules.h"

enum { PROGRAMS = 6 };

static uint64_t steps;

/* -fsanitize-coverage=trace-pc: called wherever the program may branch. */
void __sanitizer_cov_trace_pc(void);
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void) { steps++; }

void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);
void *__real_memset(void *to, int byte, size_t size);
void *__real_memchr(const void *text, int byte, size_t size);
int __real_memcmp(const void *a, const void *b, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);
void *__wrap_memset(void *to, int byte, size_t size);
void *__wrap_memchr(const void *text, int byte, size_t size);
int __wrap_memcmp(const void *a, const void *b, size_t size);

void *__wrap_memcpy(void *to, const void *from, size_t size) {
    steps += size / 16;
    return __real_memcpy(to, from, size);
}

void *__wrap_memmove(void *to, const void *from, size_t size) {
    steps += size / 16;
    return __real_memmove(to, from, size);
}

void *__wrap_memset(void *to, int byte, size_t size) {
    steps += size / 16;
    return __real_memset(to, byte, size);
}

void *__wrap_memchr(const void *text, int byte, size_t size) {
    const uint8_t *found = __real_memchr(text, byte, size);
    steps += (found != NULL ? (size_t)(found - (const uint8_t *)text) : size) / 16;
    return (void *)found;
}

/* Up to the first difference. */
int __wrap_memcmp(const void *a, const void *b, size_t size) {
    const uint8_t *x = a, *y = b;
    size_t same = 0;
    while (same < size && x[same] == y[same]) same++;
    steps += same / 16;
    return __real_memcmp(a, b, size);
}

static const char RULES[] =
    "r\tb\te.com\t\nd\tsid\nd\t*a*a*a*a*b\nd\tref_*\nw\t^(/a*)*(/a|b)*c$\t$1\nw\t(a+)+b\tx\nf\t2\ns\nc\nt\n"
    "r\tb\te.com\t/*a*a*a*b\nk\nk\t*a*b*c*\n";

static us_program *make(int number) {
    us_rules_error error = {0, NULL};
    us_options options = {.steps = number == 0 ? 0 : 0x7f, .fragment = US_FRAGMENT_KEEP, .key0 = 1, .key1 = 2, .noise = (const uint8_t *)"gclid\n",
                          .noise_length = 6};
    if (number == 0) options.trap_repeats = options.trap_names = 10;   /* whatever is longer is cut up and sorted */
    if (number == 2) options.steps = 0x1fff7f;
    if (number == 3) options.rules = us_rules_new((const uint8_t *)RULES, sizeof RULES - 1, &error);
    if (number == 4) options.form = US_FORM_SCRAPY;
    if (number == 5) options.form = US_FORM_CLASSIC;
    if (number == 3 && options.rules == NULL) {
        fprintf(stderr, "line %zu of the rules: %s\n", error.line, error.what);
        exit(2);
    }
    return us_program_new(&options);
}

int main(void) {
    us_program *programs[PROGRAMS];
    for (int i = 0; i < PROGRAMS; i++) {
        programs[i] = make(i);
        if (programs[i] == NULL) return 2;
    }
    unsigned number;
    size_t length;
    while (scanf("%u %zu", &number, &length) == 2 && number < PROGRAMS && length < 1000000) {
        uint8_t *text = malloc(length + 1), fingerprint[16], digest[US_DIGEST_MOST], status = 0;
        if (text == NULL || getchar() != '\n' || fread(text, 1, length, stdin) != length) return 2;
        us_work work;
        us_work_init(&work);
        us_batch batch = {.program = programs[number], .work = &work, .fingerprints = fingerprint, .status = &status, .digests = digest};
        steps = 0;
        if (us_batch_one(&batch, 0, (us_span){text, length}, 0) != 0) return 2;
        printf("%u %" PRIu64 "\n", status, steps);
        us_work_free(&work);
        free(text);
    }
    return 0;
}
