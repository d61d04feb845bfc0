"""Files that are there whole or not at all, and that know what they should hold.

Content is sealed by a sha256 that travels with it: that of a record is its last key, that of arrays lies beside their
description. Whoever reads compares, so that a byte that changed on the disk is found.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

SEAL = "sha256"
_LARGEST_RECORD = 64 << 20  # bytes

Write = Callable[[IO[bytes]], object]


def replace_files(folder: Path, contents: Mapping[str, Write]) -> None:
    """Write files of a folder, all of them or none; what was there under their names is kept until then.

    Each is written to a temporary file, which reaches the disk before any is renamed. Where that fails, the ``OSError``
    names the file that could not be written.
    """
    temporary = {name: folder / f".{name}.{os.getpid()}" for name in contents}
    name = ""
    try:
        for name, write in contents.items():
            with open(temporary[name], "wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
        for name in contents:
            temporary[name].replace(folder / name)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(folder / name)) from None
    finally:
        for path in temporary.values():
            path.unlink(missing_ok=True)


def check_writable(folder: Path) -> None:
    """Raise ``OSError`` where no file can be written to a folder: better before a training than after it."""
    probe = folder / f".write.{os.getpid()}"
    try:
        probe.write_bytes(b"")
    finally:
        probe.unlink(missing_ok=True)


def digest_of(about: Mapping[str, Any], arrays: Sequence[NDArray[Any]]) -> str:
    """The sha256 over a description, as plain data, and arrays: the same on every machine.

    >>> digest_of({"kind": "flat"}, [np.arange(3.0)])[:16]
    'd850528d4d962ded'
    """
    digest = hashlib.sha256(_canonical(about))
    for array in arrays:
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"|{plain.dtype.str}{plain.shape}".encode())
        digest.update(plain.data)
    return digest.hexdigest()


def texts_as_arrays(texts: Sequence[str]) -> list[NDArray[Any]]:
    """The lengths and the letters of texts, for :func:`digest_of`."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.array([len(text) for text in encoded], dtype=np.int64)
    return [lengths, np.frombuffer(b"".join(encoded), dtype=np.uint8)]


def sealed_json(record: Mapping[str, Any]) -> bytes:
    """A record of plain data as JSON for people, its last key the sha256 of all others."""
    plain = json.loads(json.dumps(record, allow_nan=False))
    plain.pop(SEAL, None)
    plain[SEAL] = hashlib.sha256(_canonical(plain)).hexdigest()
    return (json.dumps(plain, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def read_sealed_json(path: Path) -> dict[str, Any]:
    """What :func:`sealed_json` made; ``ValueError`` where it is not as it was written.

    A record without a seal is taken as it is, with a warning.
    """
    try:
        if path.stat().st_size > _LARGEST_RECORD:
            raise ValueError(f"it has more than {_LARGEST_RECORD >> 20} MiB")
        record = json.loads(path.read_bytes().decode("utf-8"))
        if not isinstance(record, dict):
            raise ValueError("it holds no JSON object")
        seal = record.pop(SEAL, None)
        if seal is None:
            warn_unsealed(path)
        elif seal != hashlib.sha256(_canonical(record)).hexdigest():
            raise ValueError("its content is not what was written: its sha256 differs")
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"{path} is damaged: {reason}") from None
    return record


def warn_unsealed(path: Path) -> None:
    """Say that a file was written before files had seals."""
    warnings.warn(f"{path} carries no sha256, so damage to it cannot be seen: save it again", stacklevel=4)


def _canonical(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
