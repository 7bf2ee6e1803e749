/* Lines of text go in, a table of rules comes out. Policy makes the lines, so an error here is a fault of its own; but no bytes do harm. */
#include <stdlib.h>
#include <string.h>

#include "rules.h"

int us_rules_index(us_rules *rules);          /* rules.c */
void us_rule_sort_moves(us_rule *rule);

typedef struct {
    const uint8_t *text;
    size_t length;
} field;

enum { FIELDS = 4 };

static const char no_memory[] = "memory";

/* The array with room for one more element, zeroed; NULL when memory is out (then the old one stays). It grows by halves: linear cost. */
static void *grown(void *array, size_t count, size_t *room, size_t size) {
    if (count == *room) {
        const size_t wanted = *room == 0 ? 4 : *room + *room / 2;
        void *bigger = realloc(array, wanted * size);
        if (bigger == NULL) return NULL;
        array = bigger;
        *room = wanted;
    }
    memset((uint8_t *)array + count * size, 0, size);
    return array;
}

/* For arrays that keep no room of their own: it is what the growth above makes of that many. */
static void *longer(void *array, size_t count, size_t size) {
    size_t room = 0;
    while (room < count) room = room == 0 ? 4 : room + room / 2;
    return grown(array, count, &room, size);
}

static uint8_t *copy(field from) {
    uint8_t *made = malloc(from.length + 1);
    if (made != NULL) memcpy(made, from.text, from.length);
    return made;
}

static const char *glob(us_rules *rules, us_glob *to, field pattern) {
    const enum us_glob_status status = us_glob_new(to, pattern.text, pattern.length);
    rules->bytes += pattern.length + (to->states != 0 ? 256 * sizeof *to->follow : 0);
    return status == US_GLOB_OK ? NULL : status == US_GLOB_MEMORY ? no_memory : "the glob is too long";
}

static const char *new_site(us_rules *rules, field host) {
    if (rules->site_count > 0) {
        us_rule_site *last = &rules->sites[rules->site_count - 1];
        if (last->length == host.length && memcmp(us_site_host(last), host.text, host.length) == 0) {
            last->count++;
            return NULL;
        }
    }
    void *array = grown(rules->sites, rules->site_count, &rules->site_room, sizeof *rules->sites);
    if (array == NULL) return no_memory;
    rules->sites = array;
    us_rule_site *site = &rules->sites[rules->site_count];
    if (host.length <= sizeof site->near) {
        memcpy(site->near, host.text, host.length);
    } else {
        site->far = copy(host);
        if (site->far == NULL) return no_memory;
    }
    rules->site_count++;
    site->length = (uint32_t)host.length;
    site->first = (uint32_t)rules->count - 1;
    site->count = 1;
    rules->bytes += sizeof *site + host.length;
    return NULL;
}

static const char *new_rule(us_rules *rules, field kind, field host, field path) {
    const uint8_t letter = kind.length == 1 ? kind.text[0] : 0;
    if (letter != 'e' && letter != 'b' && letter != 'a') return "the kind of a rule is e, b or a";
    if (letter != 'a' && (host.length == 0 || host.length > US_RULES_SITE)) return "a host has 1 to 259 bytes";
    if (rules->count == US_RULES_MOST) return "too many rules";
    void *array = grown(rules->rules, rules->count, &rules->room, sizeof *rules->rules);
    if (array == NULL) return no_memory;
    rules->rules = array;
    us_rule *rule = &rules->rules[rules->count];
    rule->number = (uint32_t)rules->count++;
    rule->flags = letter == 'e' ? US_RULE_EXACT : 0;
    rules->bytes += sizeof *rule;
    if (path.length > 0) {
        rule->flags |= US_RULE_PATH;
        const char *wrong = glob(rules, &rule->path, path);
        if (wrong != NULL) return wrong;
    }
    return letter == 'a' ? NULL : new_site(rules, host);
}

