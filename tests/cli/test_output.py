from __future__ import annotations

import logging

from ultrahyperbolic.cli.output import show_log


def test_what_the_library_says_is_shown_once(capsys):
    show_log()
    show_log()
    logging.getLogger("ultrahyperbolic").warning("the text differs:\n  here")
    assert capsys.readouterr().err == "the text differs:\n  here\n"
