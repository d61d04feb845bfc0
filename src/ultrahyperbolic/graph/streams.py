"""The bytes of a file, decompressed and in UTF-8, and no more of them than its size may hold."""

import codecs
import io
import os
from collections.abc import Generator, Iterator
from itertools import chain

import pyarrow as pa

from .errors import LINE, GraphError, most_bytes

_BLOCK = 1 << 20  # bytes that are decompressed or decoded at a time


class Blocks(io.RawIOBase):
    """Bytes that come in blocks, none of them empty, read as those of a file."""

    def __init__(self, blocks: Generator[bytes]) -> None:
        super().__init__()
        self._blocks, self._ready = blocks, memoryview(b"")

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as there are bytes at hand; 0 at the end."""
        self._ready = self._ready or memoryview(next(self._blocks, b""))
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def close(self) -> None:
        """Free what the blocks come from."""
        self._blocks.close()
        super().close()


def compression(path: str) -> str | None:
    """How a file is compressed, as its first bytes say: ``"gzip"``, ``"zstd"`` or not at all."""
    with open(path, "rb") as file:
        magic = file.read(4)
    return "gzip" if magic[:2] == b"\x1f\x8b" else "zstd" if magic == b"\x28\xb5\x2f\xfd" else None


def open_bytes(path: str, encoding: str | None = None, *, part: int = 1) -> io.BufferedReader:
    """The bytes of a file, decompressed and in UTF-8; if compressed, at most this ``part`` (2:
    half) of the limit.
    """
    codec = compression(path)
    if codec is encoding is None:
        return open(path, "rb")
    blocks = _plain(path) if codec is None else _decompressed(path, codec, part)
    return io.BufferedReader(
        Blocks(blocks if encoding is None else _decoded(path, encoding, blocks))
    )


def _plain(path: str) -> Generator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _decompressed(path: str, codec: str, part: int) -> Generator[bytes]:
    """What a compressed file holds, as far as it is not suspiciously more than the file."""
    size = os.path.getsize(path)
    left = most = most_bytes(size) // part
    with pa.CompressedInputStream(path, codec) as file:
        while block := file.read_buffer(_BLOCK).to_pybytes():  # read() leaks on damage
            left -= len(block)
            if left < 0:
                raise GraphError(
                    f"{path}: {size} compressed bytes hold more than {most >> 20} MiB: decompress "
                    "the file first if that is meant"
                )
            yield block


def not_decoded(path: str, line: int, encoding: str) -> GraphError:
    """The error for bytes that are not text in this encoding."""
    return GraphError(
        f"{path}, line {line}: not {encoding}: name the encoding of the file, for example "
        "encoding='latin-1' (--encoding latin-1), or convert it to UTF-8"
    )


def _decoded(path: str, encoding: str, blocks: Iterator[bytes]) -> Generator[bytes]:
    """Text in some encoding, as UTF-8."""
    try:
        " ".encode(encoding)  # which also refuses what is no encoding of text
        decoder = codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError):
        raise GraphError(
            f"encoding {encoding!r} is not known: give one such as 'latin-1' or 'utf-16'"
        ) from None
    line = 1
    for block in chain(blocks, [b""]):
        try:
            text = decoder.decode(block, final=not block).encode()
        except UnicodeError as error:  # of a decoder, or half a character, which UTF-8 has not
            before = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
            raise not_decoded(path, line + before.count(b"\n"), encoding) from None
        line += text.count(b"\n")
        if text:
            yield text


def raw_lines(path: str, encoding: str | None = None) -> Iterator[bytes]:
    """The lines of a file, decompressed and in UTF-8; `GraphError` at one that is too long."""
    with open_bytes(path, encoding) as stream:
        while line := stream.readline(LINE + 1):
            if len(line) > LINE:
                raise GraphError(
                    f"{path}: a line is longer than {LINE >> 20} MiB: not an edge list"
                )
            yield line
