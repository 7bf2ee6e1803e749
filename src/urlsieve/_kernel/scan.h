/* Looks at sixteen bytes at a time: text goes in, how far it needs no attention comes out. US_SCALAR (or no SSE2) uses byte loops instead;
both must say the same, which the fuzzing harness checks. No byte outside [start, end) is read. */
#ifndef US_SCAN_H
#define US_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ascii.h"
#include "siphash.h"

#if defined(__SSE2__) && !defined(US_SCALAR)
#define US_SSE2 1
#include <emmintrin.h>
#endif

/* Is it `http://` or `https://` in any case? Then the length of that, else 0. Eight bytes at once; only letters may differ in bit 5. */
static inline size_t us_web_scheme(const uint8_t *s, const uint8_t *end) {
    if (end - s < 8) return 0;
    const uint64_t word = us_load64(s);
    if ((word | UINT64_C(0x2020202020)) == UINT64_C(0x2f2f3a7370747468)) return 8;
    return ((word & UINT64_C(0x00ffffffffffffff)) | 0x20202020) == UINT64_C(0x002f2f3a70747468) ? 7 : 0;
}

/* What in a path is not simply copied. A few harmless bytes (`=`, `~`) are among them: that costs the careful way, nothing else. */
static inline int us_path_needs_care(uint8_t c) {
    return c <= 0x20 || c > 'z' || c == '"' || c == '#' || c == '%' || (c >= ';' && c <= '?') || (c >= '[' && c <= '^') || c == '`';
}

#ifdef US_SSE2
static inline __m128i us_load16(const uint8_t *from) {
    __m128i x;
    memcpy(&x, from, 16);
    return x;
}

static inline __m128i us_between(__m128i x, char below, char above) {
    return _mm_and_si128(_mm_cmpgt_epi8(x, _mm_set1_epi8(below)), _mm_cmplt_epi8(x, _mm_set1_epi8(above)));
}

static inline __m128i us_is(__m128i x, char c) { return _mm_cmpeq_epi8(x, _mm_set1_epi8(c)); }

/* Bit i: byte i needs care. Signed comparison: bytes from 0x80 are below zero. */
static inline uint32_t us_path_mask(__m128i x) {
    __m128i care = _mm_or_si128(_mm_cmplt_epi8(x, _mm_set1_epi8(0x21)), _mm_cmpgt_epi8(x, _mm_set1_epi8('z')));
    care = _mm_or_si128(care, _mm_or_si128(us_is(x, '"'), us_is(x, '#')));
    care = _mm_or_si128(care, _mm_or_si128(us_is(x, '%'), us_is(x, '`')));
    care = _mm_or_si128(care, _mm_or_si128(us_between(x, ':', '@'), us_between(x, 'Z', '_')));
    return (uint32_t)_mm_movemask_epi8(care);
}
#endif

/* How many bytes of [at, end), from `at` on, are plain path: no byte that needs care, and no `.` behind a `/`. `start` is the text's begin. */
static inline size_t us_plain_path(const uint8_t *start, const uint8_t *at, const uint8_t *end) {
    const uint8_t *s = at;
    uint32_t slash = 0;   /* was the byte before `s` a slash? */
    (void)start;
#ifdef US_SSE2
    while (end - s >= 16 || (s < end && end - start >= 16)) {
        const size_t back = end - s >= 16 ? 0 : 16 - (size_t)(end - s);   /* the last bytes: a load that ends with the text */
        const __m128i x = us_load16(s - back);
        const uint32_t slashes = (uint32_t)_mm_movemask_epi8(us_is(x, '/')) >> back;
        const uint32_t points = (uint32_t)_mm_movemask_epi8(us_is(x, '.')) >> back;
        const uint32_t care = us_path_mask(x) >> back | ((slashes << 1 | slash) & points);
        if (care != 0) return (size_t)(s - at) + (size_t)__builtin_ctz(care);
        s += 16 - back;
        slash = slashes >> (15 - back) & 1;
    }
#endif
    for (; s < end; s++) {
        if (us_path_needs_care(*s) || (slash && *s == '.')) break;
        slash = *s == '/';
    }
    return (size_t)(s - at);
}

/* Lower-case value of a byte of a plain ASCII host, or 0. */
static inline uint8_t us_host_byte(uint8_t c) {
    if (us_is_alnum(c)) return us_lower(c);
    return c == '.' || c == '-' || c == '_' ? c : 0;
}

typedef struct {
    size_t length;     /* bytes of host */
    size_t label;      /* where the last label starts, the one before a final dot */
    int hyphens;       /* two in a row: it may be punycode */
} us_host;

/* Copies a host in lower case to `to`, where 16 more bytes than it has must be free. */
static inline us_host us_copy_host(const uint8_t *at, const uint8_t *end, uint8_t *to) {
    us_host host = {0, 0, 0};
    const uint8_t *s = at;
    uint32_t hyphen = 0, hyphens = 0;
#ifdef US_SSE2
    while (end - s >= 16) {
        __m128i x = us_load16(s);
        x = _mm_or_si128(x, _mm_and_si128(us_between(x, '@', '['), _mm_set1_epi8(0x20)));
        memcpy(to + (s - at), &x, 16);
        const __m128i words = _mm_or_si128(us_between(x, '`', '{'), us_between(x, '/', ':'));
        const __m128i marks = _mm_or_si128(us_is(x, '-'), us_is(x, '_')), point = us_is(x, '.');
        const uint32_t good = (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(words, marks), point));
        const uint32_t count = (uint32_t)__builtin_ctz(~good), inside = (UINT32_C(1) << count) - 1;
        const uint32_t dashes = (uint32_t)_mm_movemask_epi8(us_is(x, '-')) & inside;
        const uint32_t points = (uint32_t)_mm_movemask_epi8(point) & inside;
        hyphens |= dashes & (dashes << 1 | hyphen);
        if (points != 0) host.label = (size_t)(s - at) + 32 - (size_t)__builtin_clz(points);
        s += count;
        if (count < 16) break;
        hyphen = dashes >> 15 & 1;
    }
    if (end - s < 16)
#endif
    for (; s < end; s++) {
        const uint8_t c = us_host_byte(*s);
        if (c == 0) break;
        to[s - at] = c;
        hyphens |= c == '-' && hyphen;
        hyphen = c == '-';
        if (c == '.') host.label = (size_t)(s - at) + 1;
    }
    host.length = (size_t)(s - at);
    host.hyphens = hyphens != 0;
    if (host.length > 0 && host.label == host.length) {   /* a final dot: the label before it */
        host.label--;
        while (host.label > 0 && to[host.label - 1] != '.') host.label--;
    }
    return host;
}

#endif
