#include "runwrite.h"

void us_run_writer_init(us_run_writer *writer, uint64_t owner) {
    memset(writer, 0, sizeof *writer);
    writer->owner = owner;
    us_work_init(&writer->index);
}

void us_run_writer_free(us_run_writer *writer) { us_work_free(&writer->index); }

static void came_out(us_run_writer *writer, us_work *out, size_t length) {
    out->used += length;
    writer->offset += length;
}

static int put_header(us_run_writer *writer, us_work *out) {
    if (us_work_text(out, US_RUN_HEADER) != 0) return -1;
    uint8_t *to = out->text + out->used;
    memset(to, 0, US_RUN_HEADER);
    memcpy(to, US_RUN_MAGIC, 8);
    us_store64(to + 8, US_RUN_VERSION);
    us_store64(to + 16, writer->owner);
    us_store64(to + 56, us_checksum(writer->owner, US_PART_HEADER, to, 56));
    came_out(writer, out, US_RUN_HEADER);
    return 0;
}

static int put_block(us_run_writer *writer, us_work *out) {
    if (us_work_text(out, US_BLOCK_MOST + US_BITS_BEHIND) != 0 || us_work_text(&writer->index, US_RUN_ENTRY) != 0) return -1;
    uint8_t *to = out->text + out->used, *entry = writer->index.text + writer->index.used;
    const size_t length = us_block_pack(writer->pending, &writer->measure, writer->owner, writer->blocks, to);
    us_store_fingerprint(entry, &writer->pending[0]);
    us_store64(entry + 16, writer->offset);
    us_store64(entry + 24, us_load64(to));
    writer->index.used += US_RUN_ENTRY;
    writer->blocks++;
    memset(&writer->measure, 0, sizeof writer->measure);
    came_out(writer, out, length);
    return 0;
}

/* Takes the record into the block in work; 0 if the block would be too long with it, and then nothing has changed. */
static int take(us_run_writer *writer, const us_record *record) {
    if (!us_measure_take(&writer->measure, record)) return 0;
    writer->pending[writer->measure.keys - 1] = *record;
    return 1;
}

static enum us_write_status looked_at(const us_run_writer *writer, const uint8_t *records, size_t count, size_t *wrong) {
    us_record before = writer->last;
    for (size_t i = 0; i < count; i++) {
        const us_record record = us_load_record(records + US_RECORD * i);
        *wrong = i;
        if (record.value == US_ABSENT) return US_WRITE_ABSENT;
        if ((writer->count > 0 || i > 0) && !us_before(&before, &record)) return US_WRITE_ORDER;
        before = record;
    }
    return US_WRITE_OK;
}

enum us_write_status us_run_writer_add(us_run_writer *writer, const uint8_t *records, size_t count, us_work *out, size_t *wrong) {
    const enum us_write_status status = looked_at(writer, records, count, wrong);
    if (status != US_WRITE_OK) return status;
    if (writer->offset == 0 && put_header(writer, out) != 0) return US_WRITE_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const us_record record = us_load_record(records + US_RECORD * i);
        if (!take(writer, &record) && (put_block(writer, out) != 0 || !take(writer, &record))) return US_WRITE_MEMORY;
        writer->last = record;
        writer->count++;
    }
    return US_WRITE_OK;
}

int us_run_writer_finish(us_run_writer *writer, us_work *out) {
    if (writer->offset == 0 && put_header(writer, out) != 0) return -1;
    if (writer->measure.keys > 0 && put_block(writer, out) != 0) return -1;
    const size_t length = writer->index.used;
    if (us_work_text(out, length + US_RUN_FOOTER) != 0) return -1;
    uint8_t *index = out->text + out->used, *footer = index + length;
    if (length > 0) memcpy(index, writer->index.text, length);
    memset(footer, 0, US_RUN_FOOTER);
    us_store64(footer, writer->count);
    us_store64(footer + 8, writer->blocks);
    us_store_fingerprint(footer + 16, &writer->last);
    us_store64(footer + 32, writer->offset);
    us_store64(footer + 40, writer->offset + length + US_RUN_FOOTER);
    us_store64(footer + 48, writer->owner);
    us_store64(footer + 56, us_checksum(writer->owner, US_PART_INDEX, index, length));
    memcpy(footer + 80, US_RUN_END, 8);
    us_store64(footer + 88, us_checksum(writer->owner, US_PART_FOOTER, footer, 88));
    came_out(writer, out, length + US_RUN_FOOTER);
    return 0;
}
