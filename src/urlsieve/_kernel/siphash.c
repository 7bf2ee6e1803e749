#include "siphash.h"

#include <string.h>

uint64_t us_load64(const uint8_t *from) {
    uint64_t value;
    memcpy(&value, from, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

void us_store64(uint8_t *to, uint64_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    memcpy(to, &value, 8);
}

#define ROTATE(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

#define ROUND                                                                      \
    do {                                                                           \
        v0 += v1; v1 = ROTATE(v1, 13); v1 ^= v0; v0 = ROTATE(v0, 32);              \
        v2 += v3; v3 = ROTATE(v3, 16); v3 ^= v2;                                   \
        v0 += v3; v3 = ROTATE(v3, 21); v3 ^= v0;                                   \
        v2 += v1; v1 = ROTATE(v1, 17); v1 ^= v2; v2 = ROTATE(v2, 32);              \
    } while (0)

uint64_t us_siphash(uint64_t key0, uint64_t key1, const uint8_t *data, size_t length) {
    uint64_t v0 = key0 ^ UINT64_C(0x736f6d6570736575);
    uint64_t v1 = key1 ^ UINT64_C(0x646f72616e646f6d);
    uint64_t v2 = key0 ^ UINT64_C(0x6c7967656e657261);
    uint64_t v3 = key1 ^ UINT64_C(0x7465646279746573);
    const size_t whole = length & ~(size_t)7;

    for (size_t i = 0; i < whole; i += 8) {
        const uint64_t word = us_load64(data + i);
        v3 ^= word;
        ROUND;
        ROUND;
        v0 ^= word;
    }
    uint64_t last = (uint64_t)length << 56;
    for (size_t i = whole; i < length; i++) last |= (uint64_t)data[i] << (8 * (i - whole));
    v3 ^= last;
    ROUND;
    ROUND;
    v0 ^= last;
    v2 ^= 0xff;
    ROUND;
    ROUND;
    ROUND;
    ROUND;
    return v0 ^ v1 ^ v2 ^ v3;
}
