"""Which call started which sub-agent: as the client says it, else by the words it began with."""

from __future__ import annotations

from hashlib import blake2b

PROMPTS_KEPT = 256
"""Prompts of which a call or a sub-agent is not linked yet; more never wait at once."""
ALIKE_KEPT = 256
"""Calls, and sub-agents, with one prompt that wait for each other."""

Waiting = dict[str, list[tuple[str, str]]]
"""By a prompt, those that wait: when, and who."""


class Links:
    """What the files of one session say, whichever of them is read first."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        """Sub-agents to calls, as the client says."""
        self._linked: set[str] = set()
        """The calls among them."""
        self._asked: Waiting = {}
        """Calls that no sub-agent is known for, by their prompt, with their time."""
        self._begun: Waiting = {}
        """Sub-agents that no call is known for, by the words they began with, with their time."""

    def told(self, agent: str, call: str) -> None:
        """The client names both."""
        if agent not in self._told:
            self._told[agent] = call
            self._linked.add(call)
            _forget(self._asked, call)
            _forget(self._begun, agent)

    def asked(self, call: str, prompt: str, time: str = "") -> None:
        """A call for a sub-agent; until it ends, and if it fails, nothing else tells of which."""
        if call not in self._linked and prompt.strip():
            _keep(self._asked, prompt, (time, call))

    def begun(self, agent: str, words: str, time: str = "") -> None:
        """A sub-agent's conversation begins."""
        if agent not in self._told and words.strip():
            _keep(self._begun, words, (time, agent))

    def all(self) -> dict[str, str]:
        """Sub-agents to calls. Where several were asked the same, they began in that order."""
        found = dict(self._told)
        for prompt, begun in self._begun.items():
            pairs = zip(sorted(begun), sorted(self._asked.get(prompt, ())), strict=False)
            found |= {agent: call for (_, agent), (_, call) in pairs}
        return found


def _keep(known: Waiting, words: str, one: tuple[str, str]) -> None:
    key = blake2b(words.strip().encode("utf-8", "replace"), digest_size=16).hexdigest()
    if key not in known and len(known) >= PROMPTS_KEPT:
        del known[next(iter(known))]
    alike = known.setdefault(key, [])
    if one not in alike and len(alike) < ALIKE_KEPT:
        alike.append(one)


def _forget(known: Waiting, one: str) -> None:
    for key, alike in [*known.items()]:
        left = [waiting for waiting in alike if waiting[1] != one]
        if left:
            known[key] = left
        else:
            del known[key]
