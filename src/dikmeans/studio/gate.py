"""Who may talk to the studio: this computer, the page that the studio has served, nobody else.

Any page that is open in the same browser can send requests to the loopback address. So every
request must name the studio as its host (a foreign name that leads here is refused), must come from
no other origin, and must carry the token: in the address that is opened first, then in a cookie.
"""

from __future__ import annotations

import secrets
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Pictures that are dropped onto the page are the largest thing that it sends.
MAX_BODY = 64_000_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "media-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Gate:
    """Let through what may enter; the rest is refused before any of it is read.

    Parameters
    ----------
    app : ASGI application
    token : str
    port : int
    """

    def __init__(self, app: ASGIApp, token: str, port: int):
        self._app, self._token = app, token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        # cookies do not tell ports apart: two studios have two of them
        self._cookie = f"dikmeans-studio-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return None
        answer = self._entrance(scope) or self._refusal(scope)
        return await (answer or self._app)(scope, receive, _with_headers(send))

    def _entrance(self, scope: Scope) -> Response | None:
        """The first visit: the token moves from the address to a cookie."""
        if scope["method"] != "GET" or scope["path"] != "/" or self._is_foreign(scope):
            return None
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
        if given is None or not self._is_token(given):
            return None
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return answer

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        foreign = self._is_foreign(scope)
        if foreign:
            return refuse(403, foreign)
        if not self._is_token(self._token_of(headers)):
            return refuse(
                401, "The token is missing or wrong. Open the address that the studio has printed."
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            return refuse(400, "The length of the request is no number.")
        if int(length) > MAX_BODY:
            return refuse(413, f"The request is larger than {MAX_BODY:,} bytes.")
        return None

    def _is_foreign(self, scope: Scope) -> str:
        """Why a request is not from the studio's own page; empty if it is."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return "The studio answers only under its own address on this computer."
        if origin is not None and origin != f"http://{host}":
            return "The studio answers only to its own page."
        return ""

    def _token_of(self, headers: Headers) -> str:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return given
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except Exception:
            return ""
        return cookies[self._cookie].value if self._cookie in cookies else ""

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())


def refuse(status: int, reason: str) -> Response:
    """An error that says why, as JSON."""
    return JSONResponse({"error": reason}, status)


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("content-security-policy", POLICY)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return with_headers
