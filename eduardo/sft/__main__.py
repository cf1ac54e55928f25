"""`python -m eduardo.sft`."""

import sys

from eduardo.console import run_main
from eduardo.sft.command import main

if __name__ == "__main__":
    sys.exit(run_main(main))
