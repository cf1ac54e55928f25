"""One HTTP try with deadlines. Whatever happens comes back as a value: the decoded reply or a Fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import aiohttp
from yarl import URL

from eduardo.errors import UserError
from eduardo.llm.faults import Fault, FaultKind, UnusableReplyError
from eduardo.llm.key import read_api_key
from eduardo.llm.replies import excerpt
from eduardo.llm.retry import parse_retry_after
from eduardo.settings import EndpointSettings

T = TypeVar("T")

# Far above any real reply (16 attempts of 800 tokens: about 60 kB); a broken server must not fill the memory.
MAX_REPLY_BYTES = 32 * 2**20
_MAX_ERROR_BYTES = 64 * 2**10
# Servers drop idle connections after 5 s or more (uvicorn, and so vLLM: 5 s). Dropping them first avoids
# sending a request into a connection that is just being closed.
_KEEP_ALIVE_S = 4.0
# Timed out or too early in the server's eyes: the same request may succeed later.
_TRANSIENT_STATUSES = frozenset({408, 409, 425})


class Transport:
    """The HTTP session of one endpoint. Opened by its first request, in the loop that runs then."""

    def __init__(self, settings: EndpointSettings) -> None:
        self.url = _parse_base_url(settings.base_url)
        self._key = read_api_key(settings)
        # No waiting for a pooled connection: the client's own concurrency limit is the only one.
        self._deadlines = aiohttp.ClientTimeout(
            total=settings.total_timeout_s,
            connect=settings.connect_timeout_s,
            sock_read=settings.first_byte_timeout_s,
        )
        self._quick_deadlines = aiohttp.ClientTimeout(
            total=2 * settings.connect_timeout_s,
            connect=settings.connect_timeout_s,
            sock_read=settings.connect_timeout_s,
        )
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: bytes, decode: Callable[[bytes], T]) -> T | Fault:
        """Send `body` and decode the body of a good reply. Raises nothing but cancellation."""
        return await self._try_once("POST", path, body, decode, self._deadlines)

    async def get(self, path: str, decode: Callable[[bytes], T]) -> T | Fault:
        """Like `post`. Needs no generation, so a live server answers within the connect deadline."""
        return await self._try_once("GET", path, None, decode, self._quick_deadlines)

    async def _try_once(
        self,
        method: str,
        path: str,
        body: bytes | None,
        decode: Callable[[bytes], T],
        deadlines: aiohttp.ClientTimeout,
    ) -> T | Fault:
        try:
            async with self._open_session().request(
                method, self.url / path, data=body, allow_redirects=False, timeout=deadlines
            ) as response:
                if response.status >= 300:
                    return await self._status_fault(response)
                body = await _read(response, MAX_REPLY_BYTES)
                if len(body) > MAX_REPLY_BYTES:
                    raise UnusableReplyError(f"larger than {MAX_REPLY_BYTES} bytes")
                return decode(body)
        except UnusableReplyError as error:
            return self._fault(FaultKind.UNUSABLE, f"unusable reply: {error}")
        except aiohttp.ClientConnectorCertificateError as error:
            return self._fault(FaultKind.REJECTED, f"its certificate is not trusted: {error}")
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            return self._fault(FaultKind.UNREACHABLE, _describe_unreachable(error))
        except TimeoutError:
            return self._fault(FaultKind.TIMED_OUT, "connected, but no whole reply in time")
        except (aiohttp.ClientError, OSError) as error:
            return self._fault(FaultKind.DROPPED, f"connection lost ({type(error).__name__}: {error})")

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
            if self._key is not None:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
            )
        return self._session

    async def _status_fault(self, response: aiohttp.ClientResponse) -> Fault:
        status = response.status
        if status == 429:
            kind = FaultKind.THROTTLED
        elif status >= 500 or status in _TRANSIENT_STATUSES:
            kind = FaultKind.SERVER_ERROR
        else:
            kind = FaultKind.REJECTED
        if 300 <= status < 400:
            said = f"redirect to {response.headers.get('Location', '?')}"
        else:
            said = excerpt(await _read(response, _MAX_ERROR_BYTES))
        retry_after_s = parse_retry_after(response.headers.get("Retry-After"))
        return self._fault(kind, said, status=status, retry_after_s=retry_after_s)

    def _fault(
        self, kind: FaultKind, detail: str, *, status: int | None = None, retry_after_s: float | None = None
    ) -> Fault:
        if self._key is not None:  # some servers repeat the key that they refuse
            detail = detail.replace(self._key, "***")
        return Fault(kind=kind, detail=detail, status=status, retry_after_s=retry_after_s)


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body, or a beginning of it that is longer than `limit` bytes."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            break
    return bytes(body)


def _describe_unreachable(error: aiohttp.ClientError) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "no host of that name"
    if isinstance(error, aiohttp.ClientConnectorError):
        if isinstance(error.os_error, ConnectionRefusedError):
            return "nothing listens"
        return str(error.strerror or error.os_error or error)
    return "no connection in time"


def _parse_base_url(text: str) -> URL:
    try:
        url = URL(text.rstrip("/"))
    except ValueError as error:
        raise UserError(f"base_url {text} is no URL: {error}") from error
    if url.user is not None or url.password is not None:
        raise UserError(
            "base_url holds a user name or password; put the key where api_key_env or api_key_file says"
        )
    if not url.host or url.query_string or url.fragment:
        raise UserError(f"base_url {text} must look like http://host:port/v1, without query or fragment")
    return url
