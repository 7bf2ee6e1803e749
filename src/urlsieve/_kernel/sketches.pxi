# Part of _core.pyx: the cuckoo table, the bits of a Bloom filter, the registers of a HyperLogLog.


@cython.final
cdef class Cuckoo:
    """An exact set, or a map to int64, of 16-byte fingerprints. Its parts have locks of their own: threads work side by side."""

    cdef us_cuckoo table

    def __cinit__(self, bint values, uint64_t seed):
        if us_cuckoo_init(&self.table, values, seed) != 0:
            raise MemoryError("no locks for one more table")

    def __dealloc__(self):
        us_cuckoo_free(&self.table)

    def __len__(self):
        return <Py_ssize_t>self.table.count

    @property
    def nbytes(self):
        return self.table.bytes + sizeof(us_cuckoo)

    def reserve(self, size_t keys):
        cdef int failed
        with nogil:
            failed = us_cuckoo_reserve(&self.table, keys)
        if failed:
            raise MemoryError(f"no memory for {keys} fingerprints")

    def add(self, bytes fingerprints not None, bytes values, bint replace):
        cdef size_t count, given = 0
        cdef int failed
        cdef const uint8_t *keys = whole(fingerprints, 16, "fingerprints", &count)
        cdef const int64_t *numbers = NULL
        if self.table.with_values:
            if values is None:
                raise ValueError("a table with values wants a value for each fingerprint")
            numbers = <const int64_t *>whole(values, 8, "values", &given)
            if given != count:
                raise ValueError(f"{given} values for {count} fingerprints")
        elif values is not None:
            raise ValueError("a table without values takes none")
        answer = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>count)
        cdef uint8_t *flags = <uint8_t *>PyBytes_AS_STRING(answer)
        with nogil:
            failed = us_cuckoo_add(&self.table, keys, numbers, count, replace, flags)
        if failed:
            raise MemoryError(f"no memory for more fingerprints than {len(self)}")
        return answer

    def get(self, bytes fingerprints not None, bint values, int64_t missing):
        """(flags, values or None)."""
        cdef size_t count
        cdef int failed
        cdef const uint8_t *keys = whole(fingerprints, 16, "fingerprints", &count)
        answer = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>count)
        cdef uint8_t *flags = <uint8_t *>PyBytes_AS_STRING(answer)
        cdef int64_t *numbers = NULL
        found = None
        if values:
            found = PyBytes_FromStringAndSize(NULL, 8 * <Py_ssize_t>count)
            numbers = <int64_t *>PyBytes_AS_STRING(found)
        with nogil:
            failed = us_cuckoo_get(&self.table, keys, count, flags, numbers, missing)
        if failed:
            raise MemoryError("no memory to look fingerprints up")
        return answer, found

    def discard(self, bytes fingerprints not None):
        cdef size_t count
        cdef int failed
        cdef const uint8_t *keys = whole(fingerprints, 16, "fingerprints", &count)
        answer = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>count)
        cdef uint8_t *flags = <uint8_t *>PyBytes_AS_STRING(answer)
        with nogil:
            failed = us_cuckoo_discard(&self.table, keys, count, flags)
        if failed:
            raise MemoryError("no memory to look fingerprints up")
        return answer

    def parts(self):
        """(fingerprints, values or None) of each part."""
        cdef size_t part, count, used
        cdef uint8_t *to
        cdef int64_t *numbers
        for part in range(US_CUCKOO_PARTS):
            count = us_cuckoo_part_count(&self.table, part)
            keys = PyBytes_FromStringAndSize(NULL, 16 * <Py_ssize_t>count)
            found = PyBytes_FromStringAndSize(NULL, 8 * <Py_ssize_t>count) if self.table.with_values else None
            to = <uint8_t *>PyBytes_AS_STRING(keys)
            numbers = <int64_t *>PyBytes_AS_STRING(found) if found is not None else NULL
            with nogil:
                used = us_cuckoo_list(&self.table, part, to, numbers, count)
            yield keys[: 16 * used], None if found is None else found[: 8 * used]

    def clear(self):
        with nogil:
            us_cuckoo_clear(&self.table)


