"""Several worker processes on one socket. The ledger keeps them from spending anything twice."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import threading
from types import FrameType
from typing import Any

from discreet.service.settings import Settings

END_SECONDS = 40


def supervise(settings: Settings, sock: socket.socket) -> None:
    """Start the workers, start another where one dies, and end them all on a signal."""
    spawn = multiprocessing.get_context("spawn")  # a fork would share open ledgers and databases
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)

    def start() -> Any:
        worker = spawn.Process(target=_work, args=(settings, sock), daemon=False)
        worker.start()
        return worker

    workers = [start() for _ in range(settings.workers)]
    while not ended.wait(0.5):
        workers = [each if each.is_alive() else start() for each in workers]
    for each in workers:
        each.terminate()
    for each in workers:
        each.join(END_SECONDS)
    sock.close()


def _work(settings: Settings, sock: socket.socket) -> None:
    from discreet.service.desk import Desk
    from discreet.service.house import open_house
    from discreet.service.serving import serve_here

    serve_here(Desk.at(open_house(settings)), sock)
