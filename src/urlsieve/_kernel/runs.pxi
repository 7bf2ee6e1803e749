# Part of _core.pyx: runs, their writer and their merging.

#: The format of runs that are written.
RUN_VERSION = US_RUN_VERSION


cdef bytes taken(us_work *out):
    return PyBytes_FromStringAndSize(<char *>out.text, <Py_ssize_t>out.used) if out.used else b""


@cython.final
cdef class RunWriter:
    """Makes the bytes of a run from records in order; the caller writes and syncs them."""

    cdef us_run_writer writer
    cdef object lock
    cdef str over   # why it takes nothing more

    def __cinit__(self, *, uint64_t owner):
        us_run_writer_init(&self.writer, owner)
        self.lock = Lock()

    def __dealloc__(self):
        us_run_writer_free(&self.writer)

    @property
    def count(self):
        """Records so far."""
        return self.writer.count

    def add(self, bytes records not None):
        """Takes records, each after the one before it, and gives the blocks that became full. A ValueError changes nothing."""
        cdef us_work out
        cdef us_write_status status
        cdef size_t count, wrong = 0
        cdef const uint8_t *data = whole(records, 24, "records", &count)
        us_work_init(&out)
        try:
            with self.lock:
                self.check()
                with nogil:
                    status = us_run_writer_add(&self.writer, data, count, &out, &wrong)
                if status == US_WRITE_MEMORY:
                    self.give_up()
            if status == US_WRITE_ORDER:
                raise ValueError(f"record {wrong} of these does not come after the one before it: records are added in ascending order")
            if status == US_WRITE_ABSENT:
                raise ValueError(f"the value of record {wrong} of these is ABSENT, which is no value")
            return taken(&out)
        finally:
            us_work_free(&out)

    def finish(self):
        """The rest of the file: last block, index and footer. Nothing can be added afterwards."""
        cdef us_work out
        cdef int failed
        us_work_init(&out)
        try:
            with self.lock:
                self.check()
                with nogil:
                    failed = us_run_writer_finish(&self.writer, &out)
                if failed:
                    self.give_up()
                self.over = "this run is finished"
            return taken(&out)
        finally:
            us_work_free(&out)

    cdef int check(self) except -1:
        if self.over is not None:
            raise ValueError(f"{self.over}: use a new RunWriter")
        return 0

    cdef int give_up(self) except -1:
        self.over = "memory was out in the middle of this run"
        raise MemoryError(f"no memory to write a run of {self.writer.count} records")


cdef str run_fault(us_run_status status, const us_runfile *run):
    if status == US_RUN_NOT_ONE:
        return "not a run"
    if status == US_RUN_OTHER_VERSION:
        return f"version {run.version}, this program knows {US_RUN_OLDEST} to {US_RUN_VERSION}"
    if status == US_RUN_OTHER_STORE:
        return "of another store"
    if status == US_RUN_CUT_OFF:
        return f"cut off: {run.size} of {run.wanted} bytes"
    if status == US_RUN_NO_END:
        return f"cut off: {run.size} bytes of a run whose end is missing"
    return {US_RUN_BAD_HEADER: "header", US_RUN_BAD_FOOTER: "footer", US_RUN_BAD_INDEX: "index"}[status] + " damaged"


@cython.final
cdef class Run:
    """An immutable sorted file of fingerprints and values, read where it lies. Usable from any thread."""

    cdef us_runfile run
    cdef Py_buffer view   # holds the buffer as long as the run lives

    def __cinit__(self, object buffer, *, uint64_t owner):
        cdef us_run_status status
        PyObject_GetBuffer(buffer, &self.view, PyBUF_SIMPLE)
        with nogil:
            status = us_run_open(&self.run, <const uint8_t *>self.view.buf, <size_t>self.view.len, owner)
        if status == US_RUN_MEMORY:
            raise MemoryError(f"no memory to read a run of {self.run.blocks} blocks")
        if status != US_RUN_OK:
            raise ValueError(run_fault(status, &self.run))

    def __dealloc__(self):
        us_run_free(&self.run)
        PyBuffer_Release(&self.view)

    @property
    def count(self):
        """Records, tombstones included."""
        return self.run.count

    @property
    def blocks(self):
        return self.run.blocks

    @property
    def version(self):
        """The format of its blocks: 1 is read, 2 is written."""
        return self.run.version

    @property
    def first(self):
        """The first fingerprint; b"" if there is none."""
        return fingerprint_bytes(us_run_first(&self.run, 0)) if self.run.blocks else b""

    @property
    def last(self):
        """The last fingerprint; b"" if there is none."""
        return fingerprint_bytes(self.run.last) if self.run.blocks else b""

    def get_many(self, bytes fingerprints not None, bytearray values not None):
        """Fills values[i] (8 bytes each) where it is ABSENT and key i is here; how many were filled."""
        cdef size_t count
        cdef const uint8_t *keys = whole(fingerprints, 16, "fingerprints", &count)
        cdef us_found found
        cdef Py_buffer held   # nobody can resize the values meanwhile
        cdef int failed
        PyObject_GetBuffer(values, &held, PyBUF_WRITABLE)
        try:
            if <size_t>held.len != 8 * count:
                raise ValueError(f"{held.len} bytes of values for {count} fingerprints: there must be 8 for each")
            with nogil:
                failed = us_run_find(&self.run, keys, count, <uint8_t *>held.buf, &found)
        finally:
            PyBuffer_Release(&held)
        if failed == -1:
            raise ValueError(f"block {found.damaged} is damaged")
        if failed:
            raise MemoryError(f"no memory to look up {count} fingerprints")
        return found.filled

    def check(self):
        """Verifies every block now; the numbers of the damaged ones."""
        cdef us_block block
        cdef size_t i
        cdef int damaged
        faults = []
        for i in range(self.run.blocks):
            with nogil:
                damaged = us_run_block(&self.run, i, 1, &block)
            if damaged:
                faults.append(i)
        return faults


