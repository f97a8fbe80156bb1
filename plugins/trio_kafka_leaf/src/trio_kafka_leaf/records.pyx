# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The walk of records and headers, twin of `trio_kafka.records`: same names, same order.

None means doubt: an invalid record, a number beyond 64 bits, a record with more headers than a turn
of the loop allows. The Python twin goes on from there and says what is wrong. So nothing here
raises for what is in the data, and nothing is read outside of it.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.bytearray cimport PyByteArray_AsString, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, strcmp

cdef extern from "structmember.h":
    ctypedef struct PyMemberDef:
        const char *name
        int type
        Py_ssize_t offset
        int flags
    int T_OBJECT_EX

cdef extern from *:
    int Py_tp_members
    void *PyType_GetSlot(type, int)
    object PyType_GenericAlloc(type, Py_ssize_t)

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    #include <nmmintrin.h>
    static int has_crc32c(void) { return __builtin_cpu_supports("sse4.2") != 0; }
    __attribute__((target("sse4.2")))
    static uint32_t crc32c_of(const uint8_t *data, int64_t size) {
        uint64_t crc = 0xFFFFFFFF, word;
        for (; size >= 8; data += 8, size -= 8) {
            memcpy(&word, data, 8);
            crc = _mm_crc32_u64(crc, word);
        }
        for (; size > 0; data++, size--)
            crc = _mm_crc32_u8((uint32_t)crc, *data);
        return ~(uint32_t)crc;
    }
    #else
    static int has_crc32c(void) { return 0; }
    static uint32_t crc32c_of(const uint8_t *data, int64_t size) { return 0; }
    #endif
    """
    bint has_crc32c()
    uint32_t crc32c_of(const uint8_t *data, int64_t size) noexcept nogil

cdef int64_t HEADER_SIZE = 61
cdef int64_t LENGTH_END = 12
cdef int64_t SMALLEST_LENGTH = 49
cdef int64_t SMALLEST_RECORD = 7
cdef int64_t CRC_FROM = 21
cdef int64_t NO_TIMESTAMP = -1
cdef int LOG_APPEND_TIME = 8
cdef int64_t LARGEST_BASE = 1 << 62  # an offset delta fits on top
cdef int64_t MOST_HEADERS = 4096  # of a record: 30 us; with more, the twin pauses within it
# Bytes of a batch whose CRC is computed here, where the processor has the instruction: the call of
# the package costs more. Of longer ones, the package is faster with its three streams.
cdef int64_t LONGEST_CRC = 4096 if has_crc32c() else 0


# The twin calls the classes of records and headers, which only store their arguments. Here the slots
# are filled and read, where the class says that they are (Py_tp_members, in the stable ABI): calls
# and attributes took more than half of decode and encode.

cdef tuple RECORD_FIELDS = ("offset", "timestamp", "key", "value", "headers")
cdef tuple HEADER_FIELDS = (
    "base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta",
    "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "count",
)
cdef dict RECORD_LAYOUTS = {}  # by class
cdef dict HEADER_LAYOUTS = {}


cdef class Layout:
    """Places of fields in the objects of a class."""

    cdef Py_ssize_t places[13]


cdef Layout layout_of(type cls, dict layouts, tuple fields):
    """Return the layout of a class. None is a doubt: not each field is a slot of its own."""
    if cls not in layouts:
        layouts[cls] = read_layout(cls, fields)
    return layouts[cls]


cdef Layout read_layout(type cls, tuple fields):
    cdef Layout layout = Layout()
    cdef const PyMemberDef *member
    cdef const PyMemberDef *members = <const PyMemberDef *>PyType_GetSlot(cls, Py_tp_members)
    cdef int number = 0
    if members is NULL:
        return None
    for field in fields:
        name = (<str>field).encode()
        member = members
        while member.name is not NULL and strcmp(member.name, PyBytes_AsString(name)):
            member += 1
        if member.name is NULL or member.type != T_OBJECT_EX or member.flags:
            return None
        layout.places[number] = member.offset
        number += 1
    return layout


cdef inline PyObject **slot(instance, Py_ssize_t place) noexcept:
    return <PyObject **>(<char *><PyObject *>instance + place)


cdef inline void put(instance, Py_ssize_t place, value) noexcept:
    """Fill a slot of a new object."""
    Py_INCREF(value)
    slot(instance, place)[0] = <PyObject *>value


cdef inline get(instance, Py_ssize_t place):
    """Return the content of a slot. Raises ValueError for an empty one."""
    cdef PyObject *value = slot(instance, place)[0]
    if value is NULL:
        raise ValueError
    return <object>value


# trio_kafka/records/varint.py

cdef inline bint read_varint(
    const uint8_t *data, int64_t size, int64_t *at, int64_t *value
) noexcept nogil:
    """Read a number and move `at`. False: the data end, or more than 64 bits."""
    cdef uint64_t byte, number
    cdef int shift = 7
    if at[0] >= size:
        return False
    byte = data[at[0]]
    at[0] += 1
    number = byte & 127
    while byte > 127:
        if at[0] >= size or shift > 63:
            return False
        byte = data[at[0]]
        at[0] += 1
        if shift == 63 and byte > 1:
            return False
        number |= (byte & 127) << shift
        shift += 7
    value[0] = <int64_t>(number >> 1) ^ -<int64_t>(number & 1)
    return True


# trio_kafka/records/record_scan.py

cdef struct Batch:  # what does not change from record to record
    int64_t size, last_offset_delta, base_timestamp, longest, append_time
    bint has_append_time


cdef struct Scanned:
    int64_t delta, timestamp, key_size, key_end, value_size, value_end, headers


cdef inline bint skip(
    const uint8_t *data, int64_t size, int64_t end, int64_t *at, int64_t *length
) noexcept nogil:
    if not read_varint(data, size, at, length):
        return False
    if length[0] < 0:
        return True
    if length[0] > end - at[0]:  # also when `at` is behind the end already
        return False
    at[0] += length[0]
    return True


cdef bint scan_record(
    const uint8_t *data, const Batch *batch, int64_t *position, int64_t *last_delta,
    Scanned *scanned,
) noexcept nogil:
    """Scan the record at `position`; move it and `last_delta`. False: doubt, nothing moved."""
    cdef int64_t at = position[0], length, later, end, size, number
    if not read_varint(data, batch.size, &at, &length):
        return False
    if length < SMALLEST_RECORD - 1 or length > batch.size - at or length > batch.longest:
        return False
    end = at + length
    at += 1
    if not read_varint(data, batch.size, &at, &later):
        return False
    if not read_varint(data, batch.size, &at, &scanned.delta):
        return False
    if not skip(data, batch.size, end, &at, &scanned.key_size):
        return False
    scanned.key_end = at
    if not skip(data, batch.size, end, &at, &scanned.value_size):
        return False
    scanned.value_end = at
    if not read_varint(data, batch.size, &at, &scanned.headers):
        return False
    if scanned.headers:
        if scanned.headers < 0 or scanned.headers > MOST_HEADERS:
            return False
        for number in range(scanned.headers):
            if not skip(data, batch.size, end, &at, &size) or size < 0:
                return False
            if not skip(data, batch.size, end, &at, &size):
                return False
    if at != end or scanned.delta <= last_delta[0] or scanned.delta > batch.last_offset_delta:
        return False
    if batch.has_append_time:
        scanned.timestamp = batch.append_time
    else:  # the sum in unsigned numbers, then a look for an overflow
        scanned.timestamp = <int64_t>(<uint64_t>batch.base_timestamp + <uint64_t>later)
        if (batch.base_timestamp ^ scanned.timestamp) & (later ^ scanned.timestamp) < 0:
            return False
    last_delta[0] = scanned.delta
    position[0] = end
    return True


cdef bint fill(Batch *batch, header, int64_t size, int64_t longest, int64_t *count) except -1:
    """Fill the constants of a batch and its count. False: more records than bytes allow."""
    count[0] = header.count
    batch.size = size
    batch.last_offset_delta = header.last_offset_delta
    batch.base_timestamp = header.base_timestamp
    batch.longest = longest
    batch.has_append_time = header.attributes & LOG_APPEND_TIME
    batch.append_time = header.max_timestamp
    return 0 <= count[0] <= size // SMALLEST_RECORD


# trio_kafka/records/header.py

cdef inline uint64_t big_endian(const uint8_t *data, int bytes) noexcept nogil:
    cdef uint64_t number = 0
    cdef int index
    for index in range(bytes):
        number = number << 8 | data[index]
    return number


def headers(cls, data, int64_t position, int64_t most, crc32c):
    """See `Leaf.headers` in trio_kafka/records/leaf.py."""
    cdef Py_buffer buffer
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    try:
        plain = None if crc32c is None else memoryview(data)
        return walked(cls, <const uint8_t *>buffer.buf, buffer.len, position, most, crc32c, plain)
    finally:
        PyBuffer_Release(&buffer)


cdef tuple walked(
    cls, const uint8_t *data, int64_t size, int64_t position, int64_t most, crc32c, plain
):
    cdef int64_t end, length
    cdef const uint8_t *at
    cdef uint32_t crc, actual
    cdef list rows = []
    cdef Layout layout = layout_of(cls, HEADER_LAYOUTS, HEADER_FIELDS)
    cdef const Py_ssize_t *places
    if position < 0 or layout is None:
        return None
    places = layout.places
    while size - position >= HEADER_SIZE and len(rows) < most:
        at = data + position
        length = <int32_t>big_endian(at + 8, 4)
        if at[16] != 2 or length < SMALLEST_LENGTH:
            break
        end = position + LENGTH_END + length
        if end > size:
            break
        crc = <uint32_t>big_endian(at + 17, 4)
        if crc32c is not None:
            if length <= LONGEST_CRC:
                actual = crc32c_of(at + CRC_FROM, end - position - CRC_FROM)
            else:
                actual = crc32c(plain[position + CRC_FROM : end])
            if actual != crc:
                break
        header = PyType_GenericAlloc(cls, 0)
        put(header, places[0], <int64_t>big_endian(at, 8))
        put(header, places[1], length)
        put(header, places[2], <int32_t>big_endian(at + 12, 4))
        put(header, places[3], 2)
        put(header, places[4], crc)
        put(header, places[5], <int16_t>big_endian(at + 21, 2))
        put(header, places[6], <int32_t>big_endian(at + 23, 4))
        put(header, places[7], <int64_t>big_endian(at + 27, 8))
        put(header, places[8], <int64_t>big_endian(at + 35, 8))
        put(header, places[9], <int64_t>big_endian(at + 43, 8))
        put(header, places[10], <int16_t>big_endian(at + 51, 2))
        put(header, places[11], <int32_t>big_endian(at + 53, 4))
        put(header, places[12], <int32_t>big_endian(at + 57, 4))
        rows.append((position, header))
        position = end
    return (rows, position) if rows else None


# trio_kafka/records/record_checks.py

def check_records(data, header, rules, state, int64_t most):
    """See `Leaf.check_records` in trio_kafka/records/leaf.py."""
    cdef Py_buffer buffer
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    try:
        return checked(<const uint8_t *>buffer.buf, buffer.len, header, rules, state, most)
    finally:
        PyBuffer_Release(&buffer)


cdef tuple checked(
    const uint8_t *bytes, int64_t size, header, rules, state, int64_t most
):
    cdef Batch batch
    cdef Scanned scanned
    cdef int64_t longest, oldest, newest, at, index, latest, count, last_delta, first, before
    cdef bint needs_keys, is_timed
    longest, oldest, newest, needs_keys, is_timed = rules
    at, index, latest = state
    first, last_delta = index, index - 1
    if not fill(&batch, header, size, longest, &count) or not 0 <= at <= batch.size:
        return None
    while index < count and most > 0:
        before = at
        if (
            not scan_record(bytes, &batch, &at, &last_delta, &scanned)
            or scanned.delta != index
            or (needs_keys and scanned.key_size < 0)
        ):
            at = before
            break
        if is_timed and scanned.timestamp != NO_TIMESTAMP:
            if not oldest <= scanned.timestamp <= newest:
                at = before
                break
        elif batch.has_append_time:
            at = before
            break
        latest = max(latest, scanned.timestamp)
        index += 1
        most -= 1 + scanned.headers
    if index == first or (index == count and at != batch.size):
        return None
    return at, index, latest


# trio_kafka/records/batch.py

cdef inline content(const uint8_t *bytes, int64_t end, int64_t size):
    if size < 0:
        return None
    return PyBytes_FromStringAndSize(<const char *>bytes + end - size, size)


cdef tuple read_headers(const uint8_t *bytes, int64_t size, int64_t at):
    """Read headers that were scanned."""
    cdef int64_t count, length, number
    cdef list pairs = []
    read_varint(bytes, size, &at, &count)
    for number in range(count):
        read_varint(bytes, size, &at, &length)
        name = PyUnicode_DecodeUTF8(<const char *>bytes + at, length, "replace")
        at += length
        read_varint(bytes, size, &at, &length)
        if length > 0:
            at += length
        pairs.append((name, content(bytes, at, length)))
    return tuple(pairs)


def decode(cls, data, header, state, int64_t most):
    """See `Leaf.decode` in trio_kafka/records/leaf.py."""
    cdef Py_buffer buffer
    PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
    try:
        return decoded(cls, <const uint8_t *>buffer.buf, buffer.len, header, state, most)
    finally:
        PyBuffer_Release(&buffer)


cdef tuple decoded(
    cls, const uint8_t *bytes, int64_t size, header, state, int64_t most
):
    cdef Batch batch
    cdef Scanned scanned
    cdef int64_t at, index, last_delta, count, base_offset = header.base_offset
    cdef list records = []
    cdef Layout layout = layout_of(cls, RECORD_LAYOUTS, RECORD_FIELDS)
    cdef const Py_ssize_t *places
    if layout is None:
        return None
    places = layout.places
    at, index, last_delta = state
    if not fill(&batch, header, size, size, &count):
        return None
    if not 0 <= at <= batch.size or not 0 <= base_offset <= LARGEST_BASE:
        return None
    while index < count and most > 0:
        if not scan_record(bytes, &batch, &at, &last_delta, &scanned):
            break
        record = PyType_GenericAlloc(cls, 0)
        put(record, places[0], base_offset + scanned.delta)
        put(record, places[1], scanned.timestamp)
        put(record, places[2], content(bytes, scanned.key_end, scanned.key_size))
        put(record, places[3], content(bytes, scanned.value_end, scanned.value_size))
        put(
            record, places[4],
            read_headers(bytes, batch.size, scanned.value_end) if scanned.headers else (),
        )
        records.append(record)
        index += 1
        most -= 1 + scanned.headers
    if not records or (index == count and at != batch.size):
        return None
    return records, (at, index, last_delta)


cdef inline int64_t varint_size(int64_t value) noexcept nogil:
    cdef uint64_t number = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    cdef int64_t size = 1
    while number > 127:
        number >>= 7
        size += 1
    return size


cdef inline uint8_t *write_varint(uint8_t *to, int64_t value) noexcept nogil:
    """Write a number; return the place after it."""
    cdef uint64_t number = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    while number > 127:
        to[0] = <uint8_t>(number & 127 | 128)
        to += 1
        number >>= 7
    to[0] = <uint8_t>number
    return to + 1


cdef inline int64_t content_size(piece) except -2:
    """Return the bytes of a piece, -1 for null. Raises TypeError for what is no bytes object."""
    if piece is None:
        return -1
    return len(<bytes?>piece)


cdef inline uint8_t *write_content(uint8_t *to, piece, int64_t size):
    """Write a piece after its size, -1 for null; return the place after it."""
    to = write_varint(to, size)
    if size > 0:
        memcpy(to, PyBytes_AsString(piece), size)
        to += size
    return to


cdef tuple encode_headers(pairs):
    """Return names as UTF-8 and contents in turn, and the bytes that they take."""
    cdef list pieces = []
    cdef int64_t size = varint_size(len(pairs)), length
    for name, value in pairs:
        encoded = (<str?>name).encode()
        length = len(encoded)
        size += varint_size(length) + length
        length = content_size(value)
        size += varint_size(length) + max(length, 0)
        pieces.append(encoded)
        pieces.append(value)
    return pieces, size


cdef int64_t subtracted(int64_t number, int64_t base) except? -1:
    """Raises OverflowError for a difference beyond 64 bits."""
    cdef int64_t difference = <int64_t>(<uint64_t>number - <uint64_t>base)
    if (number ^ base) & (number ^ difference) < 0:
        raise OverflowError
    return difference


def encode(records, state):
    """See `Leaf.encode` in trio_kafka/records/leaf.py."""
    try:
        return encoded_block(records, state)
    except (OverflowError, TypeError, ValueError):
        return None


cdef tuple encoded_block(records, state):
    cdef bytearray block = bytearray(1024)
    cdef int64_t room = 1024, used = 0, count = 0, base = 0, size, length
    cdef int64_t offset, timestamp, delta, key_size, value_size, headers_size, whole
    cdef int64_t base_offset = state[0], max_timestamp = state[2], last_delta = state[3]
    cdef bint has_base = state[1] is not None
    cdef uint8_t *to
    cdef list pieces = []
    cdef Layout layout = None
    cls = None
    if has_base:
        base = state[1]
    for record in records:
        if type(record) is not cls:
            cls = type(record)
            layout = layout_of(cls, RECORD_LAYOUTS, RECORD_FIELDS)
            if layout is None:
                return None
        offset, timestamp = get(record, layout.places[0]), get(record, layout.places[1])
        key, value = get(record, layout.places[2]), get(record, layout.places[3])
        pairs = get(record, layout.places[4])
        if offset >= 0:
            delta = subtracted(offset, base_offset)
            if delta <= last_delta:
                return None
        else:
            delta = last_delta + 1
        if delta > 0x7FFFFFFF:
            return None
        last_delta = delta
        if not has_base:
            base, has_base = timestamp, True
        max_timestamp = max(max_timestamp, timestamp)
        timestamp = subtracted(timestamp, base)
        key_size, value_size, headers_size = content_size(key), content_size(value), 1
        if pairs:
            pieces, headers_size = encode_headers(pairs)
        length = (
            1 + varint_size(timestamp) + varint_size(delta)
            + varint_size(key_size) + max(key_size, 0)
            + varint_size(value_size) + max(value_size, 0) + headers_size
        )
        whole = used + varint_size(length) + length
        if whole > room:
            room = max(whole, 2 * room)
            PyByteArray_Resize(block, room)
        to = write_varint(<uint8_t *>PyByteArray_AsString(block) + used, length)
        to[0] = 0
        to = write_varint(write_varint(to + 1, timestamp), delta)
        to = write_content(write_content(to, key, key_size), value, value_size)
        to = write_varint(to, len(pairs) if pairs else 0)
        if pairs:
            for piece in pieces:
                to = write_content(to, piece, content_size(piece))
        used = whole
        count += 1
    PyByteArray_Resize(block, used)
    state = base_offset, base if has_base else None, max_timestamp, last_delta
    return block, count, state
