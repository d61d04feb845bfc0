"""Several processes that compute one training, which ``torchrun`` starts.

The first reads, trains, measures and writes. What it asks of its engine it asks of the engines of
the others, too: all have all points, each computes its share of the slabs of a pass, and then each
gets those of the others, so that all go on with the bits that one process would have.
"""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import metadata
from typing import Any, TypeVar

from ..arrays import Floats
from ..lazy import dist, installed
from ..version import __version__
from .base import BatchState, Engine, Evaluation

T = TypeVar("T")

# A process that is gone is noticed at once; one that hangs in a computation, after this time.
_PATIENCE = timedelta(minutes=10)
# Between computations the others wait for the first as long as it reads or measures.
_WAIT = timedelta(days=30)


class ProcessesError(ValueError):
    """Processes that cannot compute a training together."""


class ConnectionLostError(RuntimeError):
    """Another process of the training is gone, or does not answer."""


class Communicator:
    """The processes of a training; here one, which is alone."""

    rank, size = 0, 1

    def owned(self, count: int, rank: int | None = None) -> range:
        """Of so many slabs those of a process (default: this one), one after the other."""
        rank = self.rank if rank is None else rank
        return range(count * rank // self.size, count * (rank + 1) // self.size)

    def gather(self, own: T) -> list[T]:
        """The values of all processes."""
        return [own]

    def telling(self, *message: object) -> AbstractContextManager[object]:
        """Where the first process does what it tells the others to do."""
        return nullcontext()


class _Joined(Communicator):
    """One of the processes that torchrun has started."""

    def __init__(self) -> None:
        from torch.distributed.rendezvous import rendezvous

        store, rank, world = next(rendezvous("env://", timeout=_PATIENCE))
        # The launcher's store outlives a restart: what is there of processes that are gone is not
        # for us.
        prefix = f"ultrahyperbolic/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        own = dist.PrefixStore(prefix, store)  # type: ignore[attr-defined]  # it is documented
        dist.init_process_group("gloo", store=own, rank=rank, world_size=world, timeout=_PATIENCE)
        self.rank, self.size, self.idle = rank, world, True
        self._messages = dist.new_group(backend="gloo", timeout=_WAIT)
        facts = self.gather(versions() | {"python": "any"})
        if any(other != facts[0] for other in facts):
            raise ProcessesError(f"processes of different versions: {facts}")

    def gather(self, own: T) -> list[T]:
        values = [own] * self.size
        with _connection():
            dist.all_gather_object(values, own)
        return values

    @contextmanager
    def telling(self, *message: object) -> Iterator[None]:
        self.idle = False
        with _connection():
            dist.broadcast_object_list([message], group=self._messages)
        yield
        self.idle = True

    def hear(self) -> tuple[Any, ...]:
        """What the first process tells."""
        messages: list[tuple[Any, ...]] = [()]
        with _connection():
            dist.broadcast_object_list(messages, group=self._messages)
        return messages[0]


@dataclass
class SharedEngine(Engine):
    """The engine of the first process: what it does, those of the others do, too."""

    engine: Engine = field(kw_only=True)
    group: Communicator = field(kw_only=True)

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        with self.group.telling("advance", state, iterations):
            return self.engine.advance(state, iterations)

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it."""
        with self.group.telling("evaluate", state):
            return self.engine.evaluate(state)

    def nearby(self) -> Callable[[BatchState], Evaluation]:
        """The same for a series of states that hardly differ."""
        with self.group.telling("nearby"):
            look = self.engine.nearby()

        def evaluate(state: BatchState) -> Evaluation:
            with self.group.telling("look", state):
                return look(state)

        return evaluate


class _Current:
    communicator = Communicator()


def communicator() -> Communicator:
    """That of this process: it is alone unless it has joined others."""
    return _Current.communicator


@contextmanager
def _connection() -> Iterator[None]:
    """What goes wrong where processes talk is a lost connection."""
    try:
        yield
    except RuntimeError as error:
        words = str(error).partition("\n")[0]
        raise ConnectionLostError(
            f"another process of this training is gone or does not answer ({words})"
        ) from None


@contextmanager
def joined() -> Iterator[_Joined]:
    """Be one of the processes that torchrun has started; the first lets the others go."""
    group = _Joined()
    _Current.communicator = group
    try:
        yield group
    finally:
        # In the middle of a computation the others see that the first is gone.
        if group.rank == 0 and group.idle:
            with group.telling("leave"):
                pass
        _Current.communicator = Communicator()
        dist.destroy_process_group()


def help_first(make: Callable[..., Engine]) -> int:
    """Do what the first process tells, which answers Ctrl-C for all, until it leaves; the exit
    code.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    does: dict[str, Callable[..., object]] = {}
    try:
        with joined() as group:
            while (message := group.hear()) != ("leave",):
                name, *arguments = message
                if name == "make":
                    engine = make(*arguments, group)
                    does = {"advance": engine.advance, "evaluate": engine.evaluate}
                elif name == "nearby":
                    does["look"] = engine.nearby()
                else:
                    does[name](*arguments)
        return 0
    except (ConnectionLostError, ProcessesError):
        return 1  # the first process says why


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    ours = {"ultrahyperbolic": __version__, "python": platform.python_version()}
    packages = [name for name in ("torch", "numpy", "numba") if installed(name)]
    return ours | {name: metadata.version(name) for name in packages}  # which imports none
