"""What all processes of a training but the first do: make the engines it asks for, and compute for it."""

from __future__ import annotations

import signal
from typing import Protocol

from ..objective import RankedPairs
from . import distributed_samples
from .base import Problem
from .group import Opening, Say, answer, hear, join, own_device, part, received, versions_here


class Helper(Protocol):
    """An engine of another process, of which this one computes a part."""

    def help(self, what: Say, numbers: list[float]) -> None:
        """Compute our part of something."""
        ...


def serve() -> int:
    """Be one of the others until the first lets go of them; the exit code.

    Ctrl-C and polite kills reach all processes, and it is the first that answers them.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    engines: dict[int, Helper] = {}
    try:
        join()
        while True:
            what, number, numbers = hear()
            if what == Say.LEAVE:
                break
            if what == Say.OPEN:
                engine = _opened()
                if engine is not None:
                    engines[number] = engine
            elif what == Say.CLOSE:
                engines.pop(number, None)
            else:
                engines[number].help(what, numbers)
    except RuntimeError:
        return 1  # the first process is gone, and whoever started us sees why
    part()
    return 0


def _opened() -> Helper | None:
    """The engine that the first process asks for; None where one of us cannot make it, which it says."""
    opening, edges, weaker, wrong = received()
    engine = None
    if not wrong:
        try:
            wrong = _differing(opening)
            if not wrong:
                engine = _made(opening, RankedPairs(opening.n_nodes, edges, weaker))
        except (MemoryError, ValueError, ImportError) as error:
            wrong = str(error) or type(error).__name__
    return engine if not answer(wrong) else None


def _differing(opening: Opening) -> str:
    """What is not here as it is there, in words."""
    here = versions_here(own_device(opening.setup.device))
    differing = [
        f"{name} {here.get(name)} here, {then} there"
        for name, then in opening.versions.items()
        if here.get(name) != then
    ]
    return f"other versions than the first process, whose bits may differ ({'; '.join(differing)})" * bool(differing)


def _made(opening: Opening, pairs: RankedPairs) -> Helper:
    problem = Problem(pairs, opening.specs, opening.best_every, opening.stop_when_ordered)
    setup = opening.setup
    if setup.kind == "numba":
        from . import distributed

        return distributed.Helper(*problem, threads=setup.threads, precision=setup.precision)
    device = own_device(setup.device)
    return distributed_samples.Helper(*problem, device=device, threads=setup.threads, precision=setup.precision)
