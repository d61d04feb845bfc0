"""``datasets``: the graphs that can be named."""

from . import options as opt
from .output import print_json, print_table


def datasets(as_json: opt.Json = False) -> None:
    """List the data sets that you can name in place of a file.

    Their weights, if they have any, are tie strengths, as everywhere
    (docs/graphs.md). One that is not here says what it needs when you use it.

    Examples:
      ultrahyperbolic datasets
      ultrahyperbolic datasets --json
      ultrahyperbolic embed lesmis
    """
    from ..datasets import available, names

    found = {name: (line, available(name)) for name, line in names().items()}
    if as_json:
        rows = [{"name": name, "description": line, "available": here} for name, (line, here) in found.items()]
        print_json({"datasets": rows})
        return
    print_table(
        ("name", "here", "what it is"),
        [(name, "yes" if here else "no", line) for name, (line, here) in found.items()],
    )
