"""A browser without a screen and without scripts: cookies, forms and redirects over plain HTTP."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from tests.service.running import Reply, Running


class Browser:
    """Somebody's browser."""

    def __init__(self, service: Running, who: str | None = None) -> None:
        self.service = service
        self.cookies: dict[str, str] = {}
        if who is not None:
            reply = self.post("/sign-in", token=service.tokens[who])
            assert reply.status == 303, reply.body

    def get(self, path: str, **headers: str) -> Reply:
        return self._send("GET", path, None, headers)

    def post(self, path: str, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
        sent = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        return self._send("POST", path, urlencode(fields).encode(), sent)

    def form_key(self) -> str:
        """The key that our own pages put into their forms."""
        found = re.search(r'data-form-key="([^"]+)"', self.get("/").body.decode())
        assert found is not None
        return found[1]

    def send(self, path: str, **fields: Any) -> Reply:
        """A form of our own pages."""
        return self.post(path, form_key=self.form_key(), **fields)

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        if self.cookies:
            headers = {
                "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
                **headers,
            }
        reply = self.service.call(method, path, None, body, headers=headers)
        if "set-cookie" in reply.headers:
            name, _, value = reply.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
        return reply
