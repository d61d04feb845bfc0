"""The bytes of a file, decompressed and in UTF-8, and no more of them than its size may hold."""

import codecs
import io
from collections.abc import Iterator
from itertools import chain

import pyarrow as pa

from .errors import LINE, GraphError, most_bytes

_BLOCK = 1 << 20  # bytes that are decompressed or decoded at a time


class Stream(io.RawIOBase):
    """Bytes that come in blocks, none of them empty, read as those of a file; ``file`` is closed with it."""

    def __init__(self, blocks: Iterator[bytes], file: pa.NativeFile) -> None:
        super().__init__()
        self._blocks, self._file, self._ready = blocks, file, b""

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``, all of them where it is negative; none at the end."""
        parts, count = [self._ready], len(self._ready)
        while (size < 0 or count < size) and (block := next(self._blocks, b"")):
            parts.append(block)
            count += len(block)
        data = b"".join(parts)
        size = count if size < 0 else size
        data, self._ready = data[:size], data[size:]
        return data

    def close(self) -> None:
        """Free the file."""
        self._file.close()
        super().close()


def compression(path: str) -> str | None:
    """How a file is compressed, as its first bytes say: ``"gzip"``, ``"zstd"`` or not at all."""
    with open(path, "rb") as file:
        magic = file.read(4)
    return "gzip" if magic[:2] == b"\x1f\x8b" else "zstd" if magic == b"\x28\xb5\x2f\xfd" else None


def open_bytes(path: str, encoding: str | None = None, *, part: int = 1) -> Stream:
    """The bytes of a file, decompressed and in UTF-8; if compressed, at most this ``part`` (2: half) of the limit."""
    codec, file = compression(path), pa.OSFile(path)
    stream: Stream = file if codec is None else pa.CompressedInputStream(file, codec)
    blocks: Iterator[bytes] = iter(lambda: stream.read(_BLOCK), b"")
    if codec is not None:
        blocks = _limited(path, file.size(), most_bytes(file.size()) // part, blocks)
    if encoding is not None:
        blocks = _decoded(path, encoding, blocks)
    return stream if codec is encoding is None else Stream(blocks, stream)


def not_decoded(path: str, line: int, encoding: str) -> GraphError:
    """The error for bytes that are not text in this encoding."""
    return GraphError(
        f"{path}, line {line}: not {encoding}: name the encoding of the file, for example encoding='latin-1' "
        "(--encoding latin-1), or convert it to UTF-8"
    )


def _decoded(path: str, encoding: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Text in some encoding, as UTF-8."""
    try:
        " ".encode(encoding)  # which also refuses what is no encoding of text
        decoder = codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError):
        raise GraphError(f"encoding {encoding!r} is not known: give one such as 'latin-1' or 'utf-16'") from None
    line = 1
    for block in chain(blocks, [b""]):
        try:
            text = decoder.decode(block, final=not block).encode()
        except UnicodeError as error:  # of a decoder, or half a character, which UTF-8 does not have
            before = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
            raise not_decoded(path, line + before.count(b"\n"), encoding) from None
        line += text.count(b"\n")
        if text:
            yield text


def _limited(path: str, size: int, most: int, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """What a compressed file of ``size`` bytes holds, as far as it is not suspiciously more than the file."""
    left = most
    for block in blocks:
        left -= len(block)
        if left < 0:
            raise GraphError(
                f"{path}: {size} compressed bytes hold more than {most >> 20} MiB: decompress the file first if that "
                "is meant"
            )
        yield block


def raw_lines(path: str, encoding: str | None = None) -> Iterator[bytes]:
    """The lines of a file, decompressed and in UTF-8."""
    rest = b""
    with open_bytes(path, encoding) as stream:
        while block := stream.read(LINE):
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
            if len(rest) > LINE:
                return  # of such a file nothing is said by line
    if rest:
        yield rest
