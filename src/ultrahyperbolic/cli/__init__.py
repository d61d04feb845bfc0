"""The command ``ultrahyperbolic``; nothing is imported here, so that Ctrl-C is answered from the
start.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .application import app

__all__ = ["app", "main"]


def main() -> None:
    """The entry of the command."""
    from .signals import answering

    with answering():
        import gc

        # What is imported stays to the end: looking for garbage in it, again and again, took longer
        # than a training.
        gc.set_threshold(1_000_000)
        import sys

        from .together import is_first

        # This process computes for another, which torchrun has started as the first to run
        # ``embed``.
        if sys.argv[1:2] == ["embed"] and not is_first():
            from ..engines.communicator import help_first
            from ..engines.registry import engine_of

            sys.exit(help_first(engine_of))
        from .application import run

        try:
            run()
        finally:
            gc.freeze()


def __getattr__(name: str) -> object:
    """The application, with its commands, imported when it is asked for."""
    if name == "app":
        from .application import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
