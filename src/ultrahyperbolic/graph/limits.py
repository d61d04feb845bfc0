"""How large the parts of a file may be, so that a small file cannot fill the memory."""

LINE = 4 << 20  # bytes of a line of text
COLUMNS = 10_000
ID = 64 << 10  # bytes of an id
MATRIX_ROWS = 1_000_000  # of a matrix, and one more for each byte of its file
DEPTH = 100  # elements of XML within each other
OBJECTS = 4  # the part of a compressed file's limit that is left to formats whose content is held as objects

_SMALL, _OF_SMALL, _EXPANSION = 1 << 20, 16 << 20, 64


def most_bytes(size: int) -> int:
    """How many bytes a compressed file of ``size`` bytes may hold.

    >>> most_bytes(1000) >> 20, most_bytes(10 << 20) >> 20
    (16, 640)
    """
    return _OF_SMALL if size <= _SMALL else _EXPANSION * size


def most_rows(size: int) -> int:
    """How many rows a file of ``size`` bytes may declare, which a format that packs its rows need not spell out.

    >>> most_rows(1000)
    4194304
    """
    return most_bytes(size) // 4
