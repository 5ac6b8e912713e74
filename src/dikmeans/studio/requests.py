"""Reading requests and writing answers: whatever is wrong with one, it is said in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dikmeans._typing import JSON

MAX_JSON = 8_000_000
MAX_TABLE = 32_000_000

T = TypeVar("T")


class JSONAnswer(Response):
    """JSON in ASCII: names of files may hold anything."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """The bytes that are sent."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


async def read_body(request: Request, limit: int) -> bytes:
    """The body of a request, never more than `limit` bytes of it."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise HTTPException(413, f"The request is larger than {limit:,} bytes.")
        parts.append(part)
    return b"".join(parts)


async def read_json(request: Request) -> JSON:
    """The JSON object that a request holds; an empty one if there is no body."""
    body = await read_body(request, MAX_JSON)
    if not body:
        return {}
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise HTTPException(415, "The request should be application/json.")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"The request is no JSON: {str(error)[:100]}.") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "The request should be a JSON object.")
    return value


def posted(work: Callable[[JSON], object]) -> Callable[[Request], object]:
    """An endpoint that reads JSON, works in a thread, and answers with JSON."""

    async def endpoint(request: Request) -> Response:
        value = await read_json(request)
        return JSONAnswer(await run_in_threadpool(work, value))

    return endpoint


def integer(given: Mapping[str, str], name: str, default: int, lowest: int, highest: int) -> int:
    """A whole number from the address of a request."""
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise HTTPException(400, f"{name} should be a whole number, not {text[:40]!r}.")
    value = int(text)
    if not lowest <= value <= highest:
        raise HTTPException(400, f"{name} should be from {lowest} to {highest}, not {value}.")
    return value


def one_of(given: Mapping[str, str], name: str, values: Mapping[str, T]) -> T:
    """A choice from the address of a request; the first if it is not given."""
    text = given.get(name, next(iter(values)))
    if text not in values:
        raise HTTPException(400, f"{name} should be one of {', '.join(values)}, not {text[:40]!r}.")
    return values[text]


def optional_revision(value: JSON) -> int | None:
    """The revision that an edit is based on, if it says so."""
    revision = value.get("revision")
    if revision is not None and type(revision) is not int:
        raise HTTPException(400, "revision should be a whole number.")
    return revision