cdef bytes fingerprint_bytes(us_record record):
    answer = PyBytes_FromStringAndSize(NULL, 16)
    us_store_fingerprint(<uint8_t *>PyBytes_AS_STRING(answer), &record)
    return answer


cdef int set_source(us_source *source, object value, Py_ssize_t number) except -1:
    memset(source, 0, sizeof(us_source))
    if isinstance(value, Run):
        source.run = &(<Run>value).run
        source.count = (<Run>value).run.blocks
    elif isinstance(value, bytes):
        source.records = whole(value, 24, f"the records of source {number}", &source.count)
    else:
        raise TypeError(f"source {number} is a Run or bytes, not {type(value).__name__}")
    return 0


cdef int raise_merge(us_merge_status status, us_merge_wrong wrong) except -1:
    if status == US_MERGE_MEMORY:
        raise MemoryError("no memory to merge")
    if status == US_MERGE_DAMAGED:
        raise ValueError(f"source {wrong.source}: block {wrong.at} is damaged")
    if status == US_MERGE_ABSENT:
        raise ValueError(f"source {wrong.source}: the value of record {wrong.at} is ABSENT, which is no value")
    if status == US_MERGE_ORDER:
        raise ValueError(f"source {wrong.source}: record {wrong.at} does not come after the one before it")
    return 0


def count_absent(bytearray values not None):
    """How many of these values (8 bytes each) are ABSENT."""
    cdef const uint8_t *data
    cdef size_t count, i, absent = 0
    cdef Py_buffer held   # nobody can resize the values meanwhile
    PyObject_GetBuffer(values, &held, PyBUF_SIMPLE)
    try:
        data, count = <const uint8_t *>held.buf, <size_t>held.len // 8
        if held.len % 8:
            raise ValueError(f"{held.len} bytes of values: there must be 8 for each")
        for i in range(count):
            absent += us_load64(data + 8 * i) == <uint64_t>US_ABSENT
    finally:
        PyBuffer_Release(&held)
    return absent


def merge_records(list sources not None, bytes start not None, Py_ssize_t limit, *, bint tombstones):
    """Records in order from `start` on, at most `limit`; of equals the newest source's. And where to go on, or None."""
    cdef us_source *array = NULL
    cdef us_work out
    cdef us_record begin, next
    cdef us_merge_status status
    cdef us_merge_wrong wrong
    cdef size_t count
    if len(start) != 16:
        raise ValueError(f"a fingerprint to start at has 16 bytes, not {len(start)}")
    if limit < 1:
        raise ValueError(f"a limit of {limit} records: at least 1 is needed to get on")
    held = tuple(sources)   # holds the references while other threads may change the list
    count = <size_t>len(held)
    begin = us_load_fingerprint(<const uint8_t *>PyBytes_AS_STRING(start))
    us_work_init(&out)
    array = <us_source *>PyMem_Malloc((count + 1) * sizeof(us_source))
    if array is NULL:
        raise MemoryError
    try:
        for i in range(count):
            set_source(&array[i], held[i], i)
        with nogil:
            status = us_merge(array, count, &begin, <size_t>limit, tombstones, &out, &next, &wrong)
        if status != US_MERGE_OK and status != US_MERGE_MORE:
            raise_merge(status, wrong)
        return taken(&out), fingerprint_bytes(next) if status == US_MERGE_MORE else None
    finally:
        PyMem_Free(array)
        us_work_free(&out)
