"""Tokens: made from the system's randomness, shown once, kept as a hash.

A token holds 256 random bits, so one round of SHA-256 is enough to store it: no list of likely
tokens exists to try. (Passwords would need a slow hash; this service has none.)
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re

_FORM = re.compile(r"discreet_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


def new_secret() -> str:
    """32 bytes of the system's randomness as text."""
    return base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")


def new_token() -> tuple[str, str]:
    """The name under which a token is kept, and the token itself."""
    name = os.urandom(8).hex()
    return name, f"discreet_{name}_{new_secret()}"


def name_in(token: str) -> str | None:
    """The name under which a token would be kept; None where the text is no token."""
    found = _FORM.fullmatch(token)
    return None if found is None else found[1]


def digest_of(secret: str) -> str:
    """What is stored of a token or a session."""
    return hashlib.sha256(b"discreet token 1\n" + secret.encode("utf-8", "replace")).hexdigest()


def is_same(stored: str, secret: str) -> bool:
    """Compares in a time that does not depend on where the two differ."""
    return hmac.compare_digest(stored, digest_of(secret))
