/* A pattern goes in, a tree of it and then a program comes out, or what is wrong with it and where. */
#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "regex.h"

enum kind { EMPTY, BYTE, ANY, CLASS, BEGIN, END, GROUP, CAT, ALT, REPEAT };
enum { NODES = 2 * US_REGEX_PATTERN + 8, UNBOUNDED = 0xffff, NONE = 0xffff };

typedef struct {
    uint8_t kind, byte, lazy;
    uint16_t left, right;    /* CLASS: left is its number; GROUP: right is its number, NONE for (?: ) */
    uint16_t least, most;    /* REPEAT */
} node;

typedef struct {
    const uint8_t *text;
    size_t length, at;
    node *nodes;
    size_t count;
    us_regex *regex;
    uint32_t groups;
    uint32_t depth;
    uint32_t visits;   /* of nodes while compiling: empty groups repeated in each other make no instructions, but work */
    us_regex_error *error;
} parser;

static uint16_t fail(parser *p, const char *what, size_t at) {
    if (p->error->what == NULL) *p->error = (us_regex_error){what, at};
    return NONE;
}

static uint16_t add(parser *p, node made) {
    if (p->error->what != NULL) return NONE;
    if (p->count == NODES) return fail(p, "the pattern is too long", p->at);
    p->nodes[p->count] = made;
    return (uint16_t)p->count++;
}

static int more(const parser *p) { return p->at < p->length; }

static void put(uint8_t *set, uint8_t byte) { set[byte >> 3] |= (uint8_t)(1 << (byte & 7)); }

/* \d \w \s and their opposites into a set; 0 if it is none of them. */
static int named_class(uint8_t letter, uint8_t *set) {
    const uint8_t lower = us_lower(letter);
    if (lower != 'd' && lower != 'w' && lower != 's') return 0;
    for (int c = 0; c < 256; c++) {
        const uint8_t byte = (uint8_t)c;
        const int space = byte == ' ' || (byte >= '\t' && byte <= '\r');
        const int in = lower == 'd' ? us_is_digit(byte) : lower == 'w' ? us_is_alnum(byte) || byte == '_' : space;
        if (in == (letter == lower)) put(set, byte);
    }
    return 1;
}

static uint16_t class_node(parser *p, const uint8_t *set) {
    us_regex *regex = p->regex;
    void *bigger = realloc(regex->classes, (regex->class_count + 1) * sizeof *regex->classes);
    if (bigger == NULL) return fail(p, "memory", p->at);
    regex->classes = bigger;
    memcpy(regex->classes[regex->class_count], set, 32);
    return add(p, (node){.kind = CLASS, .left = (uint16_t)regex->class_count++});
}

/* The byte behind a backslash, which must be punctuation: letters and digits may mean anything in some dialect. */
static int escaped(parser *p, uint8_t *byte) {
    if (!more(p)) {
        fail(p, "a backslash at the end escapes nothing", p->at - 1);
        return 0;
    }
    *byte = p->text[p->at];
    if (us_is_digit(*byte)) {
        fail(p, "back references cannot be matched in linear time", p->at - 1);
    } else if (us_is_alpha(*byte)) {
        fail(p, "this escape is not known; there are \\d \\w \\s \\D \\W \\S and those of punctuation", p->at - 1);
    } else {
        p->at++;
        return 1;
    }
    return 0;
}

/* One member of a class: a byte in *low, or a named class, which goes into the set (then 2 is returned). 0: an error. */
static int member(parser *p, uint8_t *set, uint8_t *low) {
    *low = p->text[p->at++];
    if (*low != '\\') return 1;
    if (more(p) && named_class(p->text[p->at], set)) {
        p->at++;
        return 2;
    }
    return escaped(p, low);
}

