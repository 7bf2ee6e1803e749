# Part of _core.pyx: the map from fingerprints to values, for what is not yet in a run.

ABSENT = US_ABSENT
TOMBSTONE = US_TOMBSTONE


cdef const uint8_t *whole(bytes data, size_t size, str what, size_t *count) except NULL:
    """The data and how many entries of `size` bytes it has."""
    if <size_t>PyBytes_GET_SIZE(data) % size:
        raise ValueError(f"{what} have {size} bytes each, and {len(data)} bytes are no whole number of them")
    count[0] = <size_t>PyBytes_GET_SIZE(data) // size
    return <const uint8_t *>PyBytes_AS_STRING(data)


@cython.final
cdef class FingerprintMap:
    """A map from 16-byte fingerprints to int64 values, exact. Give it keyed hashes; usable from any thread."""

    cdef us_fpmap table
    cdef object lock

    def __cinit__(self):
        us_fpmap_init(&self.table)
        self.lock = Lock()

    def __dealloc__(self):
        us_fpmap_free(&self.table)

    def __len__(self):
        return <Py_ssize_t>self.table.count

    @property
    def nbytes(self):
        """Bytes allocated now."""
        return self.table.room * sizeof(us_map_slot) + sizeof(us_fpmap)

    def set_many(self, bytes records not None):
        """Sets the value of each record's fingerprint; of equals the last one stands."""
        cdef size_t count
        cdef const uint8_t *data = whole(records, 24, "records", &count)
        cdef int absent, failed = 0
        with self.lock:
            with nogil:
                absent = us_any_absent(data, count)
                if not absent:
                    failed = us_fpmap_set(&self.table, data, count)
        if absent:
            raise ValueError("ABSENT is no value: to forget a fingerprint, set TOMBSTONE")
        if failed:
            raise MemoryError(f"no memory for more fingerprints than {len(self)}")

    def get_many(self, bytes fingerprints not None):
        """8 bytes per key: its value, or ABSENT."""
        cdef size_t count
        cdef const uint8_t *keys = whole(fingerprints, 16, "fingerprints", &count)
        cdef uint8_t *values
        answer = PyByteArray_FromStringAndSize(NULL, 8 * <Py_ssize_t>count)
        values = <uint8_t *>PyByteArray_AS_STRING(answer)
        with self.lock:
            with nogil:
                us_fpmap_get(&self.table, keys, count, values)
        return answer

    def sorted_records(self):
        """All records in the order of their fingerprints."""
        cdef uint8_t *to
        cdef int failed
        with self.lock:
            answer = PyBytes_FromStringAndSize(NULL, 24 * <Py_ssize_t>self.table.count)
            to = <uint8_t *>PyBytes_AS_STRING(answer)
            with nogil:
                failed = us_fpmap_sorted(&self.table, to)
        if failed:
            raise MemoryError(f"no memory to sort {len(self)} fingerprints")
        return answer

    def clear(self):
        """Empties the map and gives its memory back."""
        with self.lock:
            us_fpmap_free(&self.table)
