"""After the compaction: a dry run that was none, and the last words of the user."""

from __future__ import annotations

from larder.material import CHECK, COMMANDS, STORE, Session, change, file, out


def play(s: Session) -> None:
    _ask(s)
    _leak(s)
    _document(s)
    _open_end(s)


def _ask(s: Session) -> None:
    s.prompt(
        "Next: `larder import --dry-run FILE` shows what the list would be and changes nothing.",
        after=120,
    )
    s.turn("", s.read(COMMANDS, 58, 26), s.read("main.go", 29, 20))
    s.turns(
        "`run` saves after every command, so the dry run has to work on a copy of the list.",
        change(s, COMMANDS, "edit-dry.go"),
        change(s, STORE, "edit-copy.go"),
        s.write("commands_test.go", file("commands_test.go")),
    )
    s.turn("", s.bash("go test .", out("dry-red"), "Run the command tests", code=1, seconds=2.3))


def _leak(s: Session) -> None:
    s.turns(
        "The dry run changed the list after all. Copying the struct copies the slice header only;"
        " `Add` writes the new amount into the array both share. The items have to be copied.",
        change(s, STORE, "edit-copy-fixed.go"),
        s.bash("go test .", out("dry-green"), "Run the command tests", seconds=2.1),
        think="`copied := *s` shares the backing array. s.items[i].Amount = sum writes through.",
    )
    s.turn("", s.bash(CHECK, out("check-dry"), "Everything before the commit", seconds=4.7))
    s.turn(
        "",
        s.bash(
            'git add -A && git commit -m "larder: import --dry-run"', out("commit-dry"), "Commit"
        ),
    )
    s.done(
        "`larder import --dry-run FILE` prints the list as it would be and leaves the file alone."
        " My first version leaked into the real list through a shared slice; the test in"
        " `commands_test.go` caught it."
    )


def _document(s: Session) -> None:
    s.prompt("Put both into the README, then we are done for today.", after=200)
    s.turn("", s.read("README.md"))
    s.turn("", change(s, "README.md", "edit-readme.md"))
    s.turn(
        "",
        s.bash(
            'git commit -am "larder: document import"',
            out("commit-readme"),
            "Commit the README",
        ),
    )
    s.done("The README shows `import` and `--dry-run`, and says what the file looks like.")


def _open_end(s: Session) -> None:
    s.prompt(
        "One more for tomorrow: `larder export` in the same format, so that I can edit the list in"
        " a spreadsheet and import it back. Imports add up, so that would double everything; think"
        " about how to replace instead.",
        after=75,
    )
