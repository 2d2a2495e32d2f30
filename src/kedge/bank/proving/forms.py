"""The forms that each entry of a log had in its committed versions, the first of them first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kedge.bank.proving.hashing import content_hash
from kedge.bank.values import Entry


class Form(NamedTuple):
    """An entry as it was in a commit."""

    entry: Entry
    commit: str
    digest: str

    @property
    def called(self) -> str:
        entry = self.entry
        return entry.id or repr(entry.title or entry.text.strip().partition("\n")[0])


class Forms:
    """Fed with versions from the oldest to the newest."""

    def __init__(self) -> None:
        self._entries: dict[str, list[dict[str, Form]]] = defaultdict(list)

    def take(self, entries: Iterable[Entry], commit: str) -> None:
        """Entries of a version. What one was before is found by its content, then by its id or
        heading; two that have the same one are two entries."""
        forms = {content_hash(entry): entry for entry in entries}
        taken: set[int] = set()
        left = []
        for digest, entry in forms.items():
            known = self._entries[_key(entry, digest)]
            same = next((one for one in known if digest in one and id(one) not in taken), None)
            if same is None:
                left.append(Form(entry, commit, digest))
            else:
                taken.add(id(same))
        for form in left:
            known = self._entries[_key(form.entry, form.digest)]
            former = next((one for one in known if id(one) not in taken), None)
            if former is None:
                known.append(former := {})
            former[form.digest] = form
            taken.add(id(former))

    def each(self) -> Iterator[list[Form]]:
        """For each entry that ever was, all its forms."""
        return (list(forms.values()) for known in self._entries.values() for forms in known)

    def firsts(self, id: str) -> list[Form]:
        """The first forms of all entries that had this id."""
        return [next(iter(forms.values())) for forms in self._entries.get(id, ())]


def _key(entry: Entry, digest: str) -> str:
    at = entry.at.isoformat() if entry.at else ""
    return entry.id or "\n".join(filter(None, (at, entry.agent, entry.title))) or digest
