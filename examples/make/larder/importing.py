"""The import command, from reading the code to the first commit; outputs are cleared on the way."""

from __future__ import annotations

from recorders.claude_code import events

from larder.material import CHECK, COMMANDS, CSV, CSV_TEST, STORE, Session, change, file, out


def play(s: Session) -> None:
    looked_at = _look(s)
    _write(s)
    events.outputs_cleared(s, looked_at, saved=2_900)
    _fix(s)
    _wire(s)
    _dates(s)


def _look(s: Session) -> list[str]:
    """The calls whose outputs the client forgets later."""
    s.prompt(
        "I want `larder import FILE.csv` for what the shop mails me: columns name, amount, best"
        " before (may be empty), with a header line. It goes into the list like `add`. Every error"
        " has to name the line of the file. Standard library only, and please prefix commit"
        " messages with `larder: `.",
        after=4,
    )
    files = [s.read("CLAUDE.md"), s.read("main.go"), s.read(COMMANDS)]
    s.turn("", s.glob("*.go"), *files)
    kept = [s.read(STORE), s.read("internal/units/units.go")]
    s.turn("", *kept)
    s.turn("", s.bash("git log --oneline -5", out("log"), "How commits are worded here"))
    s.turn(
        "The pieces are there: `units.Parse` for amounts, `Store.Add` merges. I'll put the reading"
        " of CSV into a package of its own, `internal/importer`, and keep the command thin.",
        s.bash(CHECK, out("check-start"), "Baseline", seconds=4.2),
    )
    return [call.id for call in (*files, *kept)]


def _write(s: Session) -> None:
    s.turn("", s.write(CSV, file("csv.go")))
    s.turn("", s.write(CSV_TEST, file("csv_test.go")))
    s.turn(
        "",
        s.bash("go test ./internal/importer", out("header"), "Run the tests", code=1, seconds=2.2),
    )


def _fix(s: Session) -> None:
    s.turns(
        "I read the header as an item. It has to be skipped, and lines counted from 2.",
        change(s, CSV, "edit-header.go"),
        s.bash("go test ./internal/importer", out("lines"), "Run the tests", code=1, seconds=2.0),
        think="Skip the header; the line counter starts at 2 then.",
    )
    s.turns(
        "Two left, and both are about lines: a quoted field may span several lines, so counting"
        " rows is wrong, and the reader's own message for a wrong number of fields is worded"
        " differently. `FieldPos` knows the real line.",
        change(s, CSV, "edit-lines.go"),
        s.bash("go test ./internal/importer", out("importer-green"), "Run the tests", seconds=2.0),
    )


def _wire(s: Session) -> None:
    s.turns(
        "",
        change(s, COMMANDS, "edit-command.go"),
        s.edit(
            COMMANDS,
            '\t"io"\n\t"time"\n\n\t"example.com/larder/internal/pantry"\n',
            '\t"io"\n\t"os"\n\t"time"\n\n\t"example.com/larder/internal/importer"\n'
            '\t"example.com/larder/internal/pantry"\n',
        ),
        s.edit("main.go", '\t"list": list,\n', '\t"import": importFile,\n\t"list": list,\n'),
    )
    s.turn("", s.bash("gofmt -l .", "main.go", "Formatting"))
    s.turn("", s.bash("gofmt -w main.go && git diff --stat", out("stat"), "Format, then look"))
    s.workspace.write("main.go", file("main.go"))
    s.turn("", s.bash(CHECK, out("check-import"), "Everything before the commit", seconds=4.6))
    s.turn(
        "",
        s.bash(
            'git add -A && git commit -m "larder: import CSV files"', out("commit-import"), "Commit"
        ),
    )
    s.done(
        "`larder import FILE.csv` is in. The reader is `internal/importer` with tests, the command"
        " is `importFile` in `commands.go`. Errors name the real line of the file, also behind"
        " quoted fields that span several lines."
    )


def _dates(s: Session) -> None:
    s.prompt(
        "The shop writes days as 31.12.2026 in some files and as 2026-12-31 in others. Both should"
        " work, also 1.2.2026.",
        after=340,
    )
    s.turns(
        "",
        change(s, CSV, "edit-dates.go"),
        change(s, CSV_TEST, "edit-dates-test.go"),
        s.bash("go test ./internal/importer", out("dates"), "Run the tests", seconds=2.1),
    )
    s.turn("", s.bash(CHECK, out("check-dates"), "Everything before the commit", seconds=4.4))
    s.turn(
        "",
        s.bash(
            'git commit -am "larder: days with dots in imported files"',
            out("commit-dates"),
            "Commit",
        ),
    )
    s.done("Done: ISO days and days with dots, with or without leading zeros.")
