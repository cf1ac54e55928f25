"""`python -m eduardo.preflight`."""

import sys

from eduardo.console import run_main
from eduardo.preflight.command import main

if __name__ == "__main__":
    sys.exit(run_main(main))
