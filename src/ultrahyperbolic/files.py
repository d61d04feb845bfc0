"""Files that are written whole or not at all, locks, and data as JSON has it."""

import hashlib
import json
import math
import os
import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

SEAL = "sha256"
LARGEST_JSON = 64 << 20  # bytes of a file that is read as JSON

Data = dict[str, Any]
"""An object of JSON."""
Write = Callable[[IO[bytes]], object]


def replace_file(path: Path, content: str | bytes | Write) -> None:
    """Write one file, whole or not at all; text in UTF-8, its line ends as they are.

    What was there under its name stays until the new content is on the disk. An ``OSError`` names
    the file. A process that is killed leaves a file ``.NAME.`` and some characters, which
    `remove_leftovers` removes.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = unique_beside(path)
    try:
        with open(temporary, "xb") as file:
            lock(file.fileno())  # no leftover: the process that writes it is alive
            if isinstance(data, bytes):
                file.write(data)
            else:
                data(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder: Path, names: Sequence[str]) -> None:
    """Remove the temporary files of processes that were killed while they wrote one of these files.

    What a living process writes is locked. Where files cannot be locked, nothing tells the two
    apart, and all stay.
    """
    for name in names:
        for leftover in folder.glob(f".{name}.*"):
            with suppress(OSError):  # whoever writes next will say so
                handle = os.open(leftover, os.O_RDWR)
                try:
                    if lock(handle):
                        leftover.unlink()
                finally:
                    os.close(handle)


def lock(handle: int) -> bool | None:
    """Lock an open file or folder until it is closed; False where another holds it, None where that
    is not known.

    Some file systems lock nothing, as NFS may be, and some systems have no ``flock``.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def holder(handle: int) -> int | None:
    """The process that holds the lock of an open file or folder; None where the system does not
    say.
    """
    status = os.fstat(handle)
    where = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError), open("/proc/locks") as locks:
        return next((int(words[4]) for line in locks if (words := line.split())[5] == where), None)
    return None


def unique_beside(path: Path) -> Path:
    """A name in the same folder that no other process or thread takes."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def check_writable(folder: Path) -> None:
    """Raise ``OSError`` where no file can be written to a folder: better before a training than
    after it.
    """
    probe = unique_beside(folder / "write")
    try:
        probe.write_bytes(b"")
    finally:
        probe.unlink(missing_ok=True)


def digest_of(about: Mapping[str, object], arrays: Sequence[NDArray[np.generic]]) -> str:
    """The sha256 over a description, as plain data, and arrays: the same on every machine.

    >>> digest_of({"kind": "flat"}, [np.arange(3.0)])[:16]
    'd850528d4d962ded'
    """
    canonical = json.dumps(about, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(canonical.encode())
    for array in arrays:
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"|{plain.dtype.str}{plain.shape}".encode())
        digest.update(plain.data)
    return digest.hexdigest()


def as_json_data(value: object) -> object:
    """Nested data as strict JSON has it: plain numbers for those of NumPy, None for what is not
    finite.

    >>> as_json_data({"loss": (np.float32(0.5), math.inf), 7: np.int64(3)})
    {'loss': [0.5, None], '7': 3}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): as_json_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json_data(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int) or value is None:
        return value
    raise TypeError(
        f"JSON has numbers, text, lists and objects, and no {type(value).__name__}: {value!r}"
    )


def id_as_json(node: object) -> object:
    """An id as JSON has it: NumPy's numbers as plain ones, tuples as lists, Infinity as Python's
    JSON writes it.

    >>> id_as_json(("a", np.int64(7), math.inf))
    ['a', 7, inf]
    """
    if isinstance(node, np.generic):
        node = node.item()
    if isinstance(node, tuple | list):
        return [id_as_json(part) for part in node]
    if isinstance(node, float) and math.isnan(node):
        raise ValueError(
            "an id is NaN, which is equal to no id, itself included: give the node another"
        )
    if isinstance(node, str | int | float) or node is None:
        return node
    raise TypeError(
        f"ids must be text, numbers or tuples of them to be saved, got {type(node).__name__}: "
        f"{node!r}"
    )


def id_from_json(value: object) -> Hashable:
    """The reverse: lists are tuples."""
    if isinstance(value, list):
        return tuple(map(id_from_json, value))
    if isinstance(value, Hashable):
        return value
    raise ValueError(f"no id: {value!r}")


def json_for_people(record: Mapping[str, object]) -> bytes:
    """A record as JSON with indents; what is not finite is null."""
    text = json.dumps(as_json_data(record), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    # UTF-8 has no half characters, such as may be in names; JSON writes them as a backslash and
    # their number.
    return text.encode("utf-8", "backslashreplace")


def read_json(path: Path) -> Data:
    """A file that holds one JSON object; ``ValueError`` where it does not."""
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise ValueError(f"it has more than {LARGEST_JSON >> 20} MiB")
        record = json.loads(path.read_bytes().decode("utf-8"))
        if not isinstance(record, dict):
            raise ValueError("it holds no JSON object")
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"{path} is damaged: {reason}") from None
    return record
