"""`kedge hook` and `kedge statusline`, for those who look what they are: hosts call them by a
shorter way, which loads nothing of this."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kedge.cli.output import Json

Host = Annotated[
    str, typer.Option(help="Whose event it is: claude-code, codex, gemini-cli or opencode.")
]


def hook(host: Host = "claude-code", json: Json = False) -> None:
    """Take an event of a coding agent's host: JSON on stdin, its answer on stdout.

    It ends with 0 whatever happens, and prints nothing where it has nothing to say. With --json the
    answer is JSON in any case, as a host takes it anyway."""
    from kedge.integrations.hooks.entry import main

    main([f"--host={host}"])


def statusline(json: Json = False) -> None:
    """One line about a session for a host's status line: JSON about it on stdin.

    With --json what is known of it instead: the keys of `kedge status`."""
    import json as notation

    from kedge.cli.output import write_json
    from kedge.cli.status import as_json
    from kedge.integrations.hooks.events import named
    from kedge.integrations.hooks.statusline import main, status_of

    if not json:
        main()
    told = notation.loads(sys.stdin.read() or "{}")
    session = told.get("session_id") if isinstance(told, dict) else ""
    write_json(as_json(status_of(named(str(session or "none")))))
