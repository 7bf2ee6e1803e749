# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, freethreading_compatible=False
"""Python objects go in, the C core runs on their bytes without the GIL, Python objects come out. Nothing is decided here."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_AsStringAndSize, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memset

from threading import Lock

from urlsieve._kernel.core cimport (
    PyUnicode_DATA,
    PyUnicode_GET_LENGTH,
    PyUnicode_IS_ASCII,
    US_ABSENT,
    US_CUCKOO_PARTS,
    US_GLOB_MEMORY,
    US_GLOB_OK,
    US_IRREGULAR,
    US_MERGE_ABSENT,
    US_MERGE_DAMAGED,
    US_MERGE_MEMORY,
    US_MERGE_MORE,
    US_MERGE_OK,
    US_MERGE_ORDER,
    US_REGEX_GROUPS,
    US_RUN_BAD_FOOTER,
    US_RUN_BAD_HEADER,
    US_RUN_BAD_INDEX,
    US_RUN_CUT_OFF,
    US_RUN_MEMORY,
    US_RUN_NOT_ONE,
    US_RUN_NO_END,
    US_RUN_OK,
    US_RUN_OTHER_STORE,
    US_RUN_OTHER_VERSION,
    US_RUN_OLDEST,
    US_RUN_VERSION,
    US_TOMBSTONE,
    US_WRITE_ABSENT,
    US_WRITE_MEMORY,
    US_WRITE_OK,
    US_WRITE_ORDER,
    us_any_absent,
    us_batch,
    us_batch_base,
    us_batch_one,
    us_batch_run,
    us_block,
    us_bloom,
    us_bloom_add,
    us_bloom_checksum,
    us_bloom_get,
    us_bloom_set_bits,
    us_count_lines,
    us_cuckoo,
    us_cuckoo_add,
    us_cuckoo_clear,
    us_cuckoo_discard,
    us_cuckoo_free,
    us_cuckoo_get,
    us_cuckoo_init,
    us_cuckoo_list,
    us_cuckoo_part_count,
    us_cuckoo_reserve,
    us_cut_lines,
    us_digest_size,
    us_entry,
    us_found,
    us_fpmap,
    us_fpmap_free,
    us_fpmap_get,
    us_fpmap_init,
    us_fpmap_set,
    us_fpmap_sorted,
    us_fpset,
    us_fpset_add,
    us_fpset_contains,
    us_fpset_free,
    us_fpset_init,
    us_glob,
    us_glob_free,
    us_glob_matches,
    us_glob_new,
    us_glob_status,
    us_hll_add,
    us_hll_check,
    us_hll_estimate,
    us_line_url,
    us_load64,
    us_load_fingerprint,
    us_map_slot,
    us_merge,
    us_merge_status,
    us_merge_wrong,
    us_options,
    us_program,
    us_program_free,
    us_program_new,
    us_record,
    us_regex,
    us_regex_error,
    us_regex_free,
    us_regex_match,
    us_regex_new,
    us_regex_sample,
    us_regex_scratch,
    us_rules,
    us_rules_error,
    us_rules_free,
    us_rules_new,
    us_run_block,
    us_run_find,
    us_run_first,
    us_run_free,
    us_run_open,
    us_run_status,
    us_run_writer,
    us_run_writer_add,
    us_run_writer_finish,
    us_run_writer_free,
    us_run_writer_init,
    us_runfile,
    us_select,
    us_selected_size,
    us_siphash,
    us_source,
    us_span,
    us_store_fingerprint,
    us_work,
    us_work_free,
    us_work_init,
    us_write_status,
)


cdef enum:
    CHUNK = 4096   # URLs per stretch without the GIL

STEP_PERCENT = 1 << 0
STEP_PATH_SESSION = 1 << 1
STEP_EMPTY_QUERY = 1 << 2
STEP_EMPTY_PIECES = 1 << 3
STEP_NOISE = 1 << 4
STEP_QUERY_SESSION = 1 << 5
STEP_SORT = 1 << 6
STEP_USERINFO = 1 << 8
STEP_HOST_DOT = 1 << 9
STEP_WWW = 1 << 10
STEP_HTTPS = 1 << 11
STEP_SUBDELIMS = 1 << 12
STEP_PLUS = 1 << 13
STEP_SHORT_SESSION = 1 << 14
STEP_COLLAPSE = 1 << 15
STEP_INDEX = 1 << 16
STEP_SLASH = 1 << 17
STEP_BLANK = 1 << 18
STEP_DEDUP = 1 << 19
STEP_SORT_FULL = 1 << 20
STEP_ASCII_ONLY = 1 << 29
STEP_ALWAYS_PARSE = 1 << 30
FRAGMENT_DROP, FRAGMENT_ROUTES, FRAGMENT_KEEP = 0, 1, 2
FORM_OURS, FORM_SCRAPY, FORM_CLASSIC = 0, 1, 2


cdef bytes utf8(str text):
    """UTF-8 of any str; a surrogate pair is its character, a lone surrogate U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


