"""The pages and their data over HTTP, for reading only."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePosixPath
from typing import Annotated

import orjson
from fastapi import FastAPI, HTTPException, Query
from fastapi.responses import Response
from starlette.types import ASGIApp

from eduardo.viewer import query
from eduardo.viewer.columns import NUMBERS, REWARD_PARTS
from eduardo.viewer.gate import Gate
from eduardo.viewer.library import Library
from eduardo.viewer.page import dialogue_data, views_data
from eduardo.viewer.query import Page, Selection

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def create_app(library: Library, *, token: str, cookie: str) -> ASGIApp:
    """The application, behind the gate."""
    app = FastAPI(openapi_url=None)
    _add_data(app, library)
    _add_static_files(app)
    return Gate(app, token=token, cookie=cookie)


def _add_data(app: FastAPI, library: Library) -> None:
    # These are plain functions, so that each question runs in a thread and none waits for another.
    @app.get("/api/state")
    def state(version: int | None = None) -> Response:
        """Runs and what can be filtered by; nothing but the version when it is still `version`."""
        now = library.version
        if version == now:
            return _json({"version": now})
        with library.index.connect() as connection:
            return _json(
                {
                    "version": now,
                    "progress": library.progress,
                    "runs": [
                        {"id": i, "name": r.name, "kind": r.kind.value} for i, r in library.by_id.items()
                    ],
                    "facets": query.facets(connection),
                    "bad_lines": query.bad_lines(connection),
                    "numbers": NUMBERS,
                    "reward_parts": REWARD_PARTS,
                }
            )

    @app.get("/api/dialogues")
    def dialogues(page: Annotated[Page, Query()]) -> Response:
        with library.index.connect() as connection:
            selection = Selection(connection, page)
            steps = selection.over_steps() if page.with_steps else None
            return _json({"rows": selection.page(page), "steps": steps})

    @app.get("/api/dialogues/{key}")
    def dialogue(key: str) -> Response:
        found = library.read(key)
        if found is None:
            raise HTTPException(404, "this dialogue is no longer there")
        with library.index.connect() as connection:
            row = query.row_of(connection, key)
            other = query.twin_key(connection, key)
        twin = library.read(other) if other else None
        return _json({"key": key, **row, **dialogue_data(found, twin), "views": views_data(found)})


def _add_static_files(app: FastAPI) -> None:
    # A closed set, read once: no path of a request ever reaches the file system.
    content = {
        file.name: file.read_bytes()
        for file in files("eduardo.viewer").joinpath("static").iterdir()
        if file.is_file()
    }

    @app.get("/")
    def index() -> Response:
        return Response(content["index.html"], media_type="text/html; charset=utf-8")

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        kind = _TYPES.get(PurePosixPath(name).suffix)
        if name not in content or kind is None:
            raise HTTPException(404)
        return Response(content[name], media_type=f"{kind}; charset=utf-8")


def _json(value: object) -> Response:
    return Response(orjson.dumps(value), media_type="application/json")
