/* For the locks; before any header. */
#define _POSIX_C_SOURCE 200809L

#include "cuckoo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"
#include "siphash.h"

struct us_lock {
    pthread_rwlock_t held;
};

enum { CHUNK = 4096, AHEAD = 12, POUR = 32, BFS = 512, MOST_EMPTY = 64, NO_PARENT = 0xffff };

/* A key on its way: its two nests are made of `order`. */
typedef struct {
    us_egg egg;
    uint64_t order;
    uint32_t number;   /* in the chunk */
} bird;

static int is_free(const us_egg *egg) { return (egg->site | egg->url) == 0; }
static int same(const us_egg *a, const us_egg *b) { return a->site == b->site && a->url == b->url; }
static size_t first_of(const us_cuckoo_part *part, uint64_t order) { return us_place(part->room, order << 6); }
static size_t second_of(const us_cuckoo_part *part, uint64_t order) { return us_place(part->room, us_again(order)); }
static uint64_t order_of(const us_cuckoo_part *part, const us_egg *egg) { return us_mix_keyed(part->seed, egg->site, egg->url); }

/* --- one part; the caller has its lock ---------------------------------------------------------------------------------------------- */

static int free_slot(const us_nest *nest) {
    for (int i = 0; i < US_CUCKOO_WAYS; i++) {
        if (is_free(&nest->eggs[i])) return i;
    }
    return -1;
}

/* The slot of the key among all slots of the part, or SIZE_MAX. */
static size_t find(const us_cuckoo_part *part, const us_egg *egg, uint64_t order) {
    if (part->room == 0) return SIZE_MAX;
    const size_t nests[2] = {first_of(part, order), second_of(part, order)};
    for (int n = 0; n < 2; n++) {
        const us_nest *nest = &part->nests[nests[n]];
        for (size_t i = 0; i < US_CUCKOO_WAYS; i++) {
            if (same(&nest->eggs[i], egg)) return nests[n] * US_CUCKOO_WAYS + i;
        }
    }
    return SIZE_MAX;
}

static void put(us_cuckoo_part *part, size_t slot, const us_egg *egg, int64_t value) {
    part->nests[slot / US_CUCKOO_WAYS].eggs[slot % US_CUCKOO_WAYS] = *egg;
    if (part->values != NULL) part->values[slot] = value;
}

typedef struct {
    size_t nest;
    uint16_t parent;   /* in the queue */
    uint8_t slot;      /* of the parent, whose egg would come here */
} step;

/* A free slot in one of the two nests, made by moving others if need be; SIZE_MAX: there is no short way to one. */
static size_t make_room(us_cuckoo_part *part, uint64_t order) {
    step queue[BFS];
    size_t used = 0;
    queue[used++] = (step){first_of(part, order), NO_PARENT, 0};
    queue[used++] = (step){second_of(part, order), NO_PARENT, 0};
    for (size_t at = 0; at < used; at++) {
        int slot = free_slot(&part->nests[queue[at].nest]);
        if (slot < 0) {
            for (uint8_t i = 0; i < US_CUCKOO_WAYS && used < BFS; i++) {
                const uint64_t theirs = order_of(part, &part->nests[queue[at].nest].eggs[i]);
                const size_t one = first_of(part, theirs), other = second_of(part, theirs);
                const size_t next = one == queue[at].nest ? other : one;
                if (next != queue[at].nest) queue[used++] = (step){next, (uint16_t)at, i};
            }
            continue;
        }
        /* from the free slot back to the key's own nest, each moves to where the next one was */
        while (queue[at].parent != NO_PARENT) {
            const size_t from = queue[queue[at].parent].nest * US_CUCKOO_WAYS + queue[at].slot;
            const size_t to = queue[at].nest * US_CUCKOO_WAYS + (size_t)slot;
            const us_egg moving = part->nests[from / US_CUCKOO_WAYS].eggs[from % US_CUCKOO_WAYS];
            put(part, to, &moving, part->values != NULL ? part->values[from] : 0);
            slot = queue[at].slot;
            at = queue[at].parent;
        }
        return queue[at].nest * US_CUCKOO_WAYS + (size_t)slot;
    }
    return SIZE_MAX;
}

static size_t bytes_of(const us_cuckoo_part *part) {
    return part->room * (sizeof(us_nest) + (part->values != NULL ? US_CUCKOO_WAYS * sizeof(int64_t) : 0));
}

