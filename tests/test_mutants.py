"""The mutants of `make mutants` fit the source as it is."""

from __future__ import annotations

import ast

from mutants import MUTANTS, PACKAGE, ROOT

ROOMS = {path.stem for path in (ROOT / PACKAGE).iterdir() if not path.stem.startswith("__")}


def test_every_mutant_can_be_planted_and_is_python():
    for mutant in MUTANTS:
        ast.parse(mutant.planted(ROOT / PACKAGE))


def test_there_are_thirty_and_every_room_has_one():
    assert len(MUTANTS) >= 30
    assert ROOMS - {mutant.room for mutant in MUTANTS} <= {
        "version",
        "py",
        "arrays",
        "lazy",
    }  # which compute nothing
