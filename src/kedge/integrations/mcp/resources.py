"""Resources: sessions, summaries and the files of the bank; and the prompt for a hand-off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.resources import ResourceSecurity
from msgspec.json import encode
from pydantic import BeforeValidator, Field

from kedge.errors import FileRefused, UserError
from kedge.foreign import foreign
from kedge.guarded_files import folder_below
from kedge.integrations.mcp.bounding import page
from kedge.integrations.mcp.kept import Kept
from kedge.integrations.mcp.results import DATA, quoted
from kedge.integrations.mcp.telling import Telling, Tokens, too_long

MOST_LISTED = 100
"""Sessions and files in a list: about a page."""
LARGEST = 8 << 20
"""Bytes of a bank file that is read for a client: a thousand times what a page shows."""
CHECKED_BY_US = ResourceSecurity(
    reject_path_traversal=False, reject_absolute_paths=False, reject_null_bytes=False
)
"""Paths are looked at by `bank_file`, which says why one is refused."""


class Resources:
    def __init__(self, kept: Kept, telling: Telling) -> None:
        self._kept, self._telling = kept, telling

    def add_to(self, server: MCPServer[Any]) -> None:
        listed = server.resource(
            "kedge://sessions", title="Sessions that are kept", mime_type="application/json"
        )
        listed(self.sessions)
        current = server.resource(
            "kedge://summary", title="Summary of the session under way", mime_type="text/markdown"
        )
        current(self.current_summary)
        summary = server.resource(
            "kedge://sessions/{session}/summary{?first}",
            title="Summary of a session",
            mime_type="text/markdown",
        )
        summary(self.summary)
        files = server.resource(
            "kedge://bank", title="Files of the memory bank", mime_type="application/json"
        )
        files(self.bank)
        file = server.resource(
            "kedge://bank/{+path}{?first}",
            title="A file of the memory bank",
            mime_type="text/markdown",
            security=CHECKED_BY_US,
        )
        file(self.bank_file)
        server.prompt(title="Hand a session off")(self.handoff)

    def sessions(self) -> str:
        """The sessions of the store, the one written to last first."""
        infos = self._kept.store.sessions()
        rows = [
            {"name": info.name, "turns": info.turns, "tokens": info.tokens}
            for info in infos[:MOST_LISTED]
        ]
        return encode({"sessions": rows, "left_out": len(infos) - len(rows), "data": DATA}).decode()

    def current_summary(self) -> str:
        """The summary of the session under way, as it stands."""
        return self._summary("", 1)

    def summary(self, session: str, first: int = 1) -> str:
        """The summary of a session, as it stands."""
        return self._summary(session, first)

    def bank(self) -> str:
        """The files of the memory bank, by their names."""
        from kedge.bank.files import peek

        with peek(self._bank()) as files:
            names = files.names()
        rows = [f"kedge://bank/{name}" for name in names[:MOST_LISTED]]
        return encode({"files": rows, "left_out": len(names) - len(rows), "data": DATA}).decode()

    def bank_file(self, path: str, first: int = 1) -> str:
        """A file below the folder of the memory bank."""
        *folders, name = parts_of(path)
        with folder_below(self._bank(), folders, largest=LARGEST) as folder:
            held = folder.read(name) if folder is not None else None
        if held is None:
            raise UserError(f"the bank has no file {path[:80]!r}; kedge://bank lists them")
        text = held.data.decode("utf-8", "replace")
        address = f"kedge://bank/{path}"
        return self._paged(text, first, address, f"The file {path!r} of the memory bank.")

    def handoff(
        self,
        session: Annotated[str, Field(description="Left out, the session under way.")] = "",
        tokens: Annotated[
            Tokens,
            BeforeValidator(lambda given: given or None),  # forms send what is left out as empty
            Field(description="Longest hand-off; 2048 if none."),
        ] = None,
    ) -> str:
        """What an earlier session leaves for the one that goes on with its work."""
        chosen = self._kept.under_way(session)
        name = chosen.session.name
        text, _ = self._telling.text(name, tokens=tokens)
        title = (
            f"Go on with the work of the session {name!r} ({chosen.how}). This is its hand-off; "
            f"`show` with a mark such as t12 and session={name!r} gives the original."
        )
        if note := too_long(self._kept.count(text), tokens):
            title = f"{title} {note[0].upper()}{note[1:]}."
        return self._paged(text, 1, f"kedge://sessions/{name}/summary", title)

    def _summary(self, session: str, first: int) -> str:
        chosen = self._kept.under_way(session)
        name = chosen.session.name
        text, _ = self._telling.text(name)
        title = f"Summary of the session {name!r} ({chosen.how})."
        return self._paged(text, first, f"kedge://sessions/{name}/summary", title)

    def _paged(self, text: str, first: int, address: str, title: str) -> str:
        """A page of a text without secrets, with what it is before it, and behind it how to get the
        next."""
        clean = self._kept.clean(text)
        lines = clean.count("\n") + 1
        if not 1 <= first <= lines:
            raise UserError(f"{address} has {lines:,} lines; there is no line {first:,}")
        shown = page(clean, self._kept.count, first=first)
        more = ""
        if shown.next_line:
            cut = f"line {shown.last:,} is cut here; " if shown.next_column else ""
            after = shown.last + 1  # a line has no address but its number
            more = f"\n\n[{cut}{shown.lines:,} lines; it goes on at {address}?first={after}]"
        return f"[{foreign(title)} {DATA}]\n\n{quoted(shown.text)}{more}"

    def _bank(self) -> Path:
        """The bank's folder here or above, as people work in folders below it."""
        given = Path(self._kept.settings.bank).expanduser()
        here = self._kept.folder
        for parent in (here, *here.parents):
            if (found := parent / given).is_dir():
                return found
        return here / given


def parts_of(path: str) -> list[str]:
    """The names of a path below the bank; none may lead out of it or be hidden."""
    parts = path.split("/")
    if any(not part or part.startswith(".") or "\0" in part or "\\" in part for part in parts):
        raise FileRefused(path[:80], "a bank file is named by plain names, without '..' or a point")
    return parts
