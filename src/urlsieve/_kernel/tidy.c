/* The switches of the profile `aggressive` that touch the authority and the path: what safe left goes in, the same with less in it comes out.

Each of them is at rest when done twice, and each takes away only what is left alone by all others or brought to rest by them again. */
#include <string.h>

#include "ascii.h"
#include "canonical.h"

enum us_status us_keep_site(us_run *run, us_key *key) {
    if (key->found_length > 0) return US_OK;
    if (us_work_site(run->work, key->site_length) != 0) return US_NO_MEMORY;
    memcpy(run->work->site, run->key + key->site_start, key->site_length);
    key->found_length = key->site_length;
    return US_OK;
}

/* One final dot; two in a row may hide a last label that is no name (`a.1..`), and a dot alone is all there is. */
static size_t final_dot(const uint8_t *host, size_t length) {
    return length > 1 && host[length - 1] == '.' && host[length - 2] != '.' ? 1 : 0;
}

/* Every leading `www.` behind which a name with a dot in it is left. */
static size_t leading_www(const uint8_t *host, size_t length) {
    size_t cut = 0;
    while (length - cut > 4 && memcmp(host + cut, "www.", 4) == 0) {
        const uint8_t *rest = host + cut + 4;
        const size_t left = length - cut - 4;
        if (rest[0] == '.' || memchr(rest, '.', left - 1) == NULL) break;
        cut += 4;
    }
    return cut;
}

enum us_status us_switch_head(us_run *run, us_key *key) {
    const uint32_t steps = run->program->options.steps;
    const uint32_t scheme = run->key[4] == 's' ? 8 : 7;
    uint8_t *site = run->key + key->site_start;
    if ((steps & US_STEP_USERINFO) && key->site_start > scheme) {
        memmove(run->key + scheme, site, key->site_length);
        key->site_start = scheme;
        site = run->key + scheme;
    }
    const size_t host = us_host_length(site, key->site_length), port = key->site_length - host;
    const size_t dot = steps & US_STEP_HOST_DOT ? final_dot(site, host) : 0;
    const size_t www = steps & US_STEP_WWW ? leading_www(site, host - dot) : 0;
    if (dot + www > 0) {
        if (us_keep_site(run, key) != US_OK) return US_NO_MEMORY;
        memmove(site, site + www, host - www - dot);
        memmove(site + host - www - dot, site + host, port);
        key->site_length -= (uint32_t)(dot + www);
    }
    run->write = site + key->site_length;
    if ((steps & US_STEP_HTTPS) && scheme == 7 && port == 0) {
        memmove(run->key + 5, run->key + 4, (size_t)(run->write - run->key) - 4);
        run->key[4] = 's';
        run->write++;
        key->site_start++;
    }
    return US_OK;
}

/* Is this last segment what a server shows for its folder? */
static int is_index(const uint8_t *segment, size_t length) {
    static const char *const names[] = {"index.html", "index.htm", "index.php", "index.asp", "index.aspx", "index.jsp", "index.shtml",
                                        "index.xhtml", "index.cgi", "default.htm", "default.html", "default.asp", "default.aspx"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t k = 0;
        while (k < length && names[i][k] != 0 && us_lower(segment[k]) == (uint8_t)names[i][k]) k++;
        if (k == length && names[i][k] == 0) return 1;
    }
    return 0;
}

static uint8_t *collapse(uint8_t *path, const uint8_t *end) {
    uint8_t *write = path + 1;
    for (const uint8_t *s = path + 1; s < end; s++) {
        if (*s != '/' || write[-1] != '/') *write++ = *s;
    }
    return write;
}

void us_tidy_path(us_run *run, uint32_t steps) {
    uint8_t *path = run->path, *end = run->write;
    if (steps & US_STEP_COLLAPSE) end = collapse(path, end);
    for (const uint8_t *before = NULL; before != end;) {
        before = end;
        if (steps & US_STEP_INDEX) {
            const uint8_t *segment = end;
            while (segment[-1] != '/' && end - segment < 16) segment--;
            if (segment[-1] == '/' && is_index(segment, (size_t)(end - segment))) end -= end - segment;
        }
        /* one slash: of two the first would be next, and `a//` is not `a` */
        if ((steps & US_STEP_SLASH) && end - path > 1 && end[-1] == '/' && end[-2] != '/') end--;
    }
    run->write = end;
}
