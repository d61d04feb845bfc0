"""Files that are written whole or not at all, sealed by the sha256 of their content.

That of a record is its last key, that of arrays lies beside their description. Whoever reads
compares.
"""

import hashlib
import json
import math
import os
import secrets
import shutil
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

SEAL = "sha256"
_LARGEST_RECORD = 64 << 20  # bytes

Write = Callable[[IO[bytes]], object]

_LOCK = ".lock"  # there while files of a folder are renamed
_RENAMING = threading.Lock()


def replace_files(folder: Path, contents: Mapping[str, Write]) -> None:
    """Write files of a folder, all of them or none; what was there under their names is kept until
    then.

    Each reaches the disk under a temporary name before any is renamed. Where something fails,
    everything is as it was, and the ``OSError`` names the file. Who writes the same files at once
    does so before or after. A process that is killed between two renames leaves whole files under
    their temporary names, ``.NAME.`` and some characters.
    """
    name = ""
    try:
        with ExitStack() as stack:
            temporary = {}
            for name, write in contents.items():
                temporary[name] = stack.enter_context(_written(folder, name, write))
            if len(contents) > 1:
                stack.enter_context(alone(folder))
            kept: dict[str, Path | None] = {}
            try:
                for name in contents:
                    if len(kept) + 1 < len(
                        contents
                    ):  # nothing comes after the last that could fail
                        kept[name] = _another_name(folder / name)
                    temporary[name].replace(folder / name)
            finally:
                all_renamed = not any(path.exists() for path in temporary.values())
                for other, old in kept.items():
                    if not all_renamed and not temporary[other].exists():
                        (folder / other).unlink() if old is None else old.replace(folder / other)
                    elif old is not None:
                        old.unlink()
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(folder / name)) from None


def replace_file(path: Path, content: str | bytes) -> None:
    """Write one file, whole or not at all; text in UTF-8, its line ends as they are."""
    data = content.encode() if isinstance(content, str) else content
    replace_files(path.parent, {path.name: lambda file: file.write(data)})


@contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Keep all others that rename files of a folder out; whether other processes are kept out,
    too.
    """
    with _RENAMING:
        handle = _locked(folder / _LOCK)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                (folder / _LOCK).unlink()
                os.close(handle)


def remove_leftovers(folder: Path, names: Sequence[str]) -> None:
    """Remove the temporary files of processes that were killed while they wrote one of these files.

    What a living process writes is locked. Where files cannot be locked, nothing tells the two
    apart, and all stay.
    """
    for name in names:
        for left in folder.glob(f".{name}.*"):
            with suppress(OSError):  # whoever writes next will say so
                handle = os.open(left, os.O_RDWR)
                try:
                    if lock(handle):
                        left.unlink()
                finally:
                    os.close(handle)


def lock(handle: int, *, wait: bool = False) -> bool | None:
    """Lock an open file or folder until it is closed; False where another holds it, None where that
    is not known.

    Some file systems lock nothing, as NFS may be, and some systems have no ``flock``.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def holder(handle: int) -> int | None:
    """The process that holds the lock of an open file or folder; None where the system does not
    say.
    """
    about = os.fstat(handle)
    where = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    with suppress(OSError, ValueError), open("/proc/locks") as locks:
        return next((int(words[4]) for line in locks if (words := line.split())[5] == where), None)
    return None


def _locked(path: Path) -> int | None:
    """A file that is there from now on, and locked until its handle is closed; None where files
    cannot be locked.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        known = lock(handle, wait=True)
        with suppress(
            FileNotFoundError
        ):  # whoever had it locked may have removed it since it was opened
            if known and os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)
        if known is None:
            path.unlink(missing_ok=True)
            return None


@contextmanager
def _written(folder: Path, name: str, write: Write) -> Iterator[Path]:
    """A temporary file that holds what is written, on the disk; removed at the end, unless it was
    renamed.
    """
    path = unique_beside(folder / name)
    handle = None
    try:
        handle = _locked(path)  # so that it is not taken for one of a process that was killed
        with open(path, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        yield path
    finally:
        path.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def _another_name(path: Path) -> Path | None:
    """Another name for what a file holds now; None where there is no file."""
    kept = unique_beside(path)
    try:
        os.link(path, kept)
    except FileNotFoundError:
        return None
    except OSError:  # a file system without links
        shutil.copyfile(path, kept)
    return kept


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
    digest = hashlib.sha256(_canonical(about))
    for array in arrays:
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"|{plain.dtype.str}{plain.shape}".encode())
        digest.update(plain.data)
    return digest.hexdigest()


def texts_as_arrays(texts: Sequence[str]) -> list[NDArray[np.generic]]:
    """The lengths and the bytes of texts, for `digest_of`."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.array([len(text) for text in encoded], dtype=np.int64)
    return [lengths, np.frombuffer(b"".join(encoded), dtype=np.uint8)]


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


def sealed_json(record: Mapping[str, object]) -> bytes:
    """A record as JSON for people, its last key the sha256 of all others; what is not finite is
    null.
    """
    plain = {str(key): as_json_data(value) for key, value in record.items() if key != SEAL}
    plain[SEAL] = hashlib.sha256(_canonical(plain)).hexdigest()
    text = json.dumps(plain, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    # UTF-8 has no half characters, such as may be in names; JSON writes them as a backslash and
    # their number.
    return text.encode("utf-8", "backslashreplace")


def read_sealed_json(path: Path) -> dict[str, Any]:
    """What `sealed_json` made; ``ValueError`` where it is not as it was written, a warning where it
    has no seal.
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
    warnings.warn(
        f"{path} carries no sha256, so damage to it cannot be seen: save it again", stacklevel=4
    )


def _canonical(data: Mapping[str, object]) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