static uint16_t char_class(parser *p) {
    const size_t start = p->at - 1;
    uint8_t set[32] = {0};
    const int negated = more(p) && p->text[p->at] == '^';
    p->at += (size_t)negated;
    for (size_t first = p->at;; ) {
        uint8_t low = 0, high = 0;
        if (!more(p)) return fail(p, "the class is not closed: ] is missing", start);
        if (p->text[p->at] == ']' && p->at > first) break;
        const size_t at = p->at;
        const int found = member(p, set, &low);
        if (found == 0) return NONE;
        if (found == 2) continue;
        high = low;
        if (p->at + 1 < p->length && p->text[p->at] == '-' && p->text[p->at + 1] != ']') {
            p->at++;
            const int end = member(p, set, &high);
            if (end == 0) return NONE;
            if (end == 2 || high < low) return fail(p, "this range of a class has no bytes", at);
        }
        for (int c = low; c <= high; c++) put(set, (uint8_t)c);
    }
    p->at++;
    for (int i = 0; negated && i < 32; i++) set[i] = (uint8_t)~set[i];
    return class_node(p, set);
}

static uint16_t alternatives(parser *p);

static uint16_t group(parser *p) {
    const size_t start = p->at - 1;
    uint16_t number = NONE;
    if (more(p) && p->text[p->at] == '?') {
        if (p->at + 1 >= p->length || p->text[p->at + 1] != ':') {
            return fail(p, "of the groups with (? only (?: ) is there: look-around, flags and names are not", start);
        }
        p->at += 2;
    } else {
        if (p->groups == US_REGEX_GROUPS) return fail(p, "more than 9 groups: use (?: ) for those that $1 … $9 do not need", start);
        number = (uint16_t)p->groups++;
    }
    if (++p->depth > US_REGEX_NESTING) return fail(p, "groups are nested too deep", start);
    const uint16_t inside = alternatives(p);
    p->depth--;
    if (inside == NONE) return NONE;
    if (!more(p) || p->text[p->at] != ')') return fail(p, "the group is not closed: ) is missing", start);
    p->at++;
    return add(p, (node){.kind = GROUP, .left = inside, .right = number});
}

static uint16_t atom(parser *p) {
    const size_t at = p->at;
    uint8_t byte = p->text[p->at++], set[32] = {0};
    switch (byte) {
    case '.': return add(p, (node){.kind = ANY});
    case '^': return add(p, (node){.kind = BEGIN});
    case '$': return add(p, (node){.kind = END});
    case '[': return char_class(p);
    case '(': return group(p);
    case '*': case '+': case '?': return fail(p, "there is nothing before it to repeat", at);
    case '{': return fail(p, "{ repeats what is before it; write \\{ for the character", at);
    case '\\':
        if (more(p) && named_class(p->text[p->at], set)) {
            p->at++;
            return class_node(p, set);
        }
        if (!escaped(p, &byte)) return NONE;
        break;
    default:
        if (byte < 0x21 || byte > 0x7e) return fail(p, "a path has ASCII letters, digits and punctuation only; write others as %XX", at);
    }
    return add(p, (node){.kind = BYTE, .byte = byte});
}

static int number(parser *p, uint16_t *to) {
    uint32_t value = 0;
    const size_t start = p->at;
    while (more(p) && us_is_digit(p->text[p->at]) && value <= US_REGEX_SIZE) value = value * 10 + (uint32_t)(p->text[p->at++] - '0');
    *to = (uint16_t)value;
    return p->at > start && value <= US_REGEX_SIZE;
}

/* `{m}`, `{m,}`, `{m,n}` behind the brace. */
static int bounds(parser *p, uint16_t *least, uint16_t *most) {
    const size_t start = p->at - 1;
    int good = number(p, least);
    *most = *least;
    if (good && more(p) && p->text[p->at] == ',') {
        p->at++;
        if (more(p) && p->text[p->at] == '}') {
            *most = UNBOUNDED;
        } else {
            good = number(p, most);
        }
    }
    good = good && more(p) && p->text[p->at] == '}' && *least <= *most;
    if (!good) {
        fail(p, "a repetition is {m}, {m,} or {m,n} with m <= n <= 500", start);
        return 0;
    }
    p->at++;
    return 1;
}

