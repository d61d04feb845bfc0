# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False
# (numba infers the types when it compiles)
"""The long loops over a large edge list, compiled, without the interpreter's lock so that threads
run several.
"""

import numba
import numpy as np

from .rows import ROUNDING

SUM, MAX, FIRST = range(3)

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")

_NEWLINE, _ZERO, _NINE = (ord(character) for character in "\n09")
_SHORT = 15  # bytes of an id that is its own key
_EXACT_DIGITS = np.uint64(15)  # of a decimal number that is one exact division of two floats
_DIGIT_BITS = 10  # of a key, sorted by in one pass
_DIGITS = 1 << _DIGIT_BITS
_POWERS = 10.0 ** np.arange(16)
_ONE, _EIGHT, _HALF, _TOP, _HASHED = (np.uint64(k) for k in (1, 8, 32, 56, 255))
_M1, _M2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


@_jit
def _decimal(text, start, end, point):
    """The number that digits, and perhaps a decimal ``point`` among them, write; NaN for any other
    text.
    """
    if (
        end - start > _EXACT_DIGITS
        or start == end
        or text[start] == point
        or text[end - _ONE] == point
    ):
        return np.nan
    digits, decimals, points = np.int64(0), 0, 0
    while start < end:
        byte = np.int64(text[start])
        start += _ONE
        if _ZERO <= byte <= _NINE:
            digits = 10 * digits + (byte - _ZERO)
            decimals += points
        elif byte == point and points == 0:
            points = 1
        else:
            return np.nan
    return digits / _POWERS[decimals]


@_jit
def split_lines(text, delimiter, width, first, second, third, point, spans, weights):
    """Where the ids in columns ``first`` and ``second`` begin and end [2, 2, rows], and the weights
    in ``third``.

    Returns the number of rows, or -1 where a line is not plain: other columns, other numbers,
    control characters. ``text`` ends with a line break, ``third`` is -1 where there are no weights,
    and ``point`` stands before decimals.
    """
    row, at = 0, np.uint64(0)  # an index without a sign is not looked at for being negative
    while at < np.uint64(len(text)):
        if text[at] == _NEWLINE:
            at += _ONE
            continue
        for column in range(width):
            start = at
            while text[at] >= 32 and text[at] != delimiter:
                at += _ONE
            if text[at] != (delimiter if column < width - 1 else _NEWLINE):
                return -1
            if column == first:
                spans[0, 0, row], spans[0, 1, row] = start, at
            if column == second:
                spans[1, 0, row], spans[1, 1, row] = start, at
            if column == third:
                weights[row] = _decimal(text, start, at, point)
                if np.isnan(weights[row]):
                    return -1
            at += _ONE
        row += 1
    return row


@_jit
def make_keys(text, words, starts, ends, column, keys):
    """Two words for each id of a column, ``keys`` [rows, 2, 2]: the id and its length, or a hash;
    whether there is one.

    ``words`` are those that begin at each byte of the text.
    """
    hashed = False
    for row in range(len(starts)):
        start, end = np.int64(starts[row]), np.int64(ends[row])
        length = end - start
        low = high = np.uint64(0)
        if length > _SHORT:
            hashed = True
            low, high = np.uint64(length), _M2
            for at in range(start, end, 8):
                word = words[min(at, end - 8)]
                low = (low ^ word) * _M1
                low ^= low >> _HALF
                high = (high + word) * _M2
                high ^= high >> _HALF
            high |= _HASHED << _TOP
        else:
            if start + 16 > len(text):
                for k in range(length - 1, -1, -1):
                    high = (high << _EIGHT) | (low >> _TOP)
                    low = (low << _EIGHT) | np.uint64(text[start + k])
            elif length < 8:
                low = words[start] & ((_ONE << np.uint64(8 * length)) - _ONE)
            else:
                low, high = (
                    words[start],
                    words[start + 8] & ((_ONE << np.uint64(8 * length - 64)) - _ONE),
                )
            high |= np.uint64(length) << _TOP
        keys[row, column, 0], keys[row, column, 1] = low, high
    return hashed