static int make_nests(us_cuckoo_part *part, size_t room, int with_values) {
    if (room > SIZE_MAX / sizeof(us_nest) / 2) return -1;
    part->room = room;
    part->nests = aligned_alloc(sizeof(us_nest), room * sizeof(us_nest));
    part->values = with_values ? malloc(room * US_CUCKOO_WAYS * sizeof *part->values) : NULL;
    if (part->nests == NULL || (with_values && part->values == NULL)) {
        free(part->nests);
        free(part->values);
        return -1;
    }
    memset(part->nests, 0, room * sizeof(us_nest));
    return 0;
}

/* All keys of one part into another, which is empty. 0, or -1: one found no room. */
static int pour(const us_cuckoo_part *from, us_cuckoo_part *to) {
    if (from->room == 0) return 0;
    const us_egg *eggs = &from->nests[0].eggs[0];
    const size_t slots = from->room * US_CUCKOO_WAYS;
    for (size_t slot = 0; slot < slots; slot++) {
        if (slot + POUR < slots) __builtin_prefetch(&to->nests[second_of(to, order_of(to, &eggs[slot + POUR]))], 1);
        const us_egg *egg = &eggs[slot];   /* first nests come in order */
        if (is_free(egg)) continue;
        const size_t at = make_room(to, order_of(to, egg));
        if (at == SIZE_MAX) return -1;
        put(to, at, egg, from->values != NULL ? from->values[slot] : 0);
    }
    return 0;
}

/* To at least so many nests. The part is as it was until all its keys are in the longer one. */
static int grow(us_cuckoo *table, us_cuckoo_part *part, size_t wanted) {
    size_t room = wanted;
    for (;; room += room / 4 + 1) {
        if (room / MOST_EMPTY > part->count / US_CUCKOO_WAYS + 1 && room > wanted) return -1;   /* keys that meet wherever they are */
        us_cuckoo_part longer = {.seed = part->seed};
        if (make_nests(&longer, room, table->with_values) != 0) return -1;
        if (pour(part, &longer) != 0) {
            free(longer.nests);
            free(longer.values);
            continue;
        }
        atomic_fetch_add_explicit(&table->bytes, bytes_of(&longer) - bytes_of(part), memory_order_relaxed);
        free(part->nests);
        free(part->values);
        part->nests = longer.nests;
        part->values = longer.values;
        part->room = longer.room;
        return 0;
    }
}

/* 1 new, 0 there, -1 no memory. */
static int add_one(us_cuckoo *table, us_cuckoo_part *part, const bird *key, int64_t value, int replace) {
    if (is_free(&key->egg)) {
        const int is_new = !part->has_zero;
        if (is_new || replace) part->zero_value = value;
        part->has_zero = 1;
        part->count += (size_t)is_new;
        return is_new;
    }
    const size_t there = find(part, &key->egg, key->order);
    if (there != SIZE_MAX) {
        if (replace && part->values != NULL) part->values[there] = value;
        return 0;
    }
    /* the last free slots are found late: a part that is 0.95 full grows, while its others still find theirs at once */
    const int is_full = part->count >= part->room * US_CUCKOO_WAYS - part->room * US_CUCKOO_WAYS / 20;
    size_t slot = is_full ? SIZE_MAX : make_room(part, key->order);
    while (slot == SIZE_MAX) {
        const size_t room = part->room + part->room / 3 + 1;
        if (room / MOST_EMPTY > part->count / US_CUCKOO_WAYS + 1 && !is_full) return -1;   /* not more room is missing, but other keys */
        if (grow(table, part, room) != 0) return -1;
        slot = make_room(part, key->order);
    }
    put(part, slot, &key->egg, value);
    part->count++;
    return 1;
}

static int discard_one(us_cuckoo_part *part, const bird *key) {
    if (is_free(&key->egg)) {
        const int had = part->has_zero;
        part->has_zero = 0;
        part->count -= (size_t)had;
        return had;
    }
    const size_t slot = find(part, &key->egg, key->order);
    if (slot == SIZE_MAX) return 0;
    const us_egg nothing = {0, 0};
    put(part, slot, &nothing, 0);
    part->count--;
    return 1;
}

static int get_one(const us_cuckoo_part *part, const bird *key, int64_t *value) {
    if (is_free(&key->egg)) {
        if (part->has_zero) *value = part->zero_value;
        return part->has_zero;
    }
    const size_t slot = find(part, &key->egg, key->order);
    if (slot == SIZE_MAX) return 0;
    if (part->values != NULL) *value = part->values[slot];
    return 1;
}

/* --- batches: a chunk's keys by their parts, a part's lock taken once a chunk ---------------------------------------------------------- */

