import sys

from eduardo.console import run_main
from eduardo.train.command import main

sys.exit(run_main(main))