static uint16_t repeated(parser *p) {
    uint16_t what = atom(p);
    if (what == NONE || !more(p)) return what;
    const size_t at = p->at;
    uint16_t least = 0, most = UNBOUNDED;
    switch (p->text[p->at]) {
    case '*': break;
    case '+': least = 1; break;
    case '?': most = 1; break;
    case '{': break;
    default: return what;
    }
    if (p->text[p->at++] == '{' && !bounds(p, &least, &most)) return NONE;
    if (p->nodes[what].kind == BEGIN || p->nodes[what].kind == END) return fail(p, "^ and $ cannot be repeated", at);
    const int lazy = more(p) && p->text[p->at] == '?';
    p->at += (size_t)lazy;
    if (more(p) && (p->text[p->at] == '*' || p->text[p->at] == '+' || p->text[p->at] == '{' || p->text[p->at] == '?')) {
        return fail(p, "a repetition of a repetition: put the inner one into (?: )", p->at);
    }
    return add(p, (node){.kind = REPEAT, .left = what, .least = least, .most = most, .lazy = (uint8_t)lazy});
}

static uint16_t sequence(parser *p) {
    uint16_t left = NONE;
    while (more(p) && p->text[p->at] != '|' && p->text[p->at] != ')') {
        const uint16_t right = repeated(p);
        if (right == NONE) return NONE;
        left = left == NONE ? right : add(p, (node){.kind = CAT, .left = left, .right = right});
    }
    return left == NONE ? add(p, (node){.kind = EMPTY}) : left;
}

static uint16_t alternatives(parser *p) {
    uint16_t left = sequence(p);
    while (left != NONE && more(p) && p->text[p->at] == '|') {
        p->at++;
        const uint16_t right = sequence(p);
        if (right == NONE) return NONE;
        left = add(p, (node){.kind = ALT, .left = left, .right = right});
    }
    return left;
}

/* --- from the tree to the program ------------------------------------------------------------------------------------------------- */

static const char too_large[] = "the expression is too large: more than 500 instructions once {m,n} are written out";

static uint16_t emit(parser *p, us_inst made) {
    us_regex *regex = p->regex;
    if (p->error->what != NULL) return 0;
    if (regex->size == US_REGEX_SIZE) {
        fail(p, too_large, 0);
        return 0;
    }
    regex->code[regex->size] = made;
    return (uint16_t)regex->size++;
}

static void compile(parser *p, uint16_t which);

static uint16_t here(const parser *p) { return (uint16_t)p->regex->size; }

/* A SPLIT whose one way is the next instruction; the other is set later. */
static uint16_t fork(parser *p) { return emit(p, (us_inst){.op = US_RE_SPLIT}); }

static void join_fork(parser *p, uint16_t at, uint16_t inside, uint16_t outside, int lazy) {
    if (p->error->what != NULL) return;
    p->regex->code[at].x = lazy ? outside : inside;
    p->regex->code[at].y = lazy ? inside : outside;
}

static void compile_repeat(parser *p, const node *n) {
    for (int i = 0; i < n->least && p->error->what == NULL; i++) compile(p, n->left);
    if (n->most == UNBOUNDED) {
        const uint16_t loop = fork(p);
        compile(p, n->left);
        emit(p, (us_inst){.op = US_RE_JUMP, .x = loop});
        join_fork(p, loop, (uint16_t)(loop + 1), here(p), n->lazy);
        return;
    }
    uint16_t forks[US_REGEX_SIZE];
    const int optional = n->most - n->least;
    int count = 0;
    for (; count < optional && p->error->what == NULL; count++) {
        forks[count] = fork(p);
        compile(p, n->left);
    }
    for (int i = 0; i < count; i++) join_fork(p, forks[i], (uint16_t)(forks[i] + 1), here(p), n->lazy);
}

