"""python -m usmpy: see docs/command-line.md."""

import sys

from ._cli import main

if __name__ == "__main__":
    sys.exit(main())
