"""How the processes of a training talk, which ``torchrun`` starts: the first decides everything, the others are told.

A message is a header of numbers, sent to all. To *open* an engine the first process sends the graph and the runs
with their digest, and each of the others answers with what is wrong, or nothing. What comes after other headers is the
business of the engine that they name. On CPUs gloo carries the messages; between CUDA devices NCCL does. Headers have a
group of their own: while the first process works alone, a thread of it says from time to time that it is there.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from enum import IntEnum
from importlib.util import find_spec
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from ..version import __version__
from .base import Precision, Problem, RunSpec, Schedule
from .processes import ProcessesError, processes, set_processes

# A process that is gone is noticed at once. One that does not answer, because its machine hangs or cannot be reached,
# is given up after so many seconds, unless this variable has another number.
_PATIENCE, _VARIABLE = 600.0, "ULTRAHYPERBOLIC_TIMEOUT"
# How often in that time the first process says that it is there.
_PULSES = 4
# What is said, to which engine, and up to so many numbers.
_HEADER = 2 + 7
_NO_SCHEDULE = Schedule.constant(1, temperature=1.0, step=1.0)
_numbers = itertools.count()
_speaking = threading.Lock()


class _Connection:
    headers: dist.ProcessGroup | None = None
    lost = ""
    """What went wrong: nothing is sent after that, which would only be waited for again."""


class ConnectionLostError(RuntimeError):
    """Another process of the training is gone, or does not answer."""


class Say(IntEnum):
    """What a message is about."""

    LEAVE = 0
    OPEN = 1
    CLOSE = 2
    PASS = 3
    ADVANCE = 4
    EVALUATE = 5
    WAIT = 6


class Setup(NamedTuple):
    """How an engine is made, besides its problem."""

    kind: Literal["numba", "sampled"]
    threads: int
    """Of each process."""
    precision: Precision
    device: str = "cpu"
    """``"cpu"``, or ``"cuda"`` for the device of each process."""


class Opening(NamedTuple):
    """What an engine is made of."""

    setup: Setup
    n_nodes: int
    specs: Sequence[RunSpec]
    best_every: int
    stop_when_ordered: bool
    versions: dict[str, str]

    def digest(self, *arrays: NDArray[np.int64]) -> str:
        """Of everything, with the ties."""
        found = hashlib.sha256(repr((self.setup, self.n_nodes, *self[3:])).encode())
        for array in (*arrays, *(spec.schedule.rows for spec in self.specs)):
            found.update(np.ascontiguousarray(array).data)
        for spec in self.specs:
            schedule = spec.schedule
            found.update(repr(replace(spec, schedule=_NO_SCHEDULE)).encode())
            found.update(repr((schedule.drop_below, schedule.drop_factor, schedule.parts)).encode())
        return found.hexdigest()


# --- joining -----------------------------------------------------------------------------------------------------


@contextmanager
def joined() -> Iterator[None]:
    """Be the first of the processes that torchrun has started, and let the others go in the end."""
    join()
    over = threading.Event()
    pulse = threading.Thread(target=_say_wait, args=(over,), daemon=True)
    pulse.start()
    try:
        yield
    finally:
        over.set()
        pulse.join()
        with suppress(ConnectionLostError):  # who is gone needs no telling
            say(Say.LEAVE)
        part()


def _say_wait(over: threading.Event) -> None:
    """Tell the others that the first is there, whatever it is at, until that is over."""
    while not over.wait(patience() / _PULSES):
        with suppress(ConnectionLostError):  # which is for whoever asks for something
            say(Say.WAIT)


def patience() -> float:
    """For how many seconds a process that does not answer is waited for."""
    text = os.environ.get(_VARIABLE, str(_PATIENCE))
    with suppress(ValueError):
        if 0.0 < float(text) < 1e9:
            return float(text)
    raise ProcessesError(f"{_VARIABLE} must be a number of seconds above 0, got {text!r}")


def join() -> None:
    """Meet the other processes."""
    longest = timedelta(seconds=patience())
    store, rank, world = next(rendezvous("env://", timeout=longest))
    # The launcher's store outlives a restart: what processes that are gone have written there is not for us.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    own = dist.PrefixStore(f"ultrahyperbolic/{attempt}", store)  # type: ignore[attr-defined]  # documented all the same
    backends = "cpu:gloo"
    if torch.cuda.is_available() and dist.is_nccl_available():
        backends += ",cuda:nccl"  # which connects nothing before it is used
    dist.init_process_group(backends, store=own, rank=rank, world_size=world, timeout=longest)
    _Connection.headers, _Connection.lost = dist.new_group(backend="gloo", timeout=longest), ""
    set_processes(dist.get_world_size())


def part() -> None:
    """Be alone again."""
    set_processes(1)
    _Connection.headers = None
    dist.destroy_process_group()


def own_device(kind: str) -> torch.device:
    """The device of this process; ``ProcessesError`` where there is none for it."""
    if kind == "cpu":
        return torch.device("cpu")
    if kind != "cuda":
        raise ProcessesError(f"several processes compute on cpu or cuda, not on {kind}")
    local, there = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if not torch.cuda.is_available() or not there:
        raise ProcessesError("torch finds no CUDA device here: use --device cpu")
    if not dist.is_nccl_available():
        raise ProcessesError("this build of torch has no NCCL, by which CUDA devices talk: use --device cpu")
    if local >= there:
        asked = os.environ.get("LOCAL_WORLD_SIZE", str(local + 1))
        raise ProcessesError(
            f"{asked} processes were started on a machine with {there} CUDA device{'s' * (there != 1)}: "
            f"use --nproc-per-node={there}, or --device cpu"
        )
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    return device


def own_rank() -> int:
    """The number of this process; 0 is the first."""
    return dist.get_rank()


def owned(count: int, rank: int, world: int) -> range:
    """Of so many things that cost about the same, those of a process, one after the other."""
    return range(count * rank // world, count * (rank + 1) // world)


# --- messages ----------------------------------------------------------------------------------------------------


@contextmanager
def connection() -> Iterator[None]:
    """Where processes talk: what goes wrong there is a lost connection."""
    try:
        yield
    except RuntimeError as error:
        words = _Connection.lost = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConnectionLostError(f"another process of this training is gone or does not answer ({words})") from None


def say(what: Say, *numbers: float) -> None:
    """Tell all others something; the first number is that of an engine."""
    header = torch.zeros(_HEADER, dtype=torch.float64)
    header[: 1 + len(numbers)] = torch.tensor([float(what), *numbers], dtype=torch.float64)
    with _speaking, connection():
        if _Connection.lost:
            raise RuntimeError(_Connection.lost)
        dist.broadcast(header, 0, group=_Connection.headers)


def hear() -> tuple[Say, int, list[float]]:
    """What the first process says: what it is about, the number of an engine, and numbers for that."""
    header = torch.full((_HEADER,), float(Say.WAIT), dtype=torch.float64)
    while header[0] == Say.WAIT:
        with connection():
            dist.broadcast(header, 0, group=_Connection.headers)
    what, engine, *numbers = header.tolist()
    return Say(int(what)), int(engine), numbers


def share(tensor: Tensor) -> None:
    """Give a tensor of the first process to all others, in place."""
    whole = tensor.contiguous()
    with connection():
        dist.broadcast(whole, 0)
    if whole is not tensor:
        tensor.copy_(whole)


def gather_tensors(mine: Sequence[tuple[Tensor, ...]], device: torch.device) -> list[tuple[Tensor, ...]]:
    """The tuples of tensors of all processes, bit for bit, those of the first before those of the second."""
    here = [[(tensor.dtype, tuple(tensor.shape)) for tensor in some] for some in mine]
    shapes: list[list[list[tuple[torch.dtype, tuple[int, ...]]]]] = [[]] * processes()
    with connection():
        dist.all_gather_object(shapes, here)
    sizes = [sum(_bytes(dtype, shape) for some in each for dtype, shape in some) for each in shapes]
    room = torch.zeros(max(sizes), dtype=torch.uint8, device=device)
    at = 0
    for tensor in itertools.chain.from_iterable(mine):
        raw = tensor.contiguous().reshape(-1).view(torch.uint8)
        room[at : at + len(raw)] = raw
        at += _bytes(tensor.dtype, tuple(tensor.shape))
    rooms = [torch.empty_like(room) for _ in sizes]
    with connection():
        dist.all_gather(rooms, room)
    return [found for raw, each in zip(rooms, shapes, strict=True) for found in _unpacked(raw, each)]


def _unpacked(
    raw: Tensor, shapes: Sequence[Sequence[tuple[torch.dtype, tuple[int, ...]]]]
) -> Iterator[tuple[Tensor, ...]]:
    at = 0
    for some in shapes:
        found = []
        for dtype, shape in some:
            size = _size(shape) * dtype.itemsize
            found.append(raw[at : at + size].view(dtype).reshape(shape))
            at += _bytes(dtype, shape)
        yield tuple(found)


def _size(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _bytes(dtype: torch.dtype, shape: Sequence[int]) -> int:
    """Of a tensor in a message, where every one begins at a multiple of 8."""
    return -(-_size(shape) * dtype.itemsize // 8) * 8


# --- opening an engine -------------------------------------------------------------------------------------------


def versions_here(device: torch.device) -> dict[str, str]:
    """What the bits of a result depend on."""
    found = {"ultrahyperbolic": __version__, "torch": torch.__version__, "numpy": np.__version__}
    if device.type == "cuda":
        return found | {"device": torch.cuda.get_device_name(device)}
    if find_spec("numba") is not None:
        import numba

        found["numba"] = numba.__version__
    return found | {"machine": platform.machine()}


def open_everywhere(problem: Problem, setup: Setup) -> int:
    """Have every other process make the engine of a problem; its number.

    ``ProcessesError`` with what is wrong with one of them.
    """
    pairs, number = problem.pairs, next(_numbers)
    opening = Opening(setup, pairs.n_nodes, *problem[1:], versions_here(own_device(setup.device)))
    arrays = [np.ascontiguousarray(array, dtype=np.int64) for array in (pairs.edges, pairs.weaker)]
    say(Say.OPEN, number)
    with connection():
        dist.broadcast_object_list([opening, opening.digest(*arrays), pairs.n_edges], 0)
    for array in arrays:
        share(torch.from_numpy(array))
    wrong = answer("")
    if wrong:
        raise ProcessesError("; ".join(wrong))
    return number


def received() -> tuple[Opening, NDArray[np.int64], NDArray[np.int64], str]:
    """What the first process wants an engine of: how, the ties and their classes; and what is wrong with that."""
    found: list[object] = [None, None, None]
    with connection():
        dist.broadcast_object_list(found, 0)
    opening, digest, edges = found
    if not isinstance(opening, Opening) or not isinstance(edges, int):
        raise ConnectionLostError("the first process speaks another language")
    ends, weaker = np.empty((edges, 2), dtype=np.int64), np.empty(edges, dtype=np.int64)
    for array in (ends, weaker):
        share(torch.from_numpy(array))
    return opening, ends, weaker, "" if opening.digest(ends, weaker) == digest else "the graph has changed on the way"


def answer(wrong: str) -> list[str]:
    """Say what is wrong here, or nothing; what is wrong with any of the processes."""
    answers: list[str] = [""] * processes()
    with connection():
        dist.all_gather_object(answers, wrong)
    return [f"process {number}: {text}" for number, text in enumerate(answers) if text]
