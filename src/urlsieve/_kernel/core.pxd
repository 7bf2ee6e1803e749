"""What the wrapper uses of the C core; the headers say what it means."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t, uint64_t


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
    void us_work_init(us_work *work)
    void us_work_free(us_work *work)


cdef extern from "program.h" nogil:
    ctypedef struct us_options:
        uint32_t steps
        int fragment
        uint32_t trap_segments
        uint32_t trap_repeats
        uint32_t trap_names
        uint64_t key0
        uint64_t key1
        const uint8_t *noise
        size_t noise_length
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
    void us_batch_base(us_batch *batch, us_span href)
    int us_batch_one(const us_batch *batch, size_t i, us_span text, int href)
    int us_batch_run(const us_batch *batch, const us_span *texts, size_t first, size_t count)
    size_t us_count_lines(const uint8_t *block, size_t length)
    void us_cut_lines(const uint8_t *block, size_t length, us_span *lines, size_t count)
    us_span us_line_url(us_span line)
    size_t us_selected_size(const us_span *lines, const uint8_t *flags, size_t count, size_t ending)
    int us_select(const us_span *lines, const uint8_t *flags, size_t count, us_span ending, uint8_t *to, size_t room)


cdef extern from "fpset.h" nogil:
    ctypedef struct us_fpset:
        size_t count
        size_t bytes
        size_t peak
    void us_fpset_init(us_fpset *set)
    void us_fpset_free(us_fpset *set)
    int us_fpset_add(us_fpset *set, const uint8_t *fingerprints, const uint8_t *status, size_t count, uint8_t *flags)
    void us_fpset_contains(const us_fpset *set, const uint8_t *fingerprints, size_t count, uint8_t *flags)
