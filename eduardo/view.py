"""`python -m eduardo.view`: read the dialogues of runs and evaluations in a browser, also while they run."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import webbrowser
from pathlib import Path

from eduardo.console import run_main
from eduardo.errors import UserError

_POLL_S = 2.0
_EPILOG = """\
examples:
  python -m eduardo.view runs/demo                   # a training run, followed live
  python -m eduardo.view runs/a runs/b               # two runs beside each other
  python -m eduardo.view runs --open                 # every run and evaluation below a folder

The page is served to this machine only, and only to who has the address with its token. From elsewhere:
  ssh -L 8642:127.0.0.1:8642 HOST                    # then open the printed address (--port 8642) here
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eduardo.view",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="RUN", help="run, evaluation, folder or .jsonl file"
    )
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.add_argument("--cache-dir", type=Path, default=None, help="where the index is kept (a local disk)")
    parser.add_argument("--open", action="store_true", help="open the page in the browser of this machine")
    arguments = parser.parse_args(argv)
    serve(
        arguments.paths,
        arguments.cache_dir or default_cache_dir(),
        arguments.port,
        open_browser=arguments.open,
    )
    return 0


def serve(paths: list[Path], cache_dir: Path, port: int, *, open_browser: bool) -> None:
    """Serve until interrupted. Raises UserError when the port is taken or nothing is there to show."""
    import uvicorn

    from eduardo.viewer.library import Library
    from eduardo.viewer.server import create_app

    listener = _listen(port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    with listener, Library(paths, cache_dir, poll_s=_POLL_S) as library:
        app = create_app(library, token=token, cookie=f"eduardo_view_{port}")
        address = f"http://127.0.0.1:{port}/?token={token}"
        print(f"viewer: {address}\nstop it with Ctrl-C", flush=True)
        if open_browser:
            webbrowser.open(address)
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])


def default_cache_dir() -> Path:
    """`eduardo/viewer` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "eduardo" / "viewer"


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # from here on the printed address answers
    except (OSError, OverflowError) as error:
        listener.close()
        raise UserError(
            f"--port {port}: cannot be used ({error}); name another, or none for any free one"
        ) from error
    return listener


if __name__ == "__main__":
    raise SystemExit(run_main(main))
