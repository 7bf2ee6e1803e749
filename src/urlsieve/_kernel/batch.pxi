# Part of _core.pyx: results of a batch, in columns.

@cython.final
cdef class Batch:
    """The results of many URLs in columns: `fingerprints` (16 bytes each), `status` (one byte each), and the keys if they were kept."""

    cdef us_work work
    cdef us_batch columns
    cdef Program program
    cdef bytes base
    cdef readonly bytes fingerprints
    cdef readonly bytes status
    cdef readonly bytes digests
    cdef us_entry *entries
    cdef readonly Py_ssize_t count

    def __cinit__(self, Program program not None, Py_ssize_t count, bint keep, bytes base, bint digests):
        us_work_init(&self.work)
        self.program = program
        self.count = count
        self.fingerprints = PyBytes_FromStringAndSize(NULL, 16 * count)
        self.status = PyBytes_FromStringAndSize(NULL, count)
        if keep:
            self.entries = <us_entry *>PyMem_Malloc((count + 1) * sizeof(us_entry))
            if self.entries is NULL:
                raise MemoryError
        self.columns.program = program.program
        self.columns.work = &self.work
        self.base = base
        set_base(&self.columns, base)
        self.columns.variants = NULL
        self.columns.fingerprints = <uint8_t *>PyBytes_AS_STRING(self.fingerprints)
        self.columns.status = <uint8_t *>PyBytes_AS_STRING(self.status)
        self.columns.entries = self.entries
        self.digests = PyBytes_FromStringAndSize(NULL, us_digest_size(program.form) * count if digests else 0)
        self.columns.digests = <uint8_t *>PyBytes_AS_STRING(self.digests) if digests else NULL

    def __dealloc__(self):
        us_work_free(&self.work)
        PyMem_Free(self.entries)

    cdef take(self, list urls, list variants, object resolve):
        cdef Py_ssize_t first, i, size
        cdef us_span *texts = NULL
        cdef us_span *extra = NULL
        try:
            texts = spans(min(self.count, CHUNK))
            if variants is not None:
                extra = spans(self.count)
                for i in range(self.count):
                    span_of(variants[i], &extra[i])
                self.columns.variants = extra
                held_variants = list(variants)
            for first in range(0, self.count, CHUNK):
                size = min(CHUNK, self.count - first)
                chunk = urls[first:first + size]   # holds the references while other threads may change the list
                if len(chunk) != size:
                    raise RuntimeError("the list of URLs was changed while it was read")
                held = []
                for i in range(size):
                    text = chunk[i]
                    if isinstance(text, str) and PyUnicode_IS_ASCII(text):
                        texts[i].text = <const uint8_t *>PyUnicode_DATA(text)
                        texts[i].length = <size_t>PyUnicode_GET_LENGTH(text)
                    else:
                        held.append(span_of(text, &texts[i]))
                self.run(texts, first, size)
                self.resolve_rest(chunk, first, resolve)
        finally:
            PyMem_Free(texts)
            PyMem_Free(extra)
            self.columns.variants = NULL

    cdef int run(self, const us_span *texts, size_t first, size_t count) except -1:
        cdef int failed
        with nogil:
            failed = us_batch_run(&self.columns, texts, first, count)
        if failed:
            raise MemoryError
        return 0

    cdef int resolve_rest(self, list texts, size_t first, object resolve) except -1:
        cdef size_t past = first + <size_t>len(texts)
        cdef size_t i = next_irregular(&self.columns, first, past)
        while i < past:
            resolved(&self.columns, i, texts[i - first], resolve)
            i = next_irregular(&self.columns, i + 1, past)
        return 0

    cdef us_entry *entry(self, Py_ssize_t i) except NULL:
        if self.entries is NULL:
            raise LookupError("the keys of this batch were not kept")
        if not 0 <= i < self.count:
            raise IndexError(i)
        return &self.entries[i]

    def key(self, Py_ssize_t i):
        """The canonical form of URL i as bytes, or None if it was rejected."""
        cdef us_entry *entry = self.entry(i)
        if self.columns.status[i] != 0:
            return None
        return PyBytes_FromStringAndSize(<char *>self.work.text + entry.start, entry.key.length)

    def site(self, Py_ssize_t i):
        """The site of URL i as bytes, or None if it was rejected."""
        cdef us_entry *entry = self.entry(i)
        if self.columns.status[i] != 0:
            return None
        return PyBytes_FromStringAndSize(<char *>self.work.text + entry.start + entry.key.site_start, entry.key.site_length)

    def host(self, Py_ssize_t i):
        """The site of URL i as it was found, before rules and switches, as bytes; None if it was rejected."""
        cdef us_entry *entry = self.entry(i)
        if self.columns.status[i] == 0 and entry.key.found_length > 0:
            return PyBytes_FromStringAndSize(<char *>self.work.text + entry.start + entry.key.length, entry.key.found_length)
        return self.site(i)

    def rule(self, Py_ssize_t i):
        """(number of the rule for URL i or None, unsettled: 0, or why its change of the path was not made)."""
        cdef us_entry *entry = self.entry(i)
        if self.columns.status[i] != 0 or entry.key.rule == 0:
            return None, 0
        return entry.key.rule - 1, entry.key.unsettled

    def route(self, Py_ssize_t i):
        """Did the key of URL i keep a fragment?"""
        cdef us_entry *entry = self.entry(i)
        return self.columns.status[i] == 0 and entry.key.route != 0
