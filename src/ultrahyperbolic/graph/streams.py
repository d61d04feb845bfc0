"""The bytes of a file, decompressed and in UTF-8, and no more of them than its size may hold."""

import codecs
import io
from collections.abc import Iterator

import pyarrow as pa

from .errors import LINE, GraphError, most_bytes

_DECODED = 1 << 20  # bytes that are decoded at a time


class Stream(io.RawIOBase):
    """Bytes that are read one part after the other, through another stream, which is closed with this one."""

    def __init__(self, stream: "Stream") -> None:
        super().__init__()
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``, all of them where it is negative; none at the end."""
        return self._stream.read(size)

    def close(self) -> None:
        """Free the file."""
        self._stream.close()
        super().close()


def compression(path: str) -> str | None:
    """How a file is compressed, as its first bytes say: ``"gzip"``, ``"zstd"`` or not at all."""
    with open(path, "rb") as file:
        magic = file.read(4)
    return "gzip" if magic[:2] == b"\x1f\x8b" else "zstd" if magic == b"\x28\xb5\x2f\xfd" else None


def open_bytes(path: str, encoding: str | None = None, *, part: int = 1) -> Stream:
    """The bytes of a file, decompressed and in UTF-8; if compressed, at most this ``part`` (2: half) of the limit."""
    codec = compression(path)
    file = pa.OSFile(path)
    stream: Stream = file
    if codec is not None:
        most = most_bytes(file.size()) // part
        stream = _Decompressed(path, file.size(), most, pa.CompressedInputStream(file, codec))
    return stream if encoding is None else _Decoded(path, encoding, stream)


def not_decoded(path: str, line: int, encoding: str) -> GraphError:
    """The error for bytes that are not text in this encoding."""
    return GraphError(
        f"{path}, line {line}: not {encoding}: name the encoding of the file, for example encoding='latin-1' "
        "(--encoding latin-1), or convert it to UTF-8"
    )


class _Decoded(Stream):
    """Text in some encoding, as UTF-8."""

    def __init__(self, path: str, encoding: str, stream: Stream) -> None:
        super().__init__(stream)
        try:
            " ".encode(encoding)  # which also refuses what is no encoding of text
            self._decoder = codecs.getincrementaldecoder(encoding)()
        except (LookupError, ValueError):
            raise GraphError(f"encoding {encoding!r} is not known: give one such as 'latin-1' or 'utf-16'") from None
        self._path, self._encoding = path, encoding
        self._ready, self._line, self._at_end = b"", 1, False

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``, all of them where it is negative; none at the end."""
        parts = [self._ready]
        while not self._at_end and (size < 0 or sum(map(len, parts)) < size):
            block = self._stream.read(_DECODED)
            self._at_end = not block
            try:
                parts.append(self._decoder.decode(block, final=self._at_end).encode())
            except UnicodeError as error:  # of a decoder, or half a character, which UTF-8 does not have
                before = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
                raise not_decoded(self._path, self._line + before.count(b"\n"), self._encoding) from None
            self._line += parts[-1].count(b"\n")
        data = b"".join(parts)
        size = len(data) if size < 0 else size
        data, self._ready = data[:size], data[size:]
        return data


class _Decompressed(Stream):
    """What a compressed file holds, as far as it is not suspiciously more than the file."""

    def __init__(self, path: str, size: int, most: int, stream: Stream) -> None:
        super().__init__(stream)
        self._path, self._size = path, size
        self._most = self._left = most

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
