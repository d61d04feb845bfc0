"""The bytes of a file, decompressed, and no more of them than its size may hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self

from .errors import GraphError, need
from .limits import LINE, most_bytes


class Stream(Protocol):
    """Bytes that are read one part after the other."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``, all of them where it is negative; none at the end."""

    def close(self) -> None:
        """Free the file."""


def compression(path: str) -> str | None:
    """How a file is compressed, as its first bytes say: ``"gzip"``, ``"zstd"`` or not at all."""
    with open(path, "rb") as file:
        magic = file.read(4)
    return "gzip" if magic[:2] == b"\x1f\x8b" else "zstd" if magic == b"\x28\xb5\x2f\xfd" else None


def open_bytes(path: str, *, part: int = 1) -> Stream:
    """The bytes of a file, decompressed; of what a compressed file may hold, this part (a half for 2) is allowed."""
    pa = need("pyarrow", "reading a file")
    codec = compression(path)
    file = pa.OSFile(path)
    if codec is None:
        plain: Stream = file
        return plain
    return _Decompressed(path, file.size(), most_bytes(file.size()) // part, pa.CompressedInputStream(file, codec))


class _Decompressed:
    """What a compressed file holds, as far as it is not suspiciously more than the file."""

    def __init__(self, path: str, size: int, most: int, stream: Stream) -> None:
        self._path, self._size, self._stream = path, size, stream
        self._most = self._left = most

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the file."""
        self._stream.close()

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``, all of them where it is negative; none at the end."""
        wanted = self._left + 1 if size < 0 else min(size, self._left + 1)
        data: bytes = self._stream.read(wanted)
        self._left -= len(data)
        if self._left < 0:
            raise GraphError(
                f"{self._path}: {self._size} compressed bytes hold more than {self._most >> 20} MiB: decompress the "
                "file first if that is meant"
            )
        return data


def raw_lines(path: str) -> Iterator[bytes]:
    """The lines of a file, decompressed."""
    rest = b""
    with open_bytes(path) as stream:
        while block := stream.read(LINE):
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
            if len(rest) > LINE:
                return  # of such a file nothing is said by line
    if rest:
        yield rest
