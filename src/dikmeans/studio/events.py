"""Server-sent events: every open page hears at once what has changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from dikmeans._typing import JSON

# A page that does not read falls behind by so many events at most; it asks for the state anyway.
MAX_WAITING = 64
HEARTBEAT = 15.0


class Broker:
    """Hands events from any thread to every subscriber."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[str | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def publish(self, kind: str, data: JSON) -> None:
        """Send an event to all pages; may be called from any thread."""
        self._send(f"event: {kind}\ndata: {json.dumps(data)}\n\n")

    def close(self) -> None:
        """End all streams, so that the server can stop."""
        self._send(None)

    def _send(self, text: str | None) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, text)

    def _deliver(self, text: str | None) -> None:
        for queue in self._queues:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(text)

    async def stream(self) -> AsyncIterator[str]:
        """The events from now on; a comment now and then keeps the connection alive."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_WAITING)
        self._queues.add(queue)
        try:
            yield "retry: 1000\n\n"
            while True:
                try:
                    text = await asyncio.wait_for(queue.get(), HEARTBEAT)
                except TimeoutError:
                    text = ": still here\n\n"
                if text is None:
                    return
                yield text
        finally:
            self._queues.discard(queue)
