/* Writing of blocks. */
#include "blockpack.h"

static size_t bytes_of(uint64_t bits) { return (size_t)((bits + 7) / 8); }

static size_t ranks_of(uint32_t bits) { return (bits - 1) / US_BLOCK_PIECE; }

/* What a long stretch takes apart from low parts and codes. */
static size_t long_bytes(uint32_t keys, uint32_t zeros) {
    return US_BLOCK_LONG + 2 * ranks_of(keys + zeros) + bytes_of(keys + zeros);
}

us_plan us_plan_stretch(uint32_t keys, uint64_t first, uint64_t last) {
    const uint64_t range = last - first;
    const uint32_t length = us_bit_length(range), wanted = us_bit_length(keys);
    us_plan plan = {0, length > wanted ? length - wanted : 0, 0};
    if (plan.low > 0 && range >> plan.low < keys) plan.low--;   /* between n and 2n upper parts: the fewest bits in all */
    plan.zeros = (uint32_t)(range >> plan.low);
    plan.is_long = 8 * long_bytes(keys, plan.zeros) + 8 + (uint64_t)plan.low * keys < 64 * (uint64_t)keys;
    return plan;
}

/* Closes the last site's stretch: it is counted among those before. */
static void close_stretch(us_measure *m) {
    if (m->stretch == 0) return;
    const us_plan plan = us_plan_stretch(m->stretch, m->first, m->last);
    if (plan.is_long) {
        m->longs++;
        m->long_bytes += long_bytes(m->stretch, plan.zeros);
        m->long_low_bits += (uint64_t)plan.low * m->stretch;
    } else {
        m->short_keys += m->stretch;
    }
    m->stretch = 0;
}

static uint32_t code_bits(const us_measure *m) {
    return us_bit_length(m->any_value ? (uint64_t)m->most - (uint64_t)m->least + (uint64_t)m->tombstones : 0);
}

static size_t site_bytes(const us_measure *m) { return bytes_of(us_bit_length(m->last_site - m->first_site)); }

static size_t directory_of(const us_measure *m) {
    return site_bytes(m) * m->sites + bytes_of((uint64_t)US_BLOCK_START * m->sites);
}

/* Of closed stretches; a few bytes too much where long ones end within a byte. */
static uint64_t length_of(const us_measure *m) {
    const uint32_t width = code_bits(m);
    return US_BLOCK_HEAD + directory_of(m) + bytes_of((uint64_t)m->short_keys * (64 + width)) + m->long_bytes +
           bytes_of(m->long_low_bits + (uint64_t)(m->keys - m->short_keys) * width) + m->longs;
}

static void add_value(us_measure *m, int64_t value) {
    if (value == US_TOMBSTONE) {
        m->tombstones = 1;
        return;
    }
    m->least = m->any_value && m->least < value ? m->least : value;
    m->most = m->any_value && m->most > value ? m->most : value;
    m->any_value = 1;
}

int us_measure_take(us_measure *measure, const us_record *record) {
    us_measure m = *measure;
    if (m.keys == 0 || m.last_site != record->site) {
        close_stretch(&m);
        if (m.keys == 0) m.first_site = record->site;
        m.sites++;
        m.last_site = record->site;
        m.first = record->url;
    }
    m.keys++;
    m.stretch++;
    m.last = record->url;
    add_value(&m, record->value);
    us_measure closed = m;
    close_stretch(&closed);
    if (m.keys > US_BLOCK_KEYS || length_of(&closed) > US_BLOCK_MOST) return 0;
    *measure = m;
    return 1;
}

typedef struct {
    uint8_t *shorts;
    uint64_t short_bit;
    uint8_t *longs;      /* where the next entry goes */
    uint8_t *rest;       /* where the next long stretch goes */
    uint8_t *block;
    uint64_t base;
    uint32_t width;
    int tombstones;
} packing;

