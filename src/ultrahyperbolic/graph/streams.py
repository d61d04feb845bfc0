"""The bytes of a file, decompressed and in UTF-8, and no more of them than its size may hold."""

import codecs
import io
import os
from collections.abc import Iterator
from itertools import chain

import pyarrow as pa

from .errors import LINE, GraphError, most_bytes

_BLOCK = 1 << 20  # bytes that are decompressed or decoded at a time


class _Blocks(io.RawIOBase):
    """Bytes that come in blocks, none of them empty, read as those of a file; ``file`` is closed
    with it.
    """

    def __init__(self, blocks: Iterator[bytes], file: pa.NativeFile) -> None:
        super().__init__()
        self._blocks, self._file, self._ready = blocks, file, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as there are bytes at hand; 0 at the end."""
        self._ready = self._ready or memoryview(next(self._blocks, b""))
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def close(self) -> None:
        """Free the file."""
        self._file.close()
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
    codec, size = compression(path), os.path.getsize(path)
    if codec is encoding is None:
        return open(path, "rb")
    file = pa.OSFile(path) if codec is None else pa.CompressedInputStream(path, codec)
    blocks: Iterator[bytes] = iter(
        lambda: file.read_buffer(_BLOCK).to_pybytes(), b""
    )  # read() leaks on damage
    if codec is not None:
        blocks = _limited(path, size, most_bytes(size) // part, blocks)
    if encoding is not None:
        blocks = _decoded(path, encoding, blocks)
    return io.BufferedReader(_Blocks(blocks, file), _BLOCK)


def not_decoded(path: str, line: int, encoding: str) -> GraphError:
    """The error for bytes that are not text in this encoding."""
    return GraphError(
        f"{path}, line {line}: not {encoding}: name the encoding of the file, for example "
        "encoding='latin-1' "
        "(--encoding latin-1), or convert it to UTF-8"
    )


def _decoded(path: str, encoding: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
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
        except (
            UnicodeError
        ) as error:  # of a decoder, or half a character, which UTF-8 does not have
            before = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
            raise not_decoded(path, line + before.count(b"\n"), encoding) from None
        line += text.count(b"\n")
        if text:
            yield text


def _limited(path: str, size: int, most: int, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """What a compressed file of ``size`` bytes holds, as far as it is not suspiciously more than
    the file.
    """
    left = most
    for block in blocks:
        left -= len(block)
        if left < 0:
            raise GraphError(
                f"{path}: {size} compressed bytes hold more than {most >> 20} MiB: decompress the "
                "file first if that "
                "is meant"
            )
        yield block


def raw_lines(path: str, encoding: str | None = None) -> Iterator[bytes]:
    """The lines of a file, decompressed and in UTF-8, up to one that is too long."""
    with open_bytes(path, encoding) as stream:
        while 0 < len(line := stream.readline(LINE + 1)) <= LINE:
            yield line
