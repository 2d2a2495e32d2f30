"""Chat histories as aider writes them."""

from __future__ import annotations

START = "\n# aider chat started at 2031-02-03 19:04:05\n\n"


def user(*lines: str) -> str:
    """User lines as aider writes them: marked, with two spaces at the end."""
    return "\n" + "".join(f"#### {line}  \n" for line in lines)


def console(*lines: str) -> str:
    return "".join(f"> {line}  \n" if line else ">  \n" for line in lines)


def answer(text: str) -> str:
    return "\n" + text.strip() + "\n\n"


def edit(
    path: str, search: str, replace: str, *, words: tuple[str, str] = ("SEARCH", "REPLACE")
) -> str:
    block = f"<<<<<<< {words[0]}\n{search}=======\n{replace}>>>>>>> {words[1]}"
    if words[0] == "ORIGINAL":
        return f"```python\n{path}\n{block}\n```"
    return f"{path}\n```python\n{block}\n```"


ENVIRONMENT = console(
    "aider app.py", "Aider v0.50.0", "Models: m-1 with diff edit format, weak m-2"
)
