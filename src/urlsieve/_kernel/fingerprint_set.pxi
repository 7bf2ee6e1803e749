# Part of _core.pyx: the set of fingerprints.

@cython.final
cdef class FingerprintSet:
    """A set of 16-byte fingerprints in at most 24 bytes each, at any size and while it grows. Give it keyed hashes; usable from any thread."""

    cdef us_fpset table
    cdef object lock

    def __cinit__(self):
        us_fpset_init(&self.table)
        self.lock = Lock()

    def __dealloc__(self):
        us_fpset_free(&self.table)

    def __len__(self):
        return <Py_ssize_t>self.table.count

    @property
    def nbytes(self):
        """Bytes allocated now."""
        return self.table.bytes + sizeof(us_fpset)

    @property
    def peak_nbytes(self):
        """Most bytes ever allocated at once, growing included."""
        return max(self.table.peak, self.table.bytes) + sizeof(us_fpset)

    def add_many(self, bytes fingerprints not None, bytes status=None):
        """One byte per key: 1 new, 0 known (the first of equals in a batch is the new one), 2 skipped because its status is not 0."""
        cdef size_t count = <size_t>PyBytes_GET_SIZE(fingerprints) // 16
        cdef const uint8_t *keys = <const uint8_t *>PyBytes_AS_STRING(fingerprints)
        cdef const uint8_t *skip = NULL
        cdef uint8_t *flags
        cdef int failed
        if PyBytes_GET_SIZE(fingerprints) % 16:
            raise ValueError("fingerprints have 16 bytes each")
        if status is not None:
            if <size_t>PyBytes_GET_SIZE(status) != count:
                raise ValueError(f"{len(status)} statuses for {count} fingerprints: there must be one for each")
            skip = <const uint8_t *>PyBytes_AS_STRING(status)
        answer = PyBytes_FromStringAndSize(NULL, count)
        flags = <uint8_t *>PyBytes_AS_STRING(answer)
        with self.lock:
            with nogil:
                failed = us_fpset_add(&self.table, keys, skip, count, flags)
        if failed:
            raise MemoryError(f"no memory for more fingerprints than {len(self)}")
        return answer

    def contains_many(self, bytes fingerprints not None):
        """One byte per key: 1 if it is in the set, 0 if not."""
        cdef size_t count = <size_t>PyBytes_GET_SIZE(fingerprints) // 16
        cdef const uint8_t *keys = <const uint8_t *>PyBytes_AS_STRING(fingerprints)
        cdef uint8_t *flags
        if PyBytes_GET_SIZE(fingerprints) % 16:
            raise ValueError("fingerprints have 16 bytes each")
        answer = PyBytes_FromStringAndSize(NULL, count)
        flags = <uint8_t *>PyBytes_AS_STRING(answer)
        with self.lock:
            with nogil:
                us_fpset_contains(&self.table, keys, count, flags)
        return answer
