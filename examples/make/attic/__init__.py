"""A Gemini CLI chat: a backup script stumbles over blanks in names."""

from __future__ import annotations

import stored
from recorders.gemini_cli import Chat, Record
from workspace import Workspace

ROOT = "/home/tove/attic"


def record() -> Record:
    """The whole chat."""
    chat = Chat(
        seed="attic",
        start="2026-01-24T09:15:02",
        workspace=Workspace(ROOT, stored.project("attic")),
        model="gemini-2.5-pro",
    )
    for scene in (_broken, _fixed, _scheduled):
        scene(chat)
    return chat.document()


def _out(name: str) -> str:
    return stored.text("attic", name)


def _broken(c: Chat) -> None:
    c.user(
        "backup.sh fails on folders with blanks in their names. Please fix it, but it has to stay"
        " plain sh, the disk hangs on a small box without bash.",
        after=0,
    )
    c.answer(
        "I'll look at the script first.",
        c.read("backup.sh"),
        thought=("Reading the script", "The loop over find's output is the likely culprit."),
    )
    c.answer(
        "The loop splits find's output at every blank, and no variable is quoted. Before I change"
        " it, a small script that shows the fault.",
        c.write("try.sh", stored.file("attic", "try.sh")),
        c.shell("sh try.sh", _out("broken"), "Run the trial", code=1),
    )


def _fixed(c: Chat) -> None:
    old, new = stored.file("attic", "edit-loop.sh").split("=====\n")
    c.answer(
        "",
        c.replace("backup.sh", old, new),
        c.shell("sh try.sh", _out("fixed"), "Run the trial again"),
        thought=(
            "Reading line by line",
            "`while read` is plain sh and keeps blanks together.",
        ),
    )
    c.answer(
        "Fixed: names are read line by line and every variable is quoted. It is still plain sh, and"
        " `try.sh` shows that blanks are no trouble any more."
    )


def _scheduled(c: Chat) -> None:
    c.info("Update available: run `npm install -g @google/gemini-cli` to get the newest version.")
    c.user("Great. Can it run every night?", after=70)
    c.answer(
        "I would add it to your crontab for half past two:",
        c.cancelled(
            "(crontab -l; echo '30 2 * * * sh ~/attic/backup.sh') | crontab -",
            "Add the backup to the crontab",
        ),
    )
    c.user("No, not on this machine. Just tell me the line and I put it on the box.", after=12)
    c.answer(
        "Here is the line for the box:\n\n    30 2 * * * sh $HOME/attic/backup.sh $HOME/pictures"
        " /mnt/attic/pictures\n\nIt runs every night at half past two. Put it there with"
        " `crontab -e`."
    )
