"""What the wrapper uses of the C core; the headers say what it means."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)


cdef extern from "siphash.h" nogil:
    uint64_t us_siphash(uint64_t key0, uint64_t key1, const uint8_t *data, size_t length)
    uint64_t us_load64(const uint8_t *source)


cdef extern from "work.h" nogil:
    ctypedef struct us_work:
        uint8_t *text
        size_t used
        uint8_t *site
    void us_work_init(us_work *work)
    void us_work_free(us_work *work)


cdef extern from "program.h" nogil:
    ctypedef struct us_options:
        uint32_t steps
        int fragment
        uint32_t form
        uint32_t trap_segments
        uint32_t trap_repeats
        uint32_t trap_names
        uint64_t key0
        uint64_t key1
        const uint8_t *noise
        size_t noise_length
        const us_rules *rules
    ctypedef struct us_rules:
        size_t count
        size_t bytes
    ctypedef struct us_program:
        pass
    us_program *us_program_new(const us_options *options)
    void us_program_free(us_program *program)


cdef extern from "canonical.h" nogil:
    int US_OK
    int US_IRREGULAR
    ctypedef struct us_key:
        uint32_t length
        uint32_t site_start
        uint32_t site_length
        uint32_t route
        uint32_t found_length
        uint32_t rule
        uint32_t unsettled


cdef extern from "regex.h" nogil:
    enum: US_REGEX_GROUPS
    ctypedef struct us_regex:
        uint32_t size
        uint32_t slots
    ctypedef struct us_regex_error:
        const char *what
        size_t at
    us_regex *us_regex_new(const uint8_t *pattern, size_t length, us_regex_error *error)
    void us_regex_free(us_regex *regex)
    size_t us_regex_scratch(const us_regex *regex)
    int us_regex_match(const us_regex *regex, const uint8_t *text, size_t length, void *scratch, uint32_t *slots, uint64_t *steps)
    size_t us_regex_sample(const us_regex *regex, uint64_t *state, uint8_t *to, size_t room)


cdef extern from "glob.h" nogil:
    ctypedef struct us_glob:
        pass
    enum us_glob_status:
        US_GLOB_OK
        US_GLOB_MEMORY
        US_GLOB_TOO_LONG
    us_glob_status us_glob_new(us_glob *glob, const uint8_t *pattern, size_t length)
    void us_glob_free(us_glob *glob)
    int us_glob_matches(const us_glob *glob, const uint8_t *text, size_t length)


cdef extern from "rules.h" nogil:
    ctypedef struct us_rules_error:
        size_t line
        const char *what
    us_rules *us_rules_new(const uint8_t *text, size_t length, us_rules_error *error)
    void us_rules_free(us_rules *rules)


cdef extern from "batch.h" nogil:
    ctypedef struct us_span:
        const uint8_t *text
        size_t length
    ctypedef struct us_entry:
        uint64_t start
        us_key key
    ctypedef struct us_batch:
        const us_program *program
        us_work *work
        us_span origin
        us_span folder
        const us_span *variants
        uint8_t *fingerprints
        uint8_t *status
        us_entry *entries
        uint8_t *digests
    void us_batch_base(us_batch *batch, us_span href)
    int us_batch_one(const us_batch *batch, size_t i, us_span text, int href)
    int us_batch_run(const us_batch *batch, const us_span *texts, size_t first, size_t count)
    size_t us_count_lines(const uint8_t *block, size_t length)
    void us_cut_lines(const uint8_t *block, size_t length, us_span *lines, size_t count)
    us_span us_line_url(us_span line)
    size_t us_selected_size(const us_span *lines, const uint8_t *flags, size_t count, size_t ending)
    int us_select(const us_span *lines, const uint8_t *flags, size_t count, us_span ending, uint8_t *to, size_t room)


cdef extern from "foreign.h" nogil:
    size_t us_digest_size(uint32_t form)


cdef extern from "fpset.h" nogil:
    ctypedef struct us_fpset:
        size_t count
        size_t bytes
        size_t peak
    void us_fpset_init(us_fpset *set)
    void us_fpset_free(us_fpset *set)
    int us_fpset_add(us_fpset *set, const uint8_t *fingerprints, const uint8_t *status, size_t count, uint8_t *flags)
    void us_fpset_contains(const us_fpset *set, const uint8_t *fingerprints, size_t count, uint8_t *flags)


cdef extern from "record.h" nogil:
    int64_t US_ABSENT
    int64_t US_TOMBSTONE
    ctypedef struct us_record:
        pass
    us_record us_load_fingerprint(const uint8_t *source)
    void us_store_fingerprint(uint8_t *to, const us_record *record)


cdef extern from "fpmap.h" nogil:
    ctypedef struct us_map_slot:
        pass
    ctypedef struct us_fpmap:
        size_t room
        size_t count
    void us_fpmap_init(us_fpmap *map)
    void us_fpmap_free(us_fpmap *map)
    int us_fpmap_set(us_fpmap *map, const uint8_t *records, size_t count)
    void us_fpmap_get(const us_fpmap *map, const uint8_t *fingerprints, size_t count, uint8_t *values)
    int us_fpmap_sorted(const us_fpmap *map, uint8_t *to)
    int us_any_absent(const uint8_t *records, size_t count)


cdef extern from "block.h" nogil:
    ctypedef struct us_block:
        pass


cdef extern from "run.h" nogil:
    int US_RUN_VERSION
    int US_RUN_OLDEST
    enum us_run_status:
        US_RUN_OK
        US_RUN_MEMORY
        US_RUN_NOT_ONE
        US_RUN_OTHER_VERSION
        US_RUN_OTHER_STORE
        US_RUN_CUT_OFF
        US_RUN_NO_END
        US_RUN_BAD_HEADER
        US_RUN_BAD_FOOTER
        US_RUN_BAD_INDEX
    ctypedef struct us_runfile:
        size_t size
        size_t blocks
        uint64_t count
        us_record last
        uint64_t version
        uint64_t wanted
    ctypedef struct us_found:
        size_t filled
        size_t damaged
    us_run_status us_run_open(us_runfile *run, const uint8_t *data, size_t size, uint64_t owner)
    void us_run_free(us_runfile *run)
    us_record us_run_first(const us_runfile *run, size_t block)
    int us_run_block(us_runfile *run, size_t number, int again, us_block *block)
    int us_run_find(us_runfile *run, const uint8_t *fingerprints, size_t count, uint8_t *values, us_found *found)


cdef extern from "runwrite.h" nogil:
    enum us_write_status:
        US_WRITE_OK
        US_WRITE_MEMORY
        US_WRITE_ORDER
        US_WRITE_ABSENT
    ctypedef struct us_run_writer:
        uint64_t count
    void us_run_writer_init(us_run_writer *writer, uint64_t owner)
    void us_run_writer_free(us_run_writer *writer)
    us_write_status us_run_writer_add(us_run_writer *writer, const uint8_t *records, size_t count, us_work *out, size_t *wrong)
    int us_run_writer_finish(us_run_writer *writer, us_work *out)


cdef extern from "runmerge.h" nogil:
    ctypedef struct us_source:
        us_runfile *run
        const uint8_t *records
        size_t count
    enum us_merge_status:
        US_MERGE_OK
        US_MERGE_MORE
        US_MERGE_MEMORY
        US_MERGE_DAMAGED
        US_MERGE_ORDER
        US_MERGE_ABSENT
    ctypedef struct us_merge_wrong:
        size_t source
        size_t at
    us_merge_status us_merge(us_source *sources, size_t count, const us_record *start, size_t limit, int tombstones, us_work *out,
                             us_record *next, us_merge_wrong *wrong)


cdef extern from "cuckoo.h" nogil:
    size_t US_CUCKOO_PARTS
    ctypedef struct us_cuckoo:
        int with_values
        size_t count
        size_t bytes
    int us_cuckoo_init(us_cuckoo *table, int with_values, uint64_t seed)
    void us_cuckoo_free(us_cuckoo *table)
    int us_cuckoo_reserve(us_cuckoo *table, size_t keys)
    int us_cuckoo_add(us_cuckoo *table, const uint8_t *fingerprints, const int64_t *values, size_t count, int replace, uint8_t *flags)
    int us_cuckoo_get(us_cuckoo *table, const uint8_t *fingerprints, size_t count, uint8_t *flags, int64_t *values, int64_t missing)
    int us_cuckoo_discard(us_cuckoo *table, const uint8_t *fingerprints, size_t count, uint8_t *flags)
    size_t us_cuckoo_part_count(us_cuckoo *table, size_t part)
    size_t us_cuckoo_list(us_cuckoo *table, size_t part, uint8_t *fingerprints, int64_t *values, size_t room)
    void us_cuckoo_clear(us_cuckoo *table)


cdef extern from "bloom.h" nogil:
    ctypedef struct us_bloom:
        void *words
        uint64_t blocks
        uint32_t bits
    size_t us_bloom_add(us_bloom *bloom, const uint8_t *fingerprints, size_t count, uint8_t *flags)
    void us_bloom_get(const us_bloom *bloom, const uint8_t *fingerprints, size_t count, uint8_t *flags)
    uint64_t us_bloom_set_bits(const us_bloom *bloom)
    uint64_t us_bloom_checksum(const us_bloom *bloom)


cdef extern from "hll.h" nogil:
    int us_hll_add(uint8_t *registers, uint32_t p, const uint8_t *fingerprints, size_t count)
    double us_hll_estimate(const uint8_t *registers, uint32_t p)
    int us_hll_check(const uint8_t *registers, uint32_t p)
