# Part of _core.pyx: a block of lines, and the text of those that are wanted.

@cython.final
cdef class LineBatch:
    """The results of a block's lines in columns. The block is referenced, not copied, and must not change while this lives."""

    cdef const uint8_t[::1] block
    cdef us_span *texts
    cdef Batch results
    cdef object resolve
    cdef readonly Py_ssize_t count

    def __cinit__(self, Program program not None, const uint8_t[::1] block not None, object resolve):
        cdef const uint8_t *data = NULL
        cdef size_t length = <size_t>block.shape[0]
        cdef size_t count = 0
        self.block = block
        self.resolve = resolve
        if length > 0:
            data = &block[0]
            with nogil:
                count = us_count_lines(data, length)
        self.count = <Py_ssize_t>count
        self.texts = spans(count)
        self.results = Batch(program, self.count, False, None, False)
        if length > 0:
            with nogil:
                us_cut_lines(data, length, self.texts, count)

    def __dealloc__(self):
        PyMem_Free(self.texts)

    cdef run(self):
        cdef us_span urls[CHUNK]
        cdef size_t first, i, size
        cdef us_batch *columns = &self.results.columns
        cdef int failed
        for first in range(0, <size_t>self.count, CHUNK):
            size = min(<size_t>CHUNK, <size_t>self.count - first)
            with nogil:
                for i in range(size):
                    urls[i] = us_line_url(self.texts[first + i])
                failed = us_batch_run(columns, urls, first, size)
            if failed:
                raise MemoryError
            i = next_irregular(columns, first, first + size)
            while i < first + size:
                resolved(columns, i, self.url(<Py_ssize_t>i), self.resolve)
                i = next_irregular(columns, i + 1, first + size)

    @property
    def fingerprints(self):
        return self.results.fingerprints

    @property
    def status(self):
        return self.results.status

    cdef bytes url(self, Py_ssize_t i):
        cdef us_span span = us_line_url(self.texts[i])
        return PyBytes_FromStringAndSize(<const char *>span.text, span.length)

    def line(self, Py_ssize_t i):
        """Line i as found, without its newline."""
        if not 0 <= i < self.count:
            raise IndexError(i)
        return PyBytes_FromStringAndSize(<const char *>self.texts[i].text, self.texts[i].length)

    def key(self, Py_ssize_t i):
        """The canonical form of line i as bytes, or None if it was rejected."""
        if not 0 <= i < self.count:
            raise IndexError(i)
        if self.results.columns.status[i] != 0:
            return None
        return self.results.program.one(self.url(i), self.resolve, None)[2]

    def select(self, const uint8_t[::1] flags not None, bint keys=False, bytes ending=b"\n"):
        """The lines whose flag is 1 (their canonical forms with `keys`; what has none is left out), each with `ending` behind it."""
        if flags.shape[0] != self.count:
            raise ValueError(f"{flags.shape[0]} flags for {self.count} lines: there must be one for each")
        if self.count == 0:
            return b""
        return self.select_keys(flags, ending) if keys else joined(self.texts, &flags[0], <size_t>self.count, ending)

    cdef bytes select_keys(self, const uint8_t[::1] flags, bytes ending):
        cdef Py_ssize_t i
        cdef size_t n = 0
        cdef us_span *texts = NULL
        cdef Batch chosen
        picked = [i for i in range(self.count) if flags[i] == 1 and self.results.columns.status[i] == 0]
        if not picked:
            return b""
        chosen = Batch(self.results.program, len(picked), True, None, False)
        texts = spans(len(picked))
        try:
            for i in picked:
                texts[n] = us_line_url(self.texts[i])
                n += 1
            chosen.run(texts, 0, n)
            for n in range(<size_t>len(picked)):
                if chosen.columns.status[n] == US_IRREGULAR:
                    resolved(&chosen.columns, n, self.url(picked[n]), self.resolve)
            for n in range(<size_t>len(picked)):
                texts[n].text = chosen.work.text + chosen.entries[n].start
                texts[n].length = chosen.entries[n].key.length
            ones = b"\x01" * len(picked)
            return joined(texts, <const uint8_t *>PyBytes_AS_STRING(ones), n + 1, ending)
        finally:
            PyMem_Free(texts)


cdef bytes joined(const us_span *lines, const uint8_t *flags, size_t count, bytes ending):
    cdef us_span tail
    cdef size_t size
    cdef int failed
    cdef uint8_t *to
    span_of(ending, &tail)
    with nogil:
        size = us_selected_size(lines, flags, count, tail.length)
    text = PyBytes_FromStringAndSize(NULL, size)
    to = <uint8_t *>PyBytes_AS_STRING(text)
    with nogil:
        failed = us_select(lines, flags, count, tail, to, size)
    if failed:
        raise RuntimeError("the flags were changed while the lines were joined")
    return text
