"""`python -m eduardo` is the `eduardo` command."""

import sys

from eduardo.cli import entry_point

if __name__ == "__main__":
    sys.exit(entry_point())
