/* Writes a run: records in order go in, the bytes of the file come out as its blocks become full; the caller puts them on disk. */
#ifndef US_RUNWRITE_H
#define US_RUNWRITE_H

#include "blockpack.h"
#include "run.h"
#include "work.h"

enum us_write_status { US_WRITE_OK, US_WRITE_MEMORY, US_WRITE_ORDER, US_WRITE_ABSENT };

typedef struct {
    us_record pending[US_BLOCK_KEYS];   /* the block in work */
    us_measure measure;
    us_record last;
    uint64_t owner;
    uint64_t count;
    uint64_t offset;                    /* bytes that came out so far */
    us_work index;
    size_t blocks;
} us_run_writer;

void us_run_writer_init(us_run_writer *writer, uint64_t owner);
void us_run_writer_free(us_run_writer *writer);

/* Appends finished bytes to out->text. US_WRITE_ORDER (not after the one before; *wrong says which) and US_WRITE_ABSENT change nothing;
after US_WRITE_MEMORY nothing more can be done with the writer. */
enum us_write_status us_run_writer_add(us_run_writer *writer, const uint8_t *records, size_t count, us_work *out, size_t *wrong);

/* Appends the rest. 0, or -1 when memory is out. The writer is done. */
int us_run_writer_finish(us_run_writer *writer, us_work *out);

#endif
