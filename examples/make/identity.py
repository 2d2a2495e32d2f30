"""Ids, signatures and small numbers that look random and are the same on every run."""

from __future__ import annotations

import base64
import hashlib

LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Identities:
    """A stream of values that depends on nothing but its seed."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def data(self, length: int) -> bytes:
        """As many bytes as asked for."""
        found = b""
        while len(found) < length:
            self._count += 1
            found += hashlib.sha256(f"{self._seed}/{self._count}".encode()).digest()
        return found[:length]

    def uuid(self) -> str:
        """A version 4 UUID."""
        digits = self.data(16).hex()
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def token(self, prefix: str, length: int = 22) -> str:
        """A prefix and letters, as providers name messages and calls."""
        return prefix + "".join(LETTERS[byte % len(LETTERS)] for byte in self.data(length))

    def hex(self, length: int) -> str:
        return self.data(length).hex()[:length]

    def sealed(self, length: int) -> str:
        """Base64 of some bytes: a signature or encrypted text nobody can read."""
        return base64.b64encode(self.data(length)).decode()

    def between(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return low + int.from_bytes(self.data(4), "big") % (high - low + 1)