@cython.final
cdef class BloomBits:
    """The blocks of a Bloom filter in a writable buffer, which is held as long as this lives; 64 bytes a block, aligned to 64."""

    cdef us_bloom bloom
    cdef Py_buffer view
    cdef int users        # calls that work on the bits now; guarded by the lock
    cdef bint leaving
    cdef object lock

    def __cinit__(self, object buffer, uint32_t bits):
        self.lock = Lock()
        PyObject_GetBuffer(buffer, &self.view, PyBUF_WRITABLE)
        if self.view.len == 0 or self.view.len % 64 or <size_t>self.view.buf % 64 or not 1 <= bits <= 21:
            PyBuffer_Release(&self.view)
            raise ValueError("the bits are whole blocks of 64 bytes, aligned to 64, and a key has 1 to 21 of them")
        self.bloom.words = self.view.buf
        self.bloom.blocks = <uint64_t>self.view.len // 64
        self.bloom.bits = bits

    def __dealloc__(self):
        if self.bloom.words is not NULL:
            PyBuffer_Release(&self.view)

    def release(self):
        """Gives the buffer back when the last call that works on it has ended; nothing can be done with it afterwards."""
        with self.lock:
            self.leaving = True
            self.let_go()

    cdef void let_go(self):
        if self.leaving and self.users == 0 and self.bloom.words is not NULL:
            self.bloom.words = NULL
            PyBuffer_Release(&self.view)

    @property
    def released(self):
        return self.bloom.words is NULL

    cdef int enter(self) except -1:
        with self.lock:
            if self.leaving:
                raise ValueError("the filter is closed")
            self.users += 1
        return 0

    cdef int leave(self) except -1:
        with self.lock:
            self.users -= 1
            self.let_go()
        return 0

    def add(self, bytes fingerprints not None):
        """(flags, how many were new)."""
        cdef size_t count, fresh
        cdef const uint8_t *keys = whole(fingerprints, 16, "fingerprints", &count)
        answer = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>count)
        cdef uint8_t *flags = <uint8_t *>PyBytes_AS_STRING(answer)
        self.enter()
        with nogil:
            fresh = us_bloom_add(&self.bloom, keys, count, flags)
        self.leave()
        return answer, fresh

    def get(self, bytes fingerprints not None):
        cdef size_t count
        cdef const uint8_t *keys = whole(fingerprints, 16, "fingerprints", &count)
        answer = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>count)
        cdef uint8_t *flags = <uint8_t *>PyBytes_AS_STRING(answer)
        self.enter()
        with nogil:
            us_bloom_get(&self.bloom, keys, count, flags)
        self.leave()
        return answer

    def set_bits(self):
        cdef uint64_t found
        self.enter()
        with nogil:
            found = us_bloom_set_bits(&self.bloom)
        self.leave()
        return found

    def checksum(self):
        cdef uint64_t found
        self.enter()
        with nogil:
            found = us_bloom_checksum(&self.bloom)
        self.leave()
        return found


def hll_add(bytearray registers not None, bytes fingerprints not None):
    """Whether a register changed. The registers are 2**p bytes, p from 4 to 18; nobody may change their number meanwhile."""
    cdef size_t count
    cdef uint32_t p = p_of(registers)
    cdef const uint8_t *keys = whole(fingerprints, 16, "fingerprints", &count)
    cdef Py_buffer view
    cdef int changed
    PyObject_GetBuffer(registers, &view, PyBUF_WRITABLE)
    try:
        with nogil:
            changed = us_hll_add(<uint8_t *>view.buf, p, keys, count)
    finally:
        PyBuffer_Release(&view)
    return changed != 0


def hll_estimate(bytearray registers not None):
    """How many different ones. ValueError: a register has a value that none can have."""
    cdef uint32_t p = p_of(registers)
    cdef const uint8_t *data = <const uint8_t *>PyByteArray_AS_STRING(registers)
    if us_hll_check(data, p) != 0:
        raise ValueError("a register has a value that none can have")
    return us_hll_estimate(data, p)


cdef uint32_t p_of(bytearray registers) except 0:
    cdef Py_ssize_t many = len(registers)
    cdef uint32_t p
    for p in range(4, 19):
        if many == <Py_ssize_t>1 << p:
            return p
    raise ValueError(f"{many} registers are no 2**p of them, p from 4 to 18")
