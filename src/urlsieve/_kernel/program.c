#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "foreign.h"

/* The part that all components share: WHATWG's C0 control percent-encode set; tab, LF and CR are removed by the parser. */
static void common(uint8_t *table) {
    memset(table, US_COPY, 256);
    memset(table, US_ENCODE, 0x21);
    memset(table + 0x7f, US_ENCODE, 256 - 0x7f);
    us_mark(table, "\t\n\r", US_FOREIGN);
    us_mark(table, "\"<>", US_ENCODE);
}

static void compile_bytes(us_program *program) {
    common(program->path);
    common(program->query);
    common(program->fragment);
    us_mark(program->path, "^`{}", US_ENCODE);
    us_mark(program->query, "'", US_ENCODE);
    us_mark(program->fragment, "`", US_ENCODE);
    if (program->options.steps & US_STEP_PERCENT) {
        us_mark(program->path, "|[]", US_ENCODE);
        us_mark(program->query, "\\^`{|}[]", US_ENCODE);
        us_mark(program->fragment, "\\^{|}[]", US_ENCODE);
        us_mark(program->path, "%", US_PERCENT);
        us_mark(program->query, "%", US_PERCENT);
        us_mark(program->fragment, "%", US_PERCENT);
    }
    us_mark(program->path, "/\\", US_SLASH);   /* a backslash is a slash to a browser, before the query */
    us_mark(program->path, "?#", US_END);
    us_mark(program->path, ";", US_SEMICOLON);
    us_mark(program->query, "#", US_END);
    us_mark(program->query, "&", US_AMPERSAND);
    us_mark(program->query, "=", US_EQUALS);
    if (program->options.steps & US_STEP_PLUS) us_mark(program->query, "+", US_SPACE);
    for (int byte = 0; byte < 256; byte++) {
        if (us_is_unreserved((uint8_t)byte)) program->plain[byte] = US_PLAIN_PATH | US_PLAIN_QUERY | US_PLAIN_FRAGMENT;
    }
    if (program->options.steps & US_STEP_SUBDELIMS) {
        /* in a query & = + mean something, and the parser writes ' as its triplet */
        for (const char *s = "!$()*,;"; *s; s++) program->plain[(uint8_t)*s] = US_PLAIN_PATH | US_PLAIN_QUERY | US_PLAIN_FRAGMENT;
        for (const char *s = "&'+="; *s; s++) program->plain[(uint8_t)*s] = US_PLAIN_PATH | US_PLAIN_FRAGMENT;
    }
    if (program->options.steps & US_STEP_ASCII_ONLY) {
        memset(program->path + 0x80, US_FOREIGN, 0x80);
        memset(program->query + 0x80, US_FOREIGN, 0x80);
        memset(program->fragment + 0x80, US_FOREIGN, 0x80);
    }
}

static void compile_form(us_program *program) {
    if (program->options.form == US_FORM_SCRAPY) us_scrapy_bytes(program);
}

static uint32_t hash_name(const uint8_t *name, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ name[i]) * 16777619u;
    return hash ^ hash >> 15;
}

static int add_noise(us_program *program, const uint8_t *name, size_t length) {
    if (length == 0) return 0;
    if (length > sizeof program->noise->name) return -1;
    uint32_t at = hash_name(name, length) & program->noise_mask;
    while (program->noise[at].length != 0) at = (at + 1) & program->noise_mask;
    program->noise[at].length = (uint8_t)length;
    memcpy(program->noise[at].name, name, length);
    program->noise_lengths[name[0]] |= UINT64_C(1) << length;
    return 0;
}

static int compile_noise(us_program *program, const uint8_t *names, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++) count += names[i] == '\n';
    uint32_t slots = 16;
    while (slots < 4 * count) slots *= 2;
    program->noise = calloc(slots, sizeof(us_name));
    if (program->noise == NULL) return -1;
    program->noise_mask = slots - 1;
    for (size_t start = 0, i = 0; i < size; i++) {
        if (names[i] != '\n') continue;
        if (add_noise(program, names + start, i - start) != 0) return -1;
        start = i + 1;
    }
    return 0;
}

us_program *us_program_new(const us_options *options) {
    us_program *program = calloc(1, sizeof *program);
    if (program == NULL) return NULL;
    program->options = *options;
    program->options.noise = NULL;
    compile_bytes(program);
    compile_form(program);
    if (compile_noise(program, options->noise, options->noise_length) != 0) {
        us_program_free(program);
        return NULL;
    }
    return program;
}

void us_program_free(us_program *program) {
    if (program == NULL) return;
    free(program->noise);
    free(program);
}

int us_is_noise(const us_program *program, const uint8_t *name, size_t length) {
    uint8_t lower[64];
    if (length == 0 || length > 63) return 0;
    if (!(program->noise_lengths[us_lower(name[0])] >> length & 1)) return 0;
    for (size_t i = 0; i < length; i++) lower[i] = us_lower(name[i]);
    uint32_t at = hash_name(lower, length) & program->noise_mask;
    for (; program->noise[at].length != 0; at = (at + 1) & program->noise_mask) {
        if (program->noise[at].length == length && memcmp(program->noise[at].name, lower, length) == 0) return 1;
    }
    return 0;
}
