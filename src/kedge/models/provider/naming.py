"""A model's name taken apart: who provides it, what it is called there, and at which address."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from kedge.errors import BadSettings

_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)
_MEANT_AS_ADDRESS = re.compile(r".@(?:localhost$|[^@]*[:/])", re.IGNORECASE)
"""Behind an `@`, what looks like an address without its scheme. As a part of a model's name, it
would send what is meant for one's own machine to the provider's."""
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Place(NamedTuple):
    """Where a model is asked."""

    provider: str
    """The word before the colon."""
    model: str
    address: str = ""
    """Of a server of the user's own; empty: the provider's."""

    @property
    def on_this_machine(self) -> bool:
        host = urlsplit(self.address).hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" + (f"@{self.address}" if self.address else "")


def place_named(text: str) -> Place:
    """From `PROVIDER:MODEL` or `PROVIDER:MODEL@ADDRESS`."""
    provider, _, rest = text.partition(":")
    parts = _ADDRESS.split(rest, maxsplit=1)
    model, address = parts[0], (parts[1] if len(parts) > 1 else "")
    if address:
        # First of all, and without the text: what is refused here must stand in no message.
        _check_address(f"model '{provider}:{model}@…'", address, f"{provider}:{model}")
    if not model:
        raise BadSettings(f"model {text!r}", f"no model is named; write {provider}:MODEL")
    if _UNFIT.search(rest):
        raise BadSettings(f"model {text!r}", "a name has no spaces and no control characters in it")
    if not address and _MEANT_AS_ADDRESS.search(model):
        problem = "an address begins with http:// or https://, as in openai:llama@http://HOST/v1"
        raise BadSettings(f"model {_without_user(text)!r}", problem)
    return Place(provider, model, address)


def _check_address(where: str, address: str, short: str) -> None:
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise BadSettings(
            where, f"its address is none; write {short}@http://HOST:PORT/v1"
        ) from None
    if "@" in parts.netloc or parts.query or parts.fragment or "?" in address or "#" in address:
        problem = (
            "its address has a user name, a password, a query or a fragment, and names stand in "
            "reports; write the address without them, and a key into the environment variable "
            "KEDGE_MODEL_KEY"
        )
        raise BadSettings(where, problem)
    if not host:
        raise BadSettings(where, f"its address has no host; write {short}@http://HOST:PORT/v1")


def _without_user(text: str) -> str:
    """What looks like an address may hold a password before its last `@`."""
    return text if text.count("@") < 2 else f"{text.partition('@')[0]}@…"
