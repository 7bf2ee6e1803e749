#include "hll.h"

#include <math.h>

#include "mix.h"
#include "siphash.h"

int us_hll_add(uint8_t *registers, uint32_t p, const uint8_t *fingerprints, size_t count) {
    int changed = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t order = us_again(us_mix(us_load64(fingerprints + 16 * i), us_load64(fingerprints + 16 * i + 8)));
        const uint64_t rest = order << p;
        const uint8_t rank = (uint8_t)(rest == 0 ? 65 - p : (uint32_t)__builtin_clzll(rest) + 1);
        uint8_t *one = &registers[order >> (64 - p)];
        if (rank > *one) {
            *one = rank;
            changed = 1;
        }
    }
    return changed;
}

int us_hll_check(const uint8_t *registers, uint32_t p) {
    uint8_t most = 0;
    for (size_t i = 0; i < (size_t)1 << p; i++) most = registers[i] > most ? registers[i] : most;
    return most > 65 - p ? -1 : 0;
}

static double sigma(double x) {
    if (x == 1.0) return INFINITY;
    double y = 1.0, z = x, before;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (before != z);
    return z;
}

static double tau(double x) {
    if (x == 0.0 || x == 1.0) return 0.0;
    double y = 1.0, z = 1.0 - x, before;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
    } while (before != z);
    return z / 3.0;
}

double us_hll_estimate(const uint8_t *registers, uint32_t p) {
    const uint32_t q = 64 - p;
    const double m = (double)((size_t)1 << p);
    size_t counts[66] = {0};
    for (size_t i = 0; i < (size_t)1 << p; i++) counts[registers[i]]++;
    double z = m * tau(1.0 - (double)counts[q + 1] / m);
    for (uint32_t k = q; k >= 1; k--) z = 0.5 * (z + (double)counts[k]);
    z += m * sigma((double)counts[0] / m);
    return m / (2.0 * 0.6931471805599453) * m / z;
}
