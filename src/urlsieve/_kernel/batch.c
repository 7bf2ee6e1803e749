#include "batch.h"

#include <string.h>

#include "foreign.h"
#include "siphash.h"

/* Site half, then URL half: SipHash(site) and SipHash(key 0x1F variant). */
static void fingerprint(const us_batch *batch, size_t i, const us_key *key) {
    const us_options *options = &batch->program->options;
    uint8_t *text = batch->work->text + batch->work->used;
    size_t length = key->length;
    text[length++] = 0x1f;
    if (batch->variants != NULL && batch->variants[i].length > 0) {
        memcpy(text + length, batch->variants[i].text, batch->variants[i].length);
        length += batch->variants[i].length;
    }
    uint8_t *to = batch->fingerprints + 16 * i;
    uint64_t halves[2];
    us_siphash_two(options->key0, options->key1, text + key->site_start, key->site_length, text, length, halves);
    us_store64(to, halves[0]);
    us_store64(to + 8, halves[1]);
}

void us_batch_base(us_batch *batch, us_span href) {
    const uint8_t *end = href.text + href.length, *s = href.text;
    int slashes = 0;
    batch->origin = batch->folder = (us_span){href.text, 0};
    for (; s < end && *s != '?' && *s != '#'; s++) {
        if (*s != '/') continue;
        if (++slashes == 3) batch->origin.length = (size_t)(s - href.text);
        batch->folder.length = (size_t)(s - href.text) + 1;
    }
}

/* A plain relative reference (`/path` or `path`) behind the base it is resolved against: the parser removes dot segments there as here.
Anything else (`//host`, `?query`, `#fragment`, what has a tab in it) stays irregular. */
static enum us_status relative(const us_batch *batch, us_span text, size_t spare, us_key *key) {
    while (text.length > 0 && *text.text <= 0x20) {
        text.text++;
        text.length--;
    }
    const uint8_t first = text.text[0], second = text.length > 1 ? text.text[1] : 0;
    if (first == '?' || first == '#' || first == '\\') return US_IRREGULAR;
    if (first == '/' && (second == '/' || second == '\\' || (second != 0 && second <= 0x20))) return US_IRREGULAR;
    const us_span base = first == '/' ? batch->origin : batch->folder;
    us_work *work = batch->work;
    if (us_work_joined(work, base.length + text.length) != 0) return US_NO_MEMORY;
    memcpy(work->joined, base.text, base.length);
    memcpy(work->joined + base.length, text.text, text.length);
    return us_canonicalize(batch->program, work, work->joined, base.length + text.length, 1, spare, key);
}

int us_batch_one(const us_batch *batch, size_t i, us_span text, int href) {
    us_key key = {0};
    const size_t spare = 1 + (batch->variants != NULL ? batch->variants[i].length : 0);
    enum us_status status = us_canonicalize(batch->program, batch->work, text.text, text.length, href, spare, &key);

    if (status == US_NO_SCHEME) status = batch->origin.length > 0 ? relative(batch, text, spare, &key) : US_RELATIVE;
    if (status == US_NO_MEMORY) return -1;
    batch->status[i] = (uint8_t)status;
    const size_t size = batch->digests != NULL ? us_digest_size(batch->program->options.form) : 0;
    if (status != US_OK) {
        memset(batch->fingerprints + 16 * i, 0, 16);
        if (size > 0) memset(batch->digests + size * i, 0, size);
        if (batch->entries != NULL) memset(&batch->entries[i], 0, sizeof batch->entries[i]);
        return 0;
    }
    fingerprint(batch, i, &key);
    if (size > 0) us_digest(batch->program->options.form, batch->work->text + batch->work->used, key.length, batch->digests + size * i);
    if (batch->entries != NULL) {
        batch->entries[i].start = batch->work->used;
        batch->entries[i].key = key;
        batch->work->used += key.length;
        if (key.found_length > 0) {   /* the site as found stands behind the key */
            if (us_work_text(batch->work, key.found_length) != 0) return -1;
            memcpy(batch->work->text + batch->work->used, batch->work->site, key.found_length);
            batch->work->used += key.found_length;
        }
    }
    return 0;
}

int us_batch_run(const us_batch *batch, const us_span *texts, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (us_batch_one(batch, first + i, texts[i], 0) != 0) return -1;
    }
    return 0;
}

size_t us_count_lines(const uint8_t *block, size_t length) {
    size_t count = 0;
    const uint8_t *s = block, *end = block + length;
    while (s < end) {
        const uint8_t *feed = memchr(s, '\n', (size_t)(end - s));
        count++;
        if (feed == NULL) break;
        s = feed + 1;
    }
    return count;
}

void us_cut_lines(const uint8_t *block, size_t length, us_span *lines, size_t count) {
    const uint8_t *s = block, *end = block + length;
    for (size_t i = 0; i < count && s < end; i++) {
        const uint8_t *feed = memchr(s, '\n', (size_t)(end - s));
        if (feed == NULL) feed = end;
        lines[i].text = s;
        lines[i].length = (size_t)(feed - s);
        s = feed < end ? feed + 1 : end;
    }
}

us_span us_line_url(us_span line) {
    if (line.length > 0 && line.text[line.length - 1] == '\r') line.length--;
    return line;
}

size_t us_selected_size(const us_span *lines, const uint8_t *flags, size_t count, size_t ending) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        if (flags[i] == 1) size += lines[i].length + ending;
    }
    return size;
}

int us_select(const us_span *lines, const uint8_t *flags, size_t count, us_span ending, uint8_t *to, size_t room) {
    for (size_t i = 0; i < count; i++) {
        if (flags[i] != 1) continue;
        if (lines[i].length + ending.length > room) return -1;
        memcpy(to, lines[i].text, lines[i].length);
        to += lines[i].length;
        memcpy(to, ending.text, ending.length);
        to += ending.length;
        room -= lines[i].length + ending.length;
    }
    return 0;
}
