"""`python -m eduardo.chat`."""

import sys

from eduardo.chat.command import main
from eduardo.console import run_main

if __name__ == "__main__":
    sys.exit(run_main(main))
