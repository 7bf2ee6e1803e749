/* Classes of ASCII bytes, as small inline predicates: a byte goes in, a truth value or a hexadecimal digit's value comes out. */
#ifndef US_ASCII_H
#define US_ASCII_H

#include <stdint.h>

static inline int us_is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }

static inline int us_is_alpha(uint8_t c) { return (uint8_t)((c | 0x20) - 'a') < 26; }

static inline int us_is_alnum(uint8_t c) { return us_is_digit(c) || us_is_alpha(c); }

static inline int us_is_hex(uint8_t c) { return us_is_digit(c) || (uint8_t)((c | 0x20) - 'a') < 6; }

/* Only for a byte that us_is_hex. */
static inline uint8_t us_hex_value(uint8_t c) { return us_is_digit(c) ? (uint8_t)(c - '0') : (uint8_t)((c | 0x20) - 'a' + 10); }

static inline uint8_t us_hex_digit(uint8_t value) { return (uint8_t)(value < 10 ? '0' + value : 'A' + value - 10); }

static inline uint8_t us_upper(uint8_t c) { return (uint8_t)(c - 'a') < 26 ? (uint8_t)(c - 0x20) : c; }

static inline uint8_t us_lower(uint8_t c) { return (uint8_t)(c - 'A') < 26 ? (uint8_t)(c + 0x20) : c; }

/* RFC 3986: the characters whose encoded and plain spelling mean the same everywhere. */
static inline int us_is_unreserved(uint8_t c) { return us_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

/* The value characters of a Java session id: [0-9A-Za-z.!_$*-]. */
static inline int us_is_jsession(uint8_t c) {
    return us_is_alnum(c) || c == '.' || c == '!' || c == '_' || c == '$' || c == '*' || c == '-';
}

#endif
