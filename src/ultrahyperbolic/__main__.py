"""``python -m ultrahyperbolic`` is the command ``ultrahyperbolic``."""

from .cli import main

if __name__ == "__main__":
    main()
