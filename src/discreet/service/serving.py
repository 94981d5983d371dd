"""Run the service: sockets, time limits for heads, signals, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import sys
import termios
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.errors import BadInput
from discreet.service.application import build
from discreet.service.desk import Desk
from discreet.service.house import open_house
from discreet.service.limits.bodies import Application
from discreet.service.settings import Settings, load_settings

BACKLOG = 2048
END_SECONDS = 30
"""Questions that run at the end get this long."""


def protocol_with(seconds: int) -> type[H11Protocol]:
    """HTTP where slow clients hold no places: a connection is closed that sends no whole head in time, its first or a
    later one, or takes nothing of its answer for so long."""

    class Timed(H11Protocol):
        _head_timer: asyncio.TimerHandle | None = None
        _reading_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._time_head()

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:  # a whole head came
                self._stop(self._head_timer)
                self._head_timer = None
            if self._head_timer is None and (self.cycle is None or self.cycle.response_complete):
                self._time_head()  # part of the next one

        def _time_head(self) -> None:
            self._head_timer = self.loop.call_later(seconds, self._close_if_silent)

        def _close_if_silent(self) -> None:
            self._head_timer = None
            waits = self.cycle is None or self.cycle.response_complete
            if waits and not self.transport.is_closing():
                self.transport.close()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._time_reading()

        def _time_reading(self) -> None:
            left = _not_taken(self.transport)
            self._reading_timer = self.loop.call_later(seconds, self._abort_if_untaken, left)

        def _abort_if_untaken(self, before: int) -> None:
            if _not_taken(self.transport) < before:
                self._time_reading()
            else:  # not close, which would wait until the client has taken what it does not take
                self.transport.abort()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop(self._reading_timer)
            self._reading_timer = None

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop(self._head_timer)
            self._stop(self._reading_timer)
            super().connection_lost(exc)

        def _stop(self, timer: asyncio.TimerHandle | None) -> None:
            if timer is not None:
                timer.cancel()

    return Timed


def _not_taken(transport: asyncio.Transport) -> int:
    """Bytes that a client has not confirmed yet. The kernel holds megabytes of them, and takes more from us by large steps."""
    here = transport.get_write_buffer_size()
    try:
        found = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except OSError:  # other systems do not tell
        return here
    return here + int.from_bytes(found, sys.byteorder)


def config_for(application: Application, settings: Settings) -> uvicorn.Config:
    """uvicorn's settings: its own log is off, for it would write questions that stand in addresses."""
    return uvicorn.Config(
        application,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        http=protocol_with(settings.limits.body_seconds),
        ws="none",
        lifespan="on",
        limit_concurrency=settings.limits.connections,
        backlog=BACKLOG,
        timeout_keep_alive=settings.limits.body_seconds,
        timeout_graceful_shutdown=END_SECONDS,
        proxy_headers=settings.https,
        forwarded_allow_ips="127.0.0.1" if settings.https else "",
    )


def bound_socket(settings: Settings) -> socket.socket:
    """A socket at the service's place; `BadInput` where it cannot be had."""
    return _listening(settings, settings.port, shared=False)


def bound_sockets(settings: Settings) -> list[socket.socket]:
    """A socket at the service's place for each worker, so that the kernel deals new connections out to all of them.

    With one socket for all, the first worker that wakes up takes every connection that waits. Other systems than Linux
    give all connections to one of such sockets, so there the workers share one.
    """
    first = bound_socket(settings)  # refused where another service listens, even one of ours
    if settings.workers == 1 or not sys.platform.startswith("linux"):
        return [first] * settings.workers
    port = first.getsockname()[1]
    first.close()
    return [_listening(settings, port, shared=True) for _ in range(settings.workers)]


def _listening(settings: Settings, port: int, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    # Connections inherit this. Without it a reply's body waits up to 40 ms until the client has confirmed its head.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        found.bind((settings.host, port))
        found.listen(BACKLOG)  # who comes before the service is ready waits
    except OSError as error:
        found.close()
        raise BadInput(
            f"The service cannot listen at {settings.host}, port {port}: {error.strerror}. "
            "Give another port."
        ) from None
    found.set_inheritable(True)
    return found


def serve_here(desk: Desk, sock: socket.socket) -> None:
    """Serve in this process until a signal ends it."""
    config = config_for(build(desk), desk.settings)
    asyncio.run(uvicorn.Server(config).serve(sockets=[sock]))


def address_of(sock: socket.socket) -> str:
    """The address that people type."""
    host, port = sock.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(path: Path, *, port: int | None, ready: Callable[[str], None]) -> None:
    """Serve what a settings file says, in as many processes as it says."""
    settings = load_settings(path)
    if port is not None:
        settings = replace(settings, port=port)
    sockets = bound_sockets(settings)
    if settings.workers <= 1:
        desk = Desk.at(open_house(settings))
        ready(address_of(sockets[0]))
        serve_here(desk, sockets[0])
        return
    open_house(settings).close()  # mistakes are found before any worker starts
    ready(address_of(sockets[0]))
    from discreet.service.workers import supervise

    supervise(settings, sockets)
