"""Calls of Claude Code's tools, with the results and the duplicates the client writes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from identity import Identities
from workspace import Workspace, hunk

from recorders.claude_code.journal import Record

MISSING = "<tool_use_error>File does not exist.</tool_use_error>"
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file). To tell you how to proceed, the"
    " user said:\n"
)


@dataclass
class Call:
    id: str
    tool: str
    input: Record
    output: str | list[Record] = ""
    extra: Any = None
    """`toolUseResult`: the result once more, as the client keeps it."""
    is_error: bool | None = None
    """None where the client leaves the flag out."""
    milliseconds: int = 60
    progress: list[tuple[Record, str]] = field(default_factory=list)
    """What it reports while it runs, each with an id of its own or none."""
    changed: str = ""
    """The file it changed, which the client backs up."""
    answered: bool = True

    def heard(self) -> str:
        """What of the result the model reads."""
        if isinstance(self.output, str):
            return self.output
        return "\n".join(str(block.get("text", "")) for block in self.output)


class FileTools:
    """Reading and changing the workspace; a call has its effect when it is made."""

    def __init__(self, ids: Identities, workspace: Workspace) -> None:
        self.ids = ids
        self.workspace = workspace

    def call(self, tool: str, given: Record, output: Any = "", extra: Any = None) -> Call:
        return Call(self.ids.token("toolu_01"), tool, given, output, extra)

    def read(self, path: str, offset: int = 1, limit: int | None = None) -> Call:
        space = self.workspace
        given: Record = {"file_path": space.absolute(path)}
        if limit is not None:
            given |= {"offset": offset, "limit": limit}
        if path not in space.files:
            return self._wrong(self.call("Read", given), MISSING)
        shown = space.lines(path, offset, limit)
        file = {
            "filePath": space.absolute(path),
            "content": "\n".join(shown),
            "numLines": len(shown),
            "startLine": offset,
            "totalLines": len(space.lines(path)),
        }
        numbered = space.numbered(path, offset, limit)
        return self.call("Read", given, numbered, {"type": "text", "file": file})

    def edit(self, path: str, old: str, new: str) -> Call:
        space, where = self.workspace, self.workspace.absolute(path)
        before = space.edit(path, old, new)
        made = self.call(
            "Edit",
            {"file_path": where, "old_string": old, "new_string": new, "replace_all": False},
            f"The file {where} has been updated successfully.",
            {
                "filePath": where,
                "oldString": old,
                "newString": new,
                "originalFile": before,
                "structuredPatch": [_patch(before, space.files[path])],
                "userModified": False,
                "replaceAll": False,
            },
        )
        made.changed = path
        return made

    def edit_missed(self, path: str, old: str, new: str) -> Call:
        """An edit whose text is not in the file."""
        if old in self.workspace.files[path]:
            raise ValueError(f"{path} does hold {old!r}")
        where = self.workspace.absolute(path)
        given = {"file_path": where, "old_string": old, "new_string": new, "replace_all": False}
        said = f"String to replace not found in file.\nString: {old}"
        return self._wrong(self.call("Edit", given), f"<tool_use_error>{said}</tool_use_error>")

    def write(self, path: str, content: str) -> Call:
        space, where = self.workspace, self.workspace.absolute(path)
        before = space.write(path, content)
        made = self.call("Write", {"file_path": where, "content": content})
        made.changed = path
        made.output = f"File created successfully at: {where}"
        if before is not None:
            made.output = (
                f"The file {where} has been updated. Here's the result of running `cat -n` on a"
                f" snippet of the edited file:\n{space.numbered(path)}"
            )
        made.extra = {
            "type": "create" if before is None else "update",
            "filePath": where,
            "content": content,
            "structuredPatch": [] if before is None else [_patch(before, content)],
            "originalFile": before,
        }
        return made

    def grep(self, pattern: str, glob: str = "*", *, lines: bool = True) -> Call:
        found = self.workspace.grep(pattern, glob)
        given: Record = {"pattern": pattern}
        if glob != "*":
            given["glob"] = glob
        if not lines:
            names = list(dict.fromkeys(match.path for match in found))
            said = "\n".join((f"Found {len(names)} files", *names)) if names else "No files found"
            kept = {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)}
            return self.call("Grep", given | {"output_mode": "files_with_matches"}, said, kept)
        said = "\n".join(f"{match.path}:{match.number}:{match.line}" for match in found)
        kept = {"mode": "content", "numFiles": 0, "filenames": [], "content": said}
        return self.call(
            "Grep",
            given | {"output_mode": "content", "-n": True},
            said or "No matches found",
            kept | {"numLines": len(found)},
        )

    def glob(self, pattern: str) -> Call:
        names = [self.workspace.absolute(path) for path in self.workspace.glob(pattern)]
        kept = {"filenames": names, "durationMs": 14, "numFiles": len(names), "truncated": False}
        return self.call("Glob", {"pattern": pattern}, "\n".join(names) or "No files found", kept)

    def refused(self, made: Call, reason: str) -> Call:
        """The user does not let it run and says why."""
        return self._wrong(made, REFUSED + reason, said="Error: " + REFUSED + reason)

    def _wrong(self, made: Call, output: str, said: str = "") -> Call:
        plain = output.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
        made.output, made.is_error, made.changed = output, True, ""
        made.extra = said or f"Error: {plain}"
        return made


def _patch(before: str, after: str) -> Record:
    change = hunk(before, after)
    return {
        "oldStart": change.old_start,
        "oldLines": change.old_lines,
        "newStart": change.new_start,
        "newLines": change.new_lines,
        "lines": list(change.lines),
    }