static const char *add_name(us_rules *rules, us_rule *rule, field name, int keep) {
    const int allow_list = (rule->flags & US_RULE_KEEP) != 0;
    if ((rule->name_count > 0 || allow_list) && keep != allow_list) return "drop and keep in one rule";
    void *array = longer(rule->names, rule->name_count, sizeof *rule->names);
    if (array == NULL) return no_memory;
    rule->names = array;
    us_glob *made = &rule->names[rule->name_count++];
    if (keep) rule->flags |= US_RULE_KEEP;
    rules->bytes += sizeof *made;
    const char *wrong = glob(rules, made, name);
    for (size_t byte = 0; wrong == NULL && byte < 256; byte++) {
        if (us_glob_begins(made, (uint8_t)byte)) rule->starts[byte >> 6] |= UINT64_C(1) << (byte & 63);
    }
    return wrong;
}

/* What may stand in a key as a site: a host as a parser writes it, with a port or without. */
static int is_site(field site) {
    if (site.length == 0 || site.length > US_RULES_SITE) return 0;
    for (size_t i = 0; i < site.length; i++) {
        const uint8_t byte = site.text[i];
        if (byte <= 0x20 || byte >= 0x7f || (byte >= 'A' && byte <= 'Z') || memchr("\"#%/<>?@\\^`{|}", byte, 14) != NULL) return 0;
    }
    return 1;
}

static const char *add_move(us_rules *rules, us_rule *rule, field from, field to) {
    if (!is_site(from) || !is_site(to)) return "a site is a host of at most 259 bytes as a parser writes it";
    void *array = longer(rule->moves, rule->move_count, sizeof *rule->moves);
    if (array == NULL) return no_memory;
    rule->moves = array;
    us_host_move *made = &rule->moves[rule->move_count++];
    made->from = copy(from);
    made->to = copy(to);
    made->from_length = (uint16_t)from.length;
    made->to_length = (uint16_t)to.length;
    rules->bytes += sizeof *made + from.length + to.length;
    return made->from == NULL || made->to == NULL ? no_memory : NULL;
}

static const char *add_rewrite(us_rules *rules, us_rule *rule, field pattern, field to) {
    us_regex_error error;
    if (rule->rewrite_count == US_RULES_REWRITES) return "more than 16 rewrites in one rule";
    if (to.length > US_RULES_TO) return "the replacement is longer than 1000 bytes";
    void *array = longer(rule->rewrites, rule->rewrite_count, sizeof *rule->rewrites);
    if (array == NULL) return no_memory;
    rule->rewrites = array;
    us_rewrite *made = &rule->rewrites[rule->rewrite_count++];
    made->regex = us_regex_new(pattern.text, pattern.length, &error);
    if (made->regex == NULL) return error.what;
    made->to = copy(to);
    made->to_length = to.length;
    if (made->to == NULL) return no_memory;
    const size_t scratch = us_regex_scratch(made->regex);
    if (scratch > rules->scratch) rules->scratch = scratch;
    rules->bytes += sizeof *made + to.length + sizeof(us_regex) + made->regex->size * sizeof(us_inst) + 32 * made->regex->class_count;
    return NULL;
}

/* Digits, or - for what the program says. */
static int read_trap(field text, uint32_t *limit) {
    *limit = US_TRAP_UNSAID;
    if (text.length == 1 && text.text[0] == '-') return 1;
    if (text.length == 0 || text.length > 9) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.text[i] < '0' || text.text[i] > '9') return 0;
        value = 10 * value + (uint32_t)(text.text[i] - '0');
    }
    *limit = value;
    return 1;
}

static const char *add_traps(us_rule *rule, const field *limits) {
    for (size_t i = 0; i < 3; i++) {
        if (!read_trap(limits[i], &rule->traps[i])) return "a limit against traps is a number or -";
    }
    rule->flags |= US_RULE_TRAPS;
    return NULL;
}

