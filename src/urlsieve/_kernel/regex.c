#include "regex.h"

#include <string.h>

/* A set of threads in order of preference: where each is in the program, and the groups it has passed. */
typedef struct {
    uint16_t *at;
    uint32_t *slots;   /* regex->slots for each thread */
    uint32_t count;
} threads;

typedef struct {
    const us_regex *regex;
    size_t length;
    uint32_t *visited;   /* by instruction: the position + 1 at which it was entered last */
    uint32_t *passed;    /* the slots of the thread that is being followed */
    uint64_t steps;
} machine;

size_t us_regex_scratch(const us_regex *regex) {
    const size_t slots = sizeof(uint32_t) * regex->slots;
    return regex->size * (2 * slots + sizeof(uint32_t) + 2 * sizeof(uint16_t)) + slots;
}

/* Follows everything that takes no byte from instruction `at` on. Recursion is as deep as the program is long at most: an instruction is
entered once per position. */
static void enter(machine *m, threads *list, uint32_t at, size_t position) {
    const uint32_t slots = m->regex->slots;
    m->steps++;
    if (m->visited[at] == position + 1) return;
    m->visited[at] = (uint32_t)position + 1;
    const us_inst *inst = &m->regex->code[at];
    switch (inst->op) {
    case US_RE_JUMP: enter(m, list, inst->x, position); break;
    case US_RE_SPLIT:
        enter(m, list, inst->x, position);
        enter(m, list, inst->y, position);
        break;
    case US_RE_SAVE: {
        const uint32_t old = m->passed[inst->byte];
        m->passed[inst->byte] = (uint32_t)position;
        enter(m, list, at + 1, position);
        m->passed[inst->byte] = old;
        break;
    }
    case US_RE_BEGIN:
        if (position == 0) enter(m, list, at + 1, position);
        break;
    case US_RE_END:
        if (position == m->length) enter(m, list, at + 1, position);
        break;
    default:
        list->at[list->count] = (uint16_t)at;
        memcpy(list->slots + list->count * slots, m->passed, slots * sizeof(uint32_t));
        list->count++;
    }
}

static int takes(const us_regex *regex, const us_inst *inst, uint8_t byte) {
    if (inst->op == US_RE_BYTE) return inst->byte == byte;
    return inst->op == US_RE_ANY || (inst->op == US_RE_CLASS && us_in_class(regex, inst->x, byte));
}

int us_regex_may_match(const us_regex *regex, const uint8_t *text, size_t length) {
    return length >= regex->prefix_length && memcmp(text, regex->prefix, regex->prefix_length) == 0;
}

int us_regex_match(const us_regex *regex, const uint8_t *text, size_t length, void *scratch, uint32_t *slots, uint64_t *steps) {
    const size_t size = regex->size, width = regex->slots;
    if (!us_regex_may_match(regex, text, length)) {
        ++*steps;
        return 0;
    }
    uint32_t *memory = scratch;
    threads now = {.slots = memory}, next = {.slots = memory + size * width};
    machine m = {.regex = regex, .length = length, .visited = memory + 2 * size * width};
    m.passed = m.visited + size;
    now.at = (uint16_t *)(void *)(m.passed + width);
    next.at = now.at + size;
    memset(m.visited, 0, size * sizeof(uint32_t));
    int matched = 0;
    for (size_t position = 0; position <= length; position++) {
        if (!matched && (position == 0 || !regex->anchored)) {
            memset(m.passed, 0xff, width * sizeof(uint32_t));
            enter(&m, &now, 0, position);
        }
        if (now.count == 0 && (matched || regex->anchored)) break;
        next.count = 0;
        for (uint32_t i = 0; i < now.count; i++) {
            const us_inst *inst = &regex->code[now.at[i]];
            const uint32_t *passed = now.slots + i * width;
            if (inst->op == US_RE_MATCH) {
                memcpy(slots, passed, width * sizeof(uint32_t));
                matched = 1;
                break;   /* what comes behind is less preferred */
            }
            if (position == length || !takes(regex, inst, text[position])) continue;
            memcpy(m.passed, passed, width * sizeof(uint32_t));
            enter(&m, &next, now.at[i] + 1u, position + 1);
        }
        const threads swap = now;
        now = next;
        next = swap;
    }
    *steps += m.steps;
    return matched;
}

static uint32_t chance(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static uint8_t any_of_class(const us_regex *regex, const us_inst *inst, uint64_t *state) {
    static const char usual[] = "abz019AZ-_./";
    for (int i = 0; i < 8; i++) {
        const uint8_t byte = (uint8_t)usual[chance(state) % (sizeof usual - 1)];
        if (takes(regex, inst, byte)) return byte;
    }
    const uint32_t start = chance(state) & 255;
    for (uint32_t i = 0; i < 256; i++) {
        if (takes(regex, inst, (uint8_t)(start + i))) return (uint8_t)(start + i);
    }
    return 'a';
}

size_t us_regex_sample(const us_regex *regex, uint64_t *state, uint8_t *to, size_t room) {
    size_t length = 0;
    uint32_t at = 0;
    for (size_t hops = 0; hops < 64 * US_REGEX_SIZE && length < room; hops++) {
        const us_inst *inst = &regex->code[at++];
        switch (inst->op) {
        case US_RE_MATCH: return length;
        case US_RE_JUMP: at = inst->x; break;
        case US_RE_SPLIT: at = chance(state) % 2 ? inst->x : inst->y; break;
        case US_RE_BYTE: to[length++] = inst->byte; break;
        case US_RE_ANY:
        case US_RE_CLASS: to[length++] = any_of_class(regex, inst, state); break;
        default: break;
        }
    }
    return length;
}
