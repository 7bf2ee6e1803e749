# Part of _core.pyx: tables of site rules, and their two small languages by themselves.

@cython.final
cdef class RuleTable:
    """Site rules compiled; immutable, usable from any thread. rules.h says what the lines are."""

    cdef us_rules *rules

    def __cinit__(self, bytes lines not None):
        cdef us_span text
        cdef us_rules_error error
        span_of(lines, &text)
        with nogil:
            self.rules = us_rules_new(text.text, text.length, &error)
        if self.rules is NULL:
            what = error.what.decode()
            if what == "memory":
                raise MemoryError
            raise ValueError(f"line {error.line}: {what}")

    def __dealloc__(self):
        us_rules_free(self.rules)

    def __len__(self):
        return <Py_ssize_t>self.rules.count

    @property
    def nbytes(self):
        return self.rules.bytes


@cython.final
cdef class Regex:
    """A regular expression of rules by itself. ValueError(what, position) if it cannot be one."""

    cdef us_regex *regex

    def __cinit__(self, bytes pattern not None):
        cdef us_span text
        cdef us_regex_error error
        span_of(pattern, &text)
        self.regex = us_regex_new(text.text, text.length, &error)
        if self.regex is NULL:
            what = error.what.decode()
            if what == "memory":
                raise MemoryError
            raise ValueError(what, error.at)

    def __dealloc__(self):
        us_regex_free(self.regex)

    @property
    def size(self):
        """Instructions."""
        return self.regex.size

    @property
    def groups(self):
        """Without group 0."""
        return self.regex.slots // 2 - 1

    def match(self, bytes text not None):
        """(the ends of group 0, 1, … of the first match, each None or a pair; or None if there is no match; visits of instructions)."""
        cdef us_span span
        cdef uint32_t slots[2 * US_REGEX_GROUPS]
        cdef uint64_t steps = 0
        cdef int found
        span_of(text, &span)
        scratch = PyByteArray_FromStringAndSize(NULL, us_regex_scratch(self.regex))
        found = us_regex_match(self.regex, span.text, span.length, PyByteArray_AS_STRING(scratch), slots, &steps)
        if not found:
            return None, steps
        ends = [(slots[i], slots[i + 1]) for i in range(0, <int>self.regex.slots, 2)]
        return [None if 0xFFFFFFFF in pair else pair for pair in ends], steps

    def sample(self, uint64_t seed, size_t room=512):
        """A text it matches, by chance (cut off at `room` bytes; ^ and $ inside are not looked at)."""
        cdef uint64_t state = seed
        text = PyByteArray_FromStringAndSize(NULL, room)
        size = us_regex_sample(self.regex, &state, <uint8_t *>PyByteArray_AS_STRING(text), room)
        return bytes(text[:size])


def glob_matches(bytes pattern not None, bytes text not None):
    """Does the glob match all of the text? ValueError if the pattern is too long."""
    cdef us_glob glob
    cdef us_span p, t
    span_of(pattern, &p)
    span_of(text, &t)
    cdef us_glob_status status = us_glob_new(&glob, p.text, p.length)
    try:
        if status == US_GLOB_MEMORY:
            raise MemoryError
        if status != US_GLOB_OK:
            raise ValueError("a glob has at most 128 bytes, or 63 beside * if it has ? or more than one *")
        return us_glob_matches(&glob, t.text, t.length) != 0
    finally:
        us_glob_free(&glob)