static const char *take(us_rules *rules, const field *fields, size_t count) {
    if (fields[0].length != 1) return "a line begins with one letter";
    const uint8_t letter = fields[0].text[0];
    if (letter == 'r') return count == 4 ? new_rule(rules, fields[1], fields[2], fields[3]) : "a rule has a kind, a host and a path";
    if (rules->count == 0) return "this is of no rule";
    us_rule *rule = &rules->rules[rules->count - 1];
    if (count == 1) {
        switch (letter) {
        case 's': rule->flags |= US_RULE_HTTPS; return NULL;
        case 'c': rule->flags |= US_RULE_LOWER; return NULL;
        case 't': rule->flags |= US_RULE_SLASH; return NULL;
        case 'o': rule->flags |= US_RULE_UNSORTED; return NULL;
        case 'k': return rule->name_count > 0 ? "drop and keep in one rule" : (rule->flags |= US_RULE_KEEP, NULL);
        case 'n': rule->flags |= US_RULE_NOISY; return NULL;
        default: break;
        }
    } else if (count == 2) {
        if (letter == 'd' || letter == 'k') return add_name(rules, rule, fields[1], letter == 'k');
        if (letter == 'f' && fields[1].length == 1 && fields[1].text[0] >= '0' && fields[1].text[0] <= '2') {
            rule->flags |= US_RULE_FRAGMENT;
            rule->fragment = fields[1].text[0] - '0';
            return NULL;
        }
    } else if (count == 3) {
        if (letter == 'h') return add_move(rules, rule, fields[1], fields[2]);
        if (letter == 'w') return add_rewrite(rules, rule, fields[1], fields[2]);
    } else if (letter == 'l') {
        return add_traps(rule, fields + 1);
    }
    return "this line is not understood";
}

static size_t split(const uint8_t *s, const uint8_t *end, field *fields) {
    for (size_t count = 0; count < FIELDS; count++) {
        const uint8_t *tab = memchr(s, '\t', (size_t)(end - s));
        fields[count] = (field){s, (size_t)((tab != NULL ? tab : end) - s)};
        if (tab == NULL) return count + 1;
        s = tab + 1;
    }
    return FIELDS + 1;
}

us_rules *us_rules_new(const uint8_t *text, size_t length, us_rules_error *error) {
    us_rules *rules = calloc(1, sizeof *rules);
    *error = (us_rules_error){0, rules == NULL ? no_memory : NULL};
    if (rules == NULL) return NULL;
    rules->bytes = sizeof *rules;
    const uint8_t *s = text, *end = text + length;
    int everywhere = 0;
    while (s < end && error->what == NULL) {
        const uint8_t *feed = memchr(s, '\n', (size_t)(end - s));
        if (feed == NULL) feed = end;
        field fields[FIELDS];
        const size_t count = split(s, feed, fields);
        error->line++;
        error->what = count <= FIELDS ? take(rules, fields, count) : "too many fields";
        if (error->what == NULL && s[0] == 'r' && s[2] == 'a') everywhere = 1;
        s = feed < end ? feed + 1 : end;
    }
    if (error->what == NULL && everywhere && rules->count > 1) error->what = "a rule for every URL stands alone";
    if (error->what == NULL && us_rules_index(rules) != 0) error->what = no_memory;
    if (error->what != NULL) {
        us_rules_free(rules);
        return NULL;
    }
    for (size_t i = 0; i < rules->count; i++) us_rule_sort_moves(&rules->rules[i]);
    if (everywhere) rules->any = &rules->rules[0];
    return rules;
}

static void free_rule(us_rule *rule) {
    us_glob_free(&rule->path);
    for (size_t i = 0; i < rule->name_count; i++) us_glob_free(&rule->names[i]);
    for (size_t i = 0; i < rule->move_count; i++) {
        free(rule->moves[i].from);
        free(rule->moves[i].to);
    }
    for (size_t i = 0; i < rule->rewrite_count; i++) {
        us_regex_free(rule->rewrites[i].regex);
        free(rule->rewrites[i].to);
    }
    free(rule->names);
    free(rule->moves);
    free(rule->rewrites);
}

void us_rules_free(us_rules *rules) {
    if (rules == NULL) return;
    for (size_t i = 0; i < rules->count; i++) free_rule(&rules->rules[i]);
    for (size_t i = 0; i < rules->site_count; i++) free(rules->sites[i].far);
    free(rules->rules);
    free(rules->sites);
    free(rules->slots);
    free(rules->filter);
    free(rules->ends);
    free(rules);
}
