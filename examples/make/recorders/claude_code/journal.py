"""Records in file order, each chained to the one before."""

from __future__ import annotations

from typing import Any

from clock import Clock
from identity import Identities

Record = dict[str, Any]

CHARACTERS_PER_TOKEN = 4
"""English and code come close to it; the numbers need only grow as real ones do."""
SYSTEM_TOKENS = 17_840
"""What the client sends before the first word: its instructions and the tools."""


class Meter:
    """Counts what the model has been sent, so that usage grows with the conversation."""

    def __init__(self) -> None:
        self._context = SYSTEM_TOKENS
        self._cached = 0

    def hears(self, text: str) -> None:
        self._context += len(text) // CHARACTERS_PER_TOKEN + 4

    def forgets(self, context: int) -> None:
        """A compaction leaves this many tokens, none of them in the cache."""
        self._context, self._cached = context, SYSTEM_TOKENS

    @property
    def context(self) -> int:
        return self._context

    def usage(self, said: str) -> Record:
        """The usage of an answer, which from now on belongs to the context too."""
        fresh, cached = self._context - self._cached, self._cached
        output = len(said) // CHARACTERS_PER_TOKEN + 12
        self._cached = self._context
        self._context += output
        return {
            "input_tokens": 3 if cached == 0 else 6,
            "cache_creation_input_tokens": fresh,
            "cache_read_input_tokens": cached,
            "cache_creation": {
                "ephemeral_5m_input_tokens": fresh,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": output,
            "service_tier": "standard",
        }


class Journal:
    def __init__(self, *, seed: str, start: str, cwd: str, branch: str, version: str) -> None:
        self.ids = Identities(seed)
        self.clock = Clock(start)
        self.meter = Meter()
        self.records: list[Record] = []
        self.session_id = self.ids.uuid()
        self.cwd, self.branch, self.version = cwd, branch, version
        self.slug = ""
        """Name of the plan file, from the first plan on."""
        self.last: str | None = None
        """The record the next one hangs on."""

    def add(self, body: Record, tail: Record | None = None, *, parent: str | None = "") -> str:
        """Write a record behind the last one, or behind `parent`; its uuid."""
        uuid = self.ids.uuid()
        self.records.append(
            {
                "parentUuid": self.last if parent == "" else parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": self.cwd,
                "sessionId": self.session_id,
                "version": self.version,
                "gitBranch": self.branch,
                **({"slug": self.slug} if self.slug else {}),
                **body,
                "uuid": uuid,
                "timestamp": self.clock.iso(),
                **(tail or {}),
            }
        )
        self.last = uuid
        return uuid

    def loose(self, record: Record) -> None:
        """Write a record that hangs on no other."""
        self.records.append(record)

    def user(self, content: Any, tail: Record | None = None, **more: Any) -> str:
        message = {"role": "user", "content": content}
        return self.add({"type": "user", "message": message, **more}, tail)

    def system(self, subtype: str, **fields: Any) -> str:
        return self.add({"type": "system", "subtype": subtype, **fields})

    def progress(self, data: Record, call_id: str, *, own_id: str = "") -> str:
        """Something a running call reports."""
        ids = {"toolUseID": own_id or call_id, "parentToolUseID": call_id}
        return self.add({"type": "progress", "data": data, **ids})
