"""Ed25519 signatures on release files: who published this, and that nobody changed it since.

A signature covers the SHA-256 of every member's name and content, so it does not depend on how
the zip was written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from discreet.artifacts.files import SIGNATURE, read_members, release_from_members, write_members
from discreet.errors import BadInput, BadRelease

DOMAIN = b"discreet release signature 1\n"


def content_digest(members: Mapping[str, bytes]) -> bytes:
    """SHA-256 over all members but the signature itself."""
    lines = [
        f"{hashlib.sha256(data).hexdigest()} {name}\n"
        for name, data in sorted(members.items())
        if name != SIGNATURE
    ]
    return hashlib.sha256(DOMAIN + "".join(lines).encode()).digest()


def new_signing_key() -> tuple[str, str]:
    """A fresh (private, public) pair, in hexadecimal. Keep the first one secret."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    return key.private_bytes_raw().hex(), key.public_key().public_bytes_raw().hex()


def sign_release(path: str | Path, private_key: str) -> str:
    """Sign the file in place; returns the public key to give to readers."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(_raw_key(private_key, "private"))
    members = read_members(path)
    release_from_members(members, where=str(path))  # never sign what is not a release
    public = key.public_key().public_bytes_raw().hex()
    signature = key.sign(DOMAIN + content_digest(members)).hex()
    stored = {"algorithm": "Ed25519", "public_key": public, "signature": signature}
    members[SIGNATURE] = (json.dumps(stored, sort_keys=True, indent=1) + "\n").encode()
    write_members(members, path)
    return public


def signer(members: Mapping[str, bytes]) -> str | None:
    """The public key whose signature on the members is valid; None if they carry none."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if SIGNATURE not in members:
        return None
    try:
        stored = json.loads(members[SIGNATURE].decode())
        if stored["algorithm"] != "Ed25519":
            raise ValueError
        public, signature = str(stored["public_key"]), bytes.fromhex(stored["signature"])
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadRelease("The signature of the release is not readable.") from None
    try:
        key.verify(signature, DOMAIN + content_digest(members))
    except InvalidSignature:
        raise BadRelease(
            "The signature does not fit the release: the file was changed after it was signed."
        ) from None
    return public.lower()


def _raw_key(text: str, what: str) -> bytes:
    try:
        raw = bytes.fromhex(text.strip())
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise BadInput(f"The {what} key must be 64 hexadecimal digits.")
    return raw


def public_part(private_key: str) -> str:
    """The public key that belongs to a private one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(_raw_key(private_key, "private"))
    return key.public_key().public_bytes_raw().hex()


def checked_public_key(text: str) -> str:
    return _raw_key(text, "public").hex()