static void put_code(const packing *p, uint8_t *to, uint64_t bit, int64_t value) {
    if (value != US_TOMBSTONE) us_put_bits(to, bit, p->width, (uint64_t)value - p->base + (uint64_t)p->tombstones);
}

static void put_short(packing *p, const us_record *records, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        us_put_bits(p->shorts, p->short_bit, 64, records[i].url);
        put_code(p, p->shorts, p->short_bit + 64, records[i].value);
        p->short_bit += 64 + p->width;
    }
}

static void put16(uint8_t *to, size_t value) {
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static void put_long(packing *p, const us_record *records, uint32_t count, uint32_t site, us_plan plan) {
    const uint32_t step = plan.low + p->width;
    const size_t ranks = ranks_of(count + plan.zeros);
    uint8_t *entry = p->longs, *string = p->rest + 2 * ranks, *keys = string + bytes_of(count + plan.zeros);
    put16(entry, site);
    put16(entry + 2, (size_t)(p->rest - p->block));
    put16(entry + 4, p->short_bit / (64 + p->width));
    put16(entry + 6, plan.zeros);
    entry[8] = (uint8_t)plan.low;
    us_store64(entry + 9, records[0].url);
    size_t ranked = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t rest = records[i].url - records[0].url, bit = (rest >> plan.low) + i;
        for (; (ranked + 1) * US_BLOCK_PIECE <= bit; ranked++) put16(p->rest + 2 * ranked, i);
        string[bit / 8] = (uint8_t)(string[bit / 8] | 1u << bit % 8);
        us_put_bits(keys, (uint64_t)step * i, plan.low, rest);
        put_code(p, keys, (uint64_t)step * i + plan.low, records[i].value);
    }
    p->longs += US_BLOCK_LONG;
    p->rest = keys + bytes_of((uint64_t)step * count);
}

static uint32_t stretch_at(const us_record *records, uint32_t at, uint32_t count) {
    uint32_t end = at + 1;
    while (end < count && records[end].site == records[at].site) end++;
    return end - at;
}

size_t us_block_pack(const us_record *records, const us_measure *measure, uint64_t owner, uint64_t number, uint8_t *to) {
    us_measure m = *measure;
    close_stretch(&m);
    memset(to, 0, US_BLOCK_MOST + US_BITS_BEHIND);
    packing p = {.block = to, .base = m.any_value ? (uint64_t)m.least : 0, .width = code_bits(&m), .tombstones = m.tombstones};
    const size_t width = site_bytes(&m);
    us_store64(to + 8, (uint64_t)m.keys | (uint64_t)m.sites << 16 | (uint64_t)m.longs << 32 | (uint64_t)p.width << 48 |
                           (uint64_t)p.tombstones << 56);
    us_store64(to + 16, p.base);
    us_store64(to + 24, m.first_site);
    to[32] = (uint8_t)width;
    p.longs = to + US_BLOCK_HEAD + directory_of(&m);
    p.shorts = p.longs + US_BLOCK_LONG * (size_t)m.longs;
    p.rest = p.shorts + bytes_of((uint64_t)m.short_keys * (64 + p.width));
    for (uint32_t at = 0, site = 0, some; at < m.keys; at += some, site++) {
        some = stretch_at(records, at, m.keys);
        us_put_bits(to + US_BLOCK_HEAD, (uint64_t)8 * width * site, 8 * (uint32_t)width, records[at].site - m.first_site);
        us_put_bits(to + US_BLOCK_HEAD + width * m.sites, (uint64_t)US_BLOCK_START * site, US_BLOCK_START, at);
        const us_plan plan = us_plan_stretch(some, records[at].url, records[at + some - 1].url);
        if (plan.is_long) put_long(&p, records + at, some, site, plan);
        else put_short(&p, records + at, some);
    }
    const size_t length = (size_t)(p.rest - to);
    us_store64(to, us_checksum(owner, number, to + 8, length - 8));
    return length;
}