cdef object span_of(object text, us_span *span):
    """Points `span` at the bytes of a str or bytes; the returned object must live as long as the span is used."""
    cdef Py_ssize_t size = 0
    cdef char *data = NULL
    if isinstance(text, str):
        if PyUnicode_IS_ASCII(text):
            span.text = <const uint8_t *>PyUnicode_DATA(text)
            span.length = <size_t>PyUnicode_GET_LENGTH(text)
            return text
        text = utf8(text)   # not PyUnicode_AsUTF8: that would stay in the caller's string for ever
    elif not isinstance(text, bytes):
        raise TypeError(f"a URL is str or bytes, not {type(text).__name__}")
    PyBytes_AsStringAndSize(text, &data, &size)
    span.text = <const uint8_t *>data
    span.length = <size_t>size
    return text


def siphash24(bytes key not None, bytes data not None):
    """SipHash-2-4 of `data` under a key of 16 bytes, as an unsigned 64-bit integer."""
    cdef us_span k, d
    if len(key) != 16:
        raise ValueError("a SipHash key has 16 bytes")
    span_of(key, &k)
    span_of(data, &d)
    return us_siphash(us_load64(k.text), us_load64(k.text + 8), d.text, d.length)


include "rules.pxi"


@cython.final
cdef class Program:
    """A compiled profile; immutable, usable from any thread."""

    cdef us_program *program
    cdef RuleTable rules
    cdef uint32_t form

    def __cinit__(self, *, uint32_t steps, int fragment, bytes noise not None, tuple traps not None, bytes secret not None,
                  RuleTable rules=None, uint32_t form=0):
        cdef us_options options
        cdef us_span key, names
        if len(secret) != 16:
            raise ValueError("the secret has 16 bytes")
        span_of(secret, &key)
        span_of(noise, &names)
        options.steps = steps
        options.fragment = fragment
        options.form = self.form = form
        options.trap_segments, options.trap_repeats, options.trap_names = traps
        options.key0 = us_load64(key.text)
        options.key1 = us_load64(key.text + 8)
        options.noise = names.text
        options.noise_length = names.length
        options.rules = NULL if rules is None else rules.rules
        self.rules = rules   # it lives as long as this
        self.program = us_program_new(&options)
        if self.program is NULL:
            raise MemoryError("no memory for a canonical form's tables, or a noise name is longer than 63 bytes")

    def __dealloc__(self):
        us_program_free(self.program)

    def one(self, object text, object resolve, bytes base, bytes variant=b"", bint href=False):
        """(status, fingerprint, key, site's start, site's length, is route) of one URL; key and fingerprint mean nothing if status is not 0."""
        cdef us_work work
        cdef us_batch batch
        cdef us_entry entry
        cdef us_span span, extra
        cdef uint8_t status = 0
        cdef uint8_t fingerprint[16]
        us_work_init(&work)
        memset(&entry, 0, sizeof(entry))
        held = span_of(text, &span)
        span_of(variant, &extra)
        batch.program, batch.work, batch.variants = self.program, &work, &extra
        set_base(&batch, base)
        batch.fingerprints, batch.status, batch.entries, batch.digests = fingerprint, &status, &entry, NULL
        try:
            self.run_one(&batch, span, text, resolve, href)
            return (status, PyBytes_FromStringAndSize(<char *>fingerprint, 16),
                    PyBytes_FromStringAndSize(<char *>work.text + entry.start, entry.key.length) if status == 0 else b"",
                    entry.key.site_start, entry.key.site_length, entry.key.route != 0)
        finally:
            us_work_free(&work)

    def look(self, object text, object resolve, bytes base):
        """(status, key, rule's number or None, unsettled) of one URL: for explanations and for trying rules."""
        cdef us_work work
        cdef us_batch batch
        cdef us_entry entry
        cdef us_span span
        cdef uint8_t status = 0
        cdef uint8_t fingerprint[16]
        us_work_init(&work)
        memset(&entry, 0, sizeof(entry))
        held = span_of(text, &span)
        batch.program, batch.work, batch.variants = self.program, &work, NULL
        set_base(&batch, base)
        batch.fingerprints, batch.status, batch.entries = fingerprint, &status, &entry
        try:
            self.run_one(&batch, span, text, resolve, False)
            if status != 0:
                return (status, b"", None, 0)
            return (status, PyBytes_FromStringAndSize(<char *>work.text + entry.start, entry.key.length),
                    entry.key.rule - 1 if entry.key.rule > 0 else None, entry.key.unsettled)
        finally:
            us_work_free(&work)

    def fingerprint(self, object text, object resolve, bytes base, bytes variant=b""):
        """16 bytes of one URL, or its status (int, not 0) if it is rejected."""
        cdef us_work work
        cdef us_batch batch
        cdef us_span span, extra
        cdef uint8_t status = 0
        us_work_init(&work)
        held = span_of(text, &span)
        span_of(variant, &extra)
        fingerprint = PyBytes_FromStringAndSize(NULL, 16)
        batch.program, batch.work, batch.variants = self.program, &work, &extra
        set_base(&batch, base)
        batch.fingerprints, batch.status, batch.entries = <uint8_t *>PyBytes_AS_STRING(fingerprint), &status, NULL
        batch.digests = NULL
        try:
            self.run_one(&batch, span, text, resolve, False)
        finally:
            us_work_free(&work)
        return fingerprint if status == 0 else status

    cdef int run_one(self, us_batch *batch, us_span span, object text, object resolve, bint href) except -1:
        if us_batch_one(batch, 0, span, href) != 0:
            raise MemoryError
        if batch.status[0] == US_IRREGULAR:
            resolved(batch, 0, text, resolve)
        return 0

    def batch(self, list urls not None, object resolve, bytes base, list variants=None, bint keep=False, bint digests=False):
        """All of `urls` (str or bytes): a Batch."""
        result = Batch(self, len(urls), keep, base, digests)
        if variants is not None and len(variants) != len(urls):
            raise ValueError(f"{len(variants)} variants for {len(urls)} URLs: there must be one for each")
        result.take(urls, variants, resolve)
        return result

    def lines(self, const uint8_t[::1] block not None, object resolve):
        """Every line of a newline-separated block: a LineBatch."""
        result = LineBatch(self, block, resolve)
        result.run()
        return result