typedef struct {
    bird keys[CHUNK];                   /* by part; of one part in their order */
    uint16_t starts[US_CUCKOO_PARTS + 1];
} flock;

static void gather(flock *birds, uint64_t seed, const uint8_t *fingerprints, size_t count) {
    uint64_t orders[CHUNK];
    uint16_t next[US_CUCKOO_PARTS] = {0};
    for (size_t i = 0; i < count; i++) {
        orders[i] = us_mix_keyed(seed, us_load64(fingerprints + 16 * i), us_load64(fingerprints + 16 * i + 8));
        next[orders[i] >> 58]++;
    }
    uint16_t at = 0;
    for (size_t p = 0; p < US_CUCKOO_PARTS; p++) {
        const uint16_t many = next[p];
        birds->starts[p] = next[p] = at;
        at = (uint16_t)(at + many);
    }
    birds->starts[US_CUCKOO_PARTS] = at;
    for (size_t i = 0; i < count; i++) {
        birds->keys[next[orders[i] >> 58]++] =
            (bird){{us_load64(fingerprints + 16 * i), us_load64(fingerprints + 16 * i + 8)}, orders[i], (uint32_t)i};
    }
}

static void prefetch(const us_cuckoo_part *part, const bird *key) {
    if (part->room == 0) return;
    __builtin_prefetch(&part->nests[first_of(part, key->order)]);
    __builtin_prefetch(&part->nests[second_of(part, key->order)]);
}

typedef struct {
    us_cuckoo *table;
    const int64_t *given;
    uint8_t *flags;
    int64_t *values;
    int64_t missing;
    enum { GET, ADD, SET, DISCARD } what;
} job;

static int do_part(const job *todo, us_cuckoo_part *part, const bird *keys, size_t count) {
    const size_t before = part->count;
    int failed = 0;
    for (size_t i = 0; i < AHEAD && i < count; i++) prefetch(part, &keys[i]);
    for (size_t i = 0; i < count && !failed; i++) {
        if (i + AHEAD < count) prefetch(part, &keys[i + AHEAD]);
        const bird *key = &keys[i];
        int flag = 0;
        if (todo->what == GET) {
            int64_t value = todo->missing;
            flag = get_one(part, key, &value);
            if (todo->values != NULL) todo->values[key->number] = value;
        } else if (todo->what == DISCARD) {
            flag = discard_one(part, key);
        } else {
            flag = add_one(todo->table, part, key, todo->given != NULL ? todo->given[key->number] : 0, todo->what == SET);
            failed = flag < 0;
        }
        todo->flags[key->number] = (uint8_t)(flag > 0);
    }
    atomic_fetch_add_explicit(&todo->table->count, part->count - before, memory_order_relaxed);
    return failed ? -1 : 0;
}

static int do_all(job todo, const uint8_t *fingerprints, size_t count) {
    flock *birds = malloc(sizeof *birds);
    if (birds == NULL) return -1;
    int failed = 0;
    for (size_t start = 0; start < count && !failed; start += CHUNK) {
        const size_t some = count - start < CHUNK ? count - start : CHUNK;
        gather(birds, todo.table->parts[0].seed, fingerprints + 16 * start, some);
        job here = todo;
        here.flags += start;
        if (here.given != NULL) here.given += start;
        if (here.values != NULL) here.values += start;
        const size_t begin = atomic_fetch_add_explicit(&todo.table->turn, 23, memory_order_relaxed) % US_CUCKOO_PARTS;
        for (size_t p = 0; p < US_CUCKOO_PARTS && !failed; p++) {
            const size_t number = (begin + p) % US_CUCKOO_PARTS, first = birds->starts[number];
            const size_t many = birds->starts[number + 1] - first;
            if (many == 0) continue;
            us_cuckoo_part *part = &todo.table->parts[number];
            if (todo.what == GET) {
                pthread_rwlock_rdlock(&part->lock->held);
            } else {
                pthread_rwlock_wrlock(&part->lock->held);
            }
            failed = do_part(&here, part, birds->keys + first, many);
            pthread_rwlock_unlock(&part->lock->held);
        }
    }
    free(birds);
    return failed;
}

int us_cuckoo_add(us_cuckoo *table, const uint8_t *fingerprints, const int64_t *values, size_t count, int replace, uint8_t *flags) {
    return do_all((job){table, values, flags, NULL, 0, replace ? SET : ADD}, fingerprints, count);
}

int us_cuckoo_get(us_cuckoo *table, const uint8_t *fingerprints, size_t count, uint8_t *flags, int64_t *values, int64_t missing) {
    return do_all((job){table, NULL, flags, values, missing, GET}, fingerprints, count);
}