static void compile(parser *p, uint16_t which) {
    if (p->error->what != NULL) return;
    if (++p->visits > 16 * US_REGEX_SIZE) {
        fail(p, too_large, 0);
        return;
    }
    const node *n = &p->nodes[which];
    switch (n->kind) {
    case EMPTY: break;
    case BYTE: emit(p, (us_inst){.op = US_RE_BYTE, .byte = n->byte}); break;
    case ANY: emit(p, (us_inst){.op = US_RE_ANY}); break;
    case CLASS: emit(p, (us_inst){.op = US_RE_CLASS, .x = n->left}); break;
    case BEGIN: emit(p, (us_inst){.op = US_RE_BEGIN}); break;
    case END: emit(p, (us_inst){.op = US_RE_END}); break;
    case GROUP:
        if (n->right != NONE) emit(p, (us_inst){.op = US_RE_SAVE, .byte = (uint8_t)(2 * n->right)});
        compile(p, n->left);
        if (n->right != NONE) emit(p, (us_inst){.op = US_RE_SAVE, .byte = (uint8_t)(2 * n->right + 1)});
        break;
    case CAT:
        compile(p, n->left);
        compile(p, n->right);
        break;
    case ALT: {
        const uint16_t split = fork(p);
        compile(p, n->left);
        const uint16_t jump = emit(p, (us_inst){.op = US_RE_JUMP});
        join_fork(p, split, (uint16_t)(split + 1), here(p), 0);
        compile(p, n->right);
        if (p->error->what == NULL) p->regex->code[jump].x = here(p);
        break;
    }
    default: compile_repeat(p, n);
    }
}

/* Does every way through it begin with ^? Then one try at the text's begin is enough. */
static int begins(const parser *p, uint16_t which) {
    const node *n = &p->nodes[which];
    if (n->kind == BEGIN) return 1;
    if (n->kind == GROUP || n->kind == CAT || (n->kind == REPEAT && n->least > 0)) return begins(p, n->left);
    return n->kind == ALT && begins(p, n->left) && begins(p, n->right);
}

/* The bytes that come before the first choice; only where a match begins with the text. */
static void find_prefix(us_regex *regex) {
    for (uint32_t at = 0; regex->anchored && regex->prefix_length < sizeof regex->prefix; at++) {
        const us_inst *inst = &regex->code[at];
        if (inst->op == US_RE_BYTE) {
            regex->prefix[regex->prefix_length++] = inst->byte;
        } else if (inst->op != US_RE_SAVE && inst->op != US_RE_BEGIN) {
            return;
        }
    }
}

us_regex *us_regex_new(const uint8_t *pattern, size_t length, us_regex_error *error) {
    us_regex *regex = calloc(1, sizeof *regex);
    node *nodes = malloc(NODES * sizeof *nodes);
    *error = (us_regex_error){NULL, 0};
    if (regex != NULL) regex->code = malloc(US_REGEX_SIZE * sizeof *regex->code);
    if (nodes == NULL || regex == NULL || regex->code == NULL) {
        error->what = "memory";
    } else {
        parser p = {.text = pattern, .length = length, .nodes = nodes, .regex = regex, .groups = 1, .error = error};
        if (length > US_REGEX_PATTERN) fail(&p, "the pattern is longer than 1000 bytes", US_REGEX_PATTERN);
        const uint16_t tree = error->what == NULL ? alternatives(&p) : NONE;
        if (tree != NONE && more(&p)) fail(&p, "there is no group that this ) closes", p.at);
        if (error->what == NULL && tree != NONE) {
            emit(&p, (us_inst){.op = US_RE_SAVE, .byte = 0});
            compile(&p, tree);
            emit(&p, (us_inst){.op = US_RE_SAVE, .byte = 1});
            emit(&p, (us_inst){.op = US_RE_MATCH});
            regex->slots = 2 * p.groups;
            regex->anchored = (uint32_t)begins(&p, tree);
            find_prefix(regex);
        }
    }
    free(nodes);
    if (error->what == NULL) {
        us_inst *fitting = realloc(regex->code, regex->size * sizeof *regex->code);
        if (fitting != NULL) regex->code = fitting;   /* else it stays larger than it need be */
        return regex;
    }
    us_regex_free(regex);
    return NULL;
}

void us_regex_free(us_regex *regex) {
    if (regex == NULL) return;
    free(regex->code);
    free(regex->classes);
    free(regex);
}
