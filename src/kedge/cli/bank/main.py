"""`kedge bank`: the commands of the memory bank."""

from __future__ import annotations

import typer

from kedge.cli.bank.add import add
from kedge.cli.bank.compact import compact
from kedge.cli.bank.file import file_
from kedge.cli.bank.find import find
from kedge.cli.bank.index import index
from kedge.cli.bank.init import init
from kedge.cli.bank.load import load
from kedge.cli.bank.status import status
from kedge.cli.bank.undo import history, undo
from kedge.cli.bank.verify import verify

bank = typer.Typer(
    help="Keep a memory bank: Markdown files that agents share.", no_args_is_help=True
)
for command in (init, add, status, compact, undo, history, verify, file_, index, find, load):
    bank.command(command.__name__.rstrip("_"))(command)
