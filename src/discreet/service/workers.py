"""Several worker processes at one address. The ledger keeps them from spending anything twice."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import threading
from types import FrameType
from typing import Any

from discreet.service.settings import Settings

END_SECONDS = 40


def supervise(settings: Settings, sockets: list[socket.socket]) -> None:
    """Start a worker for each socket, start another where one dies, and end them all on a signal.

    The sockets stay open here: who connects while a worker is being replaced waits for the new one.
    """
    spawn = multiprocessing.get_context("spawn")  # a fork would share open ledgers and databases
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)

    def start(sock: socket.socket) -> Any:
        worker = spawn.Process(target=_work, args=(settings, sock), daemon=False)
        worker.start()
        return worker

    workers = [start(sock) for sock in sockets]
    while not ended.wait(0.5):
        workers = [
            each if each.is_alive() else start(sock)
            for each, sock in zip(workers, sockets, strict=True)
        ]
    for each in workers:
        each.terminate()
    for each in workers:
        each.join(END_SECONDS)
    for sock in sockets:
        sock.close()


def _work(settings: Settings, sock: socket.socket) -> None:
    from discreet.service.desk import Desk
    from discreet.service.house import open_house
    from discreet.service.serving import serve_here

    serve_here(Desk.at(open_house(settings)), sock)
