"""Several processes that compute one training, which ``torchrun`` starts: one program on all of
them, in step.

The first process reads, measures and writes. What all compute together is a *task*, which it sends
to the others; what depends on the clock or on a callback it decides and shares. Headers have a
group of their own: while it works alone, a thread of it says from time to time that it is there.
"""

from __future__ import annotations

import io
import os
import pickle
import platform
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib import metadata
from itertools import accumulate, chain
from typing import ParamSpec, TypeVar

import numpy as np

from ..lazy import Tensor, dist, installed, torch
from ..version import __version__

# A process that is gone is noticed at once. One that does not answer, because its machine hangs or
# cannot be reached, is given up after this many seconds (default), or those that the variable says.
_PATIENCE, _VARIABLE = 600.0, "ULTRAHYPERBOLIC_TIMEOUT"
# How often in that time the first process says that it is there.
_PULSES = 4
# Headers that are not the length of a message.
_WAIT, _LEAVE = -1, -2

P = ParamSpec("P")
T = TypeVar("T")
Tensors = tuple["Tensor", ...]


class ProcessesError(ValueError):
    """Processes that cannot compute a training together."""


class ConnectionLostError(RuntimeError):
    """Another process of the training is gone, or does not answer."""


class _Left(Exception):  # noqa: N818  # nothing is wrong
    """The first process needs no more help."""