cdef int set_base(us_batch *batch, bytes base) except -1:
    """`base`: the href of an http(s) URL, which must live as long as the batch, or None."""
    cdef us_span href
    span_of(b"" if base is None else base, &href)
    us_batch_base(batch, href)
    return 0


cdef int resolved(us_batch *batch, size_t i, object text, object resolve) except -1:
    """Lets a WHATWG parser say what the irregular URL number i is: its href, or the status it is rejected with."""
    cdef us_span href
    answer = resolve(text)
    if isinstance(answer, int):
        batch.status[i] = <uint8_t>answer
        memset(batch.fingerprints + 16 * i, 0, 16)
        return 0
    span_of(answer, &href)
    if us_batch_one(batch, i, href, True) != 0:
        raise MemoryError
    if batch.status[i] == US_IRREGULAR:
        raise AssertionError(f"the parser's own result is not regular: {answer!r}")
    return 0


cdef size_t next_irregular(const us_batch *batch, size_t start, size_t end) noexcept:
    cdef const uint8_t *found = NULL
    if start < end:
        found = <const uint8_t *>memchr(batch.status + start, US_IRREGULAR, end - start)
    return end if found is NULL else <size_t>(found - batch.status)


cdef us_span *spans(size_t count) except NULL:
    cdef us_span *array = <us_span *>PyMem_Malloc((count + 1) * sizeof(us_span))
    if array is NULL:
        raise MemoryError
    return array


include "batch.pxi"
include "line_batch.pxi"
include "fingerprint_set.pxi"
include "fingerprint_map.pxi"
include "runs.pxi"
include "sketches.pxi"
