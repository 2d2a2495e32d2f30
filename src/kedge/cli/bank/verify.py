"""`kedge bank verify`: is the bank what was written into it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.bank.opening import BankOption, opened_bank
from kedge.cli.output import Json, console, harmless, write_json

if TYPE_CHECKING:
    from kedge.bank import Findings

STYLES = {"violation": "red", "warning": "yellow", "note": "dim"}


def verify(
    git: Annotated[bool, typer.Option(help="Look at every version of the log in git.")] = True,
    bank: BankOption = None,
    json: Json = False,
) -> None:
    """Check that the decision log is append-only, the archives whole, the index up to date.

    The exit code is 1 where something was lost or changed that must not be.
    """
    found = opened_bank(bank).verify(git=git)
    if json:
        write_json(as_json(found))
    else:
        _show(found)
    if not found.sound:
        raise typer.Exit(1)


def as_json(findings: Findings) -> dict[str, Any]:
    """The keys of `kedge bank verify --json`."""
    return {
        "sound": findings.sound,
        "found": [
            {
                "file": one.file,
                "line": one.line or None,
                "gravity": one.gravity,
                "what": one.what,
                "advice": one.advice or None,
            }
            for one in findings.found
        ],
        "checked": list(findings.checked),
    }


def _show(findings: Findings) -> None:
    out = console()
    for one in findings.found:
        out.print(harmless(str(one)), style=STYLES[one.gravity], markup=False)
    for line in findings.checked:
        out.print(f"checked: {harmless(line)}", markup=False)
    out.print("sound" if findings.sound else "NOT SOUND", style="bold")