class Communicator:
    """One process, which hears itself alone; several override what they do otherwise."""

    rank, size = 0, 1

    def share(self, value: T) -> T:
        """The value of the first process."""
        return value

    def follow(self, tensor: Tensor) -> None:
        """Take the values of the first process's tensor, in place."""

    def gather(self, mine: T) -> list[T]:
        """The values of all processes."""
        return [mine]

    def exchange(self, rooms: Sequence[Sequence[Tensor]]) -> None:
        """Fill the tensors of all processes, ``rooms[rank]``, each of one type and shape
        everywhere, bit for bit.
        """

    def gather_tensors(self, mine: Iterable[Tensors], device: torch.device) -> Iterable[Tensors]:
        """The tuples of tensors of all processes, those of the first before those of the second."""
        return mine

    def owned(self, count: int, rank: int | None = None) -> range:
        """Of things that cost about the same, those of a process (default: this one), one after the
        other.
        """
        rank = self.rank if rank is None else rank
        return range(count * rank // self.size, count * (rank + 1) // self.size)

    def made(self, make: Callable[[], T]) -> T:
        """What every process makes, or `ProcessesError` on all with what is wrong with one of
        them.
        """
        return make()

    def perform(self, task: Callable[P, T], *own: P.args, **options: P.kwargs) -> T:
        """Perform a task, on all processes; its arguments are for the first alone."""
        return task(*own, **options)


class _Joined(Communicator):
    """One of the processes that torchrun has started."""

    def __init__(self) -> None:
        from torch.distributed.rendezvous import rendezvous

        longest = timedelta(seconds=patience())
        store, rank, world = next(rendezvous("env://", timeout=longest))
        # The launcher's store outlives a restart: what processes that are gone have written there
        # is not for us.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        own = dist.PrefixStore(f"ultrahyperbolic/{attempt}", store)  # type: ignore[attr-defined]  # it is documented
        backends = "cpu:gloo"
        if torch.cuda.is_available() and dist.is_nccl_available():
            backends += ",cuda:nccl"  # which connects nothing before it is used
        dist.init_process_group(backends, store=own, rank=rank, world_size=world, timeout=longest)
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.idle, self._lost, self._speaking = True, "", threading.Lock()
        self._headers = dist.new_group(backend="gloo", timeout=longest)

    @contextmanager
    def _connection(self) -> Iterator[None]:
        """Where processes talk: what goes wrong there is a lost connection, over which nothing more
        is sent.
        """
        try:
            if self._lost:
                raise RuntimeError(self._lost)
            yield
        except RuntimeError as error:
            words = self._lost = str(error).splitlines()[0] if str(error) else type(error).__name__
            why = f"another process of this training is gone or does not answer ({words})"
            raise ConnectionLostError(why) from None

    def head(self, number: int) -> int:
        """What the first process says next; the others wait for it."""
        header = torch.tensor([number])
        with self._speaking, self._connection():
            dist.broadcast(header, 0, group=self._headers)
        return int(header)

    def share(self, value: T) -> T:
        if self.rank == 0:
            stream = io.BytesIO()
            pickle.dump(value, stream, protocol=5)
            message = np.asarray(stream.getbuffer())
            self.head(len(message))
        else:
            size = _WAIT
            while size == _WAIT:
                size = self.head(size)
            if size == _LEAVE:
                raise _Left
            message = np.empty(size, dtype=np.uint8)
        self.follow(torch.from_numpy(message))
        return value if self.rank == 0 else pickle.loads(message.data)

    def follow(self, tensor: Tensor) -> None:
        whole = tensor.contiguous()
        with self._connection():
            dist.broadcast(whole, 0)
        if whole is not tensor:
            tensor.copy_(whole)

    def gather(self, mine: T) -> list[T]:
        found = [mine] * self.size
        with self._connection():
            dist.all_gather_object(found, mine)
        return found

    def exchange(self, rooms: Sequence[Sequence[Tensor]]) -> None:
        device = next((tensor.device for some in rooms for tensor in some), None)
        length = max(sum(map(_padded, some)) for some in rooms)
        messages = [torch.empty(length, dtype=torch.uint8, device=device) for _ in rooms]
        mine = torch.empty_like(messages[0])
        for tensor, place in _places(rooms[self.rank], mine):
            place.copy_(tensor)
        with self._connection():
            dist.all_gather(messages, mine)
        for some, message in zip(rooms, messages, strict=True):
            for tensor, place in _places(some, message):
                tensor.copy_(place)

    def gather_tensors(self, mine: Iterable[Tensors], device: torch.device) -> list[Tensors]:
        tensors = list(mine)
        shapes = self.gather(
            [[(tensor.shape, tensor.dtype) for tensor in some] for some in tensors]
        )
        rooms = [
            [tuple(torch.empty(k, dtype=t, device=device) for k, t in some) for some in each]
            for each in shapes
        ]
        rooms[self.rank] = tensors
        self.exchange([[*chain.from_iterable(some)] for some in rooms])
        return [*chain.from_iterable(rooms)]

    def made(self, make: Callable[[], T]) -> T:
        found, wrong = None, ""
        try:
            found = make()
        except (MemoryError, ValueError, ImportError) as error:
            wrong = str(error) or type(error).__name__
        answers = self.gather(wrong)
        if found is None or any(answers):
            if len(set(answers)) == 1:
                raise ProcessesError(wrong)
            raise ProcessesError(
                "; ".join(f"process {k}: {text}" for k, text in enumerate(answers) if text)
            )
        return found

    def perform(self, task: Callable[P, T], *own: P.args, **options: P.kwargs) -> T:
        self.share(task)
        self.idle = False
        try:
            found = task(*own, **options)
        except ProcessesError:  # which all have found
            self.idle = True
            raise
        self.idle = True
        return found


class _Current:
    communicator = Communicator()


def communicator() -> Communicator:
    """That of this process: it is alone unless it has joined others."""
    return _Current.communicator


def processes_here() -> int:
    """How many processes of the training share this machine and its memory."""
    return min(communicator().size, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


@contextmanager
def joined() -> Iterator[Communicator]:
    """Be one of the processes that torchrun has started; in the end the first lets the others
    go.
    """
    found, over = _Joined(), threading.Event()
    pulse = threading.Thread(target=_say_wait, args=(found, over), daemon=True)
    _Current.communicator = found
    try:
        # What the bits of a result depend on.
        facts = versions() | {
            "machine": platform.machine(),
            "CPU": torch.backends.cpu.get_cpu_capability(),
        }
        check_same(found, {name: fact for name, fact in facts.items() if name != "python"})
        if found.rank == 0:
            pulse.start()
        yield found
    finally:
        over.set()
        if pulse.ident is not None:
            pulse.join()
        # In the middle of a task the others wait for something else, and see that the first is
        # gone.
        if found.rank == 0 and found.idle:
            with suppress(ConnectionLostError):  # who is gone needs no telling
                found.head(_LEAVE)
        _Current.communicator = Communicator()
        dist.destroy_process_group()


def help_first() -> int:
    """Perform the tasks of the first process, which answers Ctrl-C for all, until it leaves; the
    exit code.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    try:
        with joined() as group:
            while True:
                task: Callable[[], object] = group.share(bool)  # which the first replaces
                with suppress(ProcessesError):  # which the first has found, too, and tells of
                    task()
    except _Left:
        return 0
    except (ConnectionLostError, ProcessesError):
        return 1  # whoever started us sees why


def _say_wait(group: _Joined, over: threading.Event) -> None:
    """Tell the others that the first is there, whatever it is at, until that is over."""
    while not over.wait(patience() / _PULSES):
        with suppress(ConnectionLostError):  # which is for whoever asks for something
            group.head(_WAIT)


def patience() -> float:
    """For how many seconds a process that does not answer is waited for."""
    text = os.environ.get(_VARIABLE, str(_PATIENCE))
    with suppress(ValueError):
        if 0.0 < float(text) < 1e9:
            return float(text)
    raise ProcessesError(f"{_VARIABLE} must be a number of seconds above 0, got {text!r}")


def own_device(device: torch.device) -> torch.device:
    """The device of this process of several; ``ProcessesError`` where there is none for it."""
    if device.type == "cpu":
        return device
    if device.type != "cuda":
        raise ProcessesError(f"several processes compute on cpu or cuda, not on {device.type}")
    local, there = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if not torch.cuda.is_available() or not there:
        raise ProcessesError("torch finds no CUDA device here: use --device cpu")
    if not dist.is_nccl_available():
        raise ProcessesError(
            "this build of torch has no NCCL, by which CUDA devices talk: use --device cpu"
        )
    if local >= there:
        asked = os.environ.get("LOCAL_WORLD_SIZE", str(local + 1))
        raise ProcessesError(
            f"{asked} processes were started on a machine with {there} CUDA "
            f"device{'s' * (there != 1)}: "
            f"use --nproc-per-node={there}, or --device cpu"
        )
    found = torch.device("cuda", local)
    torch.cuda.set_device(found)
    return found


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    found = {"ultrahyperbolic": __version__, "python": platform.python_version()}
    there = [name for name in ("torch", "numpy", "numba") if installed(name)]
    return found | {name: metadata.version(name) for name in there}  # nothing is loaded to be asked


def check_same(group: Communicator, facts: Mapping[str, str]) -> None:
    """Raise `ProcessesError` unless some facts are the same for all processes."""
    first, *others = group.gather(facts)
    for rank, here in enumerate(others, 1):
        if names := [name for name in {**first, **here} if first.get(name) != here.get(name)]:
            differing = "; ".join(
                f"{name} {here.get(name)} here, {first.get(name)} there" for name in names
            )
            raise ProcessesError(
                f"process {rank}: other versions than the first process, whose bits may differ "
                f"({differing})"
            )


def _padded(tensor: Tensor) -> int:
    """Bytes of a tensor in a message, where each begins at a multiple of 8."""
    return tensor.nbytes + -tensor.nbytes % 8


def _places(tensors: Sequence[Tensor], message: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Tensors, each with its place in a message of bytes."""
    for tensor, at in zip(tensors, accumulate(map(_padded, tensors), initial=0), strict=False):
        yield tensor, message[at : at + tensor.nbytes].view(tensor.dtype).view(tensor.shape)
