"""Serve the studio on this computer, until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from dikmeans.errors import DikmeansError
from dikmeans.studio.api import make_app
from dikmeans.studio.gate import Gate
from dikmeans.studio.studio import Studio

HOST = "127.0.0.1"
# Seconds that open requests get when the server stops.
GRACE = 3


class PortTakenError(DikmeansError):
    """The port is in use.

    Attributes
    ----------
    port : int
    """

    def __init__(self, port: int):
        self.port = port
        super().__init__(f"Port {port} is in use. Choose another one, or 0 for any that is free.")


def listen(port: int) -> socket.socket:
    """A socket that listens on the loopback address; 0 finds a port that is free.

    A browser that is opened from here on waits for the answer.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # On Windows "reuse" would let another program listen on the same port, and get our requests.
    exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
    listener.setsockopt(socket.SOL_SOCKET, exclusive or socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise PortTakenError(port) from error
    return listener


class _Server(uvicorn.Server):
    """Ends the streams of events first: a server waits for open requests before it stops."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]):
        super().__init__(config)
        self._end_streams = end_streams

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._end_streams()
        super().handle_exit(sig, frame)


def serve(studio: Studio, port: int, opened: Callable[[str], None]) -> None:
    """Serve until a signal; `opened` is called with the address once it can be opened.

    Raises
    ------
    PortTakenError
    """
    with listen(port) as listener:
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        config = uvicorn.Config(
            Gate(make_app(studio), token, port),
            log_level="error",
            access_log=False,
            timeout_graceful_shutdown=GRACE,
            server_header=False,
        )
        studio.warm_up()
        opened(f"http://{HOST}:{port}/?token={token}")
        _Server(config, studio.events.close).run([listener])
