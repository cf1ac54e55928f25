"""Who may read the pages: this machine, with the token; and what a browser may do with them."""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SECURITY_HEADERS = {
    # Nothing but our own files runs or loads, and no text can become markup, whatever a dialogue says.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Gate:
    """ASGI middleware. A visit with `?token=` gets a cookie and the same address without the token.

    A foreign host name is refused, since a page elsewhere could point its own name at this machine; so is every
    method that is not a read.
    """

    def __init__(self, app: ASGIApp, *, token: str, cookie: str) -> None:
        self._app, self._token, self._cookie = app, token, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_SECURITY_HEADERS)
            await send(message)

        answer: ASGIApp = self._refusal(scope) or self._app
        await answer(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if _host_name(headers.get("host", "")) not in _HOSTS:
            return PlainTextResponse("open this page as http://127.0.0.1:PORT", status_code=421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse(
                "this page is read-only", status_code=405, headers={"Allow": "GET, HEAD"}
            )
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if tokens := query.pop("token", None):
            return self._welcome(scope["path"], query) if self._is_token(tokens[-1]) else self._unknown()
        return None if self._is_token(_cookie(headers, self._cookie)) else self._unknown()

    def _welcome(self, path: str, query: dict[str, list[str]]) -> Response:
        # One leading slash only: `//host` would lead away from here.
        target = "/" + path.lstrip("/") + ("?" + urlencode(query, doseq=True) if query else "")
        response = RedirectResponse(target, status_code=303)
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return response

    def _unknown(self) -> Response:
        return PlainTextResponse(
            "open the address that the command printed: it holds the token", status_code=401
        )

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self._token.encode())


def _host_name(host: str) -> str:
    name, separator, port = host.rpartition(":")
    return name.lower() if separator and port.isdigit() else host.lower()


def _cookie(headers: Headers, name: str) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""