int us_cuckoo_discard(us_cuckoo *table, const uint8_t *fingerprints, size_t count, uint8_t *flags) {
    return do_all((job){table, NULL, flags, NULL, 0, DISCARD}, fingerprints, count);
}

/* --- the whole table ------------------------------------------------------------------------------------------------------------------ */

int us_cuckoo_init(us_cuckoo *table, int with_values, uint64_t seed) {
    memset(table, 0, sizeof *table);
    table->with_values = with_values;
    atomic_init(&table->count, 0);
    atomic_init(&table->bytes, 0);
    atomic_init(&table->turn, 0);
    struct us_lock *locks = malloc(US_CUCKOO_PARTS * sizeof *locks);
    if (locks == NULL) return -1;
    for (size_t p = 0; p < US_CUCKOO_PARTS; p++) {
        table->parts[p].lock = &locks[p];
        table->parts[p].seed = seed;
        if (pthread_rwlock_init(&locks[p].held, NULL) == 0) continue;
        while (p-- > 0) pthread_rwlock_destroy(&locks[p].held);
        free(locks);
        table->parts[0].lock = NULL;
        return -1;
    }
    return 0;
}

static void empty_part(us_cuckoo_part *part) {
    free(part->nests);
    free(part->values);
    part->nests = NULL;
    part->values = NULL;
    part->room = part->count = 0;
    part->has_zero = 0;
}

void us_cuckoo_free(us_cuckoo *table) {
    struct us_lock *locks = table->parts[0].lock;
    if (locks == NULL) return;   /* it was never made */
    for (size_t p = 0; p < US_CUCKOO_PARTS; p++) {
        empty_part(&table->parts[p]);
        pthread_rwlock_destroy(&locks[p].held);
    }
    free(locks);
    table->parts[0].lock = NULL;
}

void us_cuckoo_clear(us_cuckoo *table) {
    for (size_t p = 0; p < US_CUCKOO_PARTS; p++) {
        us_cuckoo_part *part = &table->parts[p];
        pthread_rwlock_wrlock(&part->lock->held);
        atomic_fetch_sub_explicit(&table->count, part->count, memory_order_relaxed);
        atomic_fetch_sub_explicit(&table->bytes, bytes_of(part), memory_order_relaxed);
        empty_part(part);
        pthread_rwlock_unlock(&part->lock->held);
    }
}

int us_cuckoo_reserve(us_cuckoo *table, size_t keys) {
    /* a part's share varies by a few roots of it; 0.9 full is well before a part grows by itself */
    const double share = (double)keys / US_CUCKOO_PARTS;
    double root = share / 16 + 4;
    for (int i = 0; i < 40; i++) root = (root + share / root) / 2;
    const size_t room = (size_t)((share + 4 * root) / 0.9 / US_CUCKOO_WAYS) + 1;
    int failed = 0;
    for (size_t p = 0; p < US_CUCKOO_PARTS && !failed; p++) {
        us_cuckoo_part *part = &table->parts[p];
        pthread_rwlock_wrlock(&part->lock->held);
        if (part->room < room) failed = grow(table, part, room);
        pthread_rwlock_unlock(&part->lock->held);
    }
    return failed;
}

size_t us_cuckoo_part_count(us_cuckoo *table, size_t part) {
    pthread_rwlock_rdlock(&table->parts[part].lock->held);
    const size_t count = table->parts[part].count;
    pthread_rwlock_unlock(&table->parts[part].lock->held);
    return count;
}

size_t us_cuckoo_list(us_cuckoo *table, size_t number, uint8_t *fingerprints, int64_t *values, size_t room) {
    us_cuckoo_part *part = &table->parts[number];
    size_t used = 0;
    pthread_rwlock_rdlock(&part->lock->held);
    if (part->has_zero && used < room) {
        memset(fingerprints, 0, 16);
        if (values != NULL) values[used] = part->zero_value;
        used++;
    }
    for (size_t slot = 0; slot < part->room * US_CUCKOO_WAYS && used < room; slot++) {
        const us_egg *egg = &part->nests[slot / US_CUCKOO_WAYS].eggs[slot % US_CUCKOO_WAYS];
        if (is_free(egg)) continue;
        us_store64(fingerprints + 16 * used, egg->site);
        us_store64(fingerprints + 16 * used + 8, egg->url);
        if (values != NULL) values[used] = part->values != NULL ? part->values[slot] : 0;
        used++;
    }
    pthread_rwlock_unlock(&part->lock->held);
    return used;
}