@_jit
def _slot(low, high, mask):
    """Where the search for a key in a table of hashes begins."""
    mixed = low * _M1
    mixed = (mixed ^ (mixed >> _HALF) ^ high) * _M2
    return (mixed ^ (mixed >> _HALF)) & mask


@_jit
def _id_at(position, first, second):
    """The bytes of an id; positions count both ends of the first row, of the second, and so on."""
    text, starts, ends = second if position & 1 else first
    return text[starts[position >> 1] : ends[position >> 1]]


@_jit
def _are_equal(one, other):
    if len(one) != len(other):
        return False
    for at in range(len(one)):  # noqa: SIM110 (a loop that numba compiles)
        if one[at] != other[at]:
            return False
    return True


@_jit
def _slot_of_long(k, slot, keys, table, fresh, before, texts):
    """The slot of a long id, from the first with its hash on: others may share it, so their bytes
    are compared.
    """
    (first, second, known, offsets), mask = texts, np.uint64(len(table) - 1)
    while table[slot, 2] != 0:
        if table[slot, 0] == keys[k, 0] and table[slot, 1] == keys[k, 1]:
            number = np.int64(table[slot, 2]) - 1
            if number < before:
                other = known[offsets[number] : offsets[number + 1]]
            else:
                other = _id_at(fresh[number - before], first, second)
            if _are_equal(_id_at(k, first, second), other):
                break
        slot = (slot + _ONE) & mask
    return slot


@_jit
def number_keys(keys, table, used, codes, fresh, texts):
    """The number of each key, counted as they appear; ``fresh`` is where the new ones do. Returns
    how many are known.

    ``table`` is a table of hashes [a power of 2, 3] that is not full: two words of a key, and its
    number from 1. ``texts`` are the ids of these rows and the bytes and ends of the known ones, or
    ``None`` where no key is a hash.
    """
    before, mask = used, np.uint64(len(table) - 1)
    for k in range(len(keys)):
        low, high = keys[k, 0], keys[k, 1]
        slot = _slot(low, high, mask)
        while table[slot, 2] != 0 and (table[slot, 0] != low or table[slot, 1] != high):
            slot = (slot + _ONE) & mask
        if texts is not None:  # noqa: SIM102 (where it is None, numba drops the branch)
            if high >> _TOP == _HASHED:
                slot = _slot_of_long(k, slot, keys, table, fresh, before, texts)
        if table[slot, 2] == 0:
            fresh[used - before] = k
            used += 1
            table[slot, 0], table[slot, 1], table[slot, 2] = low, high, used
        codes[k] = np.int64(table[slot, 2]) - 1
    return used


@_jit
def move_keys(table, larger):
    """Enter the keys of a table of hashes into a larger one, which is empty."""
    mask = np.uint64(len(larger) - 1)
    for k in range(len(table)):
        if table[k, 2] != 0:
            slot = _slot(table[k, 0], table[k, 1], mask)
            while larger[slot, 2] != 0:
                slot = (slot + _ONE) & mask
            larger[slot] = table[k]


@_jit
def copy_ids(first, second, positions, offsets, out):
    """The bytes of the ids at ``positions``, each from its offset on."""
    for k in range(len(positions)):
        row = positions[k] >> 1
        text, start = (second[0], second[1][row]) if positions[k] & 1 else (first[0], first[1][row])
        for at in range(offsets[k + 1] - offsets[k]):
            out[offsets[k] + at] = text[start + at]


@_jit
def count_rows(first, second, node_bits, bucket_shift, counts):
    """How many rows go to each bucket, and how many are self-loops."""
    loops = 0
    for row in range(len(first)):
        i, j = first[row], second[row]
        if i == j:
            loops += 1
        else:
            counts[((min(i, j) << node_bits) | max(i, j)) >> bucket_shift] += 1
    return loops


