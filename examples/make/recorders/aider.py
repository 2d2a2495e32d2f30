"""Aider's chat history: Markdown, every line for the user or the console ends with two spaces."""

from __future__ import annotations

from workspace import Workspace


class History:
    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._text = ""

    def document(self) -> str:
        return self._text

    def start(self, moment: str, *lines: str) -> None:
        """A session begins, and what aider prints then."""
        self._text += f"\n# aider chat started at {moment}\n\n"
        self.console(*lines)

    def user(self, *lines: str) -> None:
        self._text += "\n" + "".join(f"#### {line}  \n" for line in lines)

    def console(self, *lines: str) -> None:
        self._text += "".join(f"> {line}  \n" if line else ">  \n" for line in lines)

    def answer(self, *parts: str) -> None:
        self._text += "\n" + "\n\n".join(part.strip("\n") for part in parts) + "\n\n"

    def edit(self, path: str, search: str, replace: str) -> str:
        """A block that will be applied; an empty search makes a new file."""
        if search:
            self.workspace.edit(path, search, replace)
        else:
            self.workspace.write(path, replace)
        return self.block(path, search, replace)

    def block(self, path: str, search: str, replace: str) -> str:
        """A block as the model writes it."""
        inner = f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE"
        return f"{path}\n```python\n{inner}\n```"