@_jit
def deal_rows(
    first, second, weights, node_bits, bucket_shift, place_bits, begins, places, packed, dealt
):
    """Write each row and its weight to its bucket: the rest of its pair, whether it is reversed,
    its place there.
    """
    rest = (np.int64(1) << bucket_shift) - 1
    for row in range(len(first)):
        i, j = first[row], second[row]
        if i != j:
            pair = (min(i, j) << node_bits) | max(i, j)
            bucket = pair >> bucket_shift
            at = places[bucket]
            packed[at] = (2 * (pair & rest) + (i > j)) << place_bits | (at - begins[bucket])
            dealt[at] = weights[row]
            places[bucket] += 1


@_jit
def sort_buckets(packed, spare, cuts, place_bits, key_bits, pairs):
    """Sort each bucket by its keys, digit by digit; rows of one key stay in order. ``pairs`` counts
    its edges.
    """
    counts = np.empty(_DIGITS + 1, dtype=np.int64)
    for bucket in range(len(cuts) - 1):
        rows = packed[cuts[bucket] : cuts[bucket + 1]]
        here, there = rows, spare[: len(rows)]
        for shift in range(place_bits, place_bits + key_bits, _DIGIT_BITS):
            counts[:] = 0
            for k in range(len(here)):
                counts[((here[k] >> shift) & (_DIGITS - 1)) + 1] += 1
            for digit in range(_DIGITS):
                counts[digit + 1] += counts[digit]
            for k in range(len(here)):
                digit = (here[k] >> shift) & (_DIGITS - 1)
                there[counts[digit]] = here[k]
                counts[digit] += 1
            here, there = there, here
        rows[:] = here
        pairs[bucket] = len(rows) > 0
        for k in range(1, len(rows)):
            pairs[bucket] += rows[k] >> (place_bits + 1) != rows[k - 1] >> (place_bits + 1)


@_jit
def _merge_one_way(packed, k, place_bits, weights, rule):
    """The weight of the rows with one key from ``k`` on, and where the next key begins."""
    place = (np.int64(1) << place_bits) - 1
    key = packed[k] >> place_bits
    total = weights[packed[k] & place]
    k += 1
    while k < len(packed) and packed[k] >> place_bits == key:
        weight = weights[packed[k] & place]
        if rule == SUM:
            total += weight
        elif rule == MAX:
            total = max(total, weight)
        k += 1
    return total, k


@_jit
def merge_buckets(
    packed, weights, cuts, first_bucket, bucket_shift, node_bits, place_bits, rule, edges, merged
):
    """The edges of sorted buckets and their weights. Returns how many pairs go both ways, and with
    one weight.
    """
    place, node = (np.int64(1) << place_bits) - 1, (np.int64(1) << node_bits) - 1
    out = both = even = 0
    for bucket in range(len(cuts) - 1):
        rows, values = (
            packed[cuts[bucket] : cuts[bucket + 1]],
            weights[cuts[bucket] : cuts[bucket + 1]],
        )
        k = 0
        while k < len(rows):
            begin, pair = rows[k] & place, rows[k] >> (place_bits + 1)
            weight, k = _merge_one_way(rows, k, place_bits, values, rule)
            if k < len(rows) and rows[k] >> (place_bits + 1) == pair:
                is_later = rows[k] & place > begin
                other, k = _merge_one_way(rows, k, place_bits, values, rule)
                both += 1
                even += abs(weight - other) <= ROUNDING * min(weight, other)
                if rule == SUM:
                    weight += other
                elif rule == MAX:
                    weight = max(weight, other)
                elif not is_later:
                    weight = other
            pair += (first_bucket + bucket) << bucket_shift
            edges[out, 0], edges[out, 1], merged[out] = pair >> node_bits, pair & node, weight
            out += 1
    return both, even
