"""Names and numbers as the shop writes them; then the user compacts the conversation."""

from __future__ import annotations

from recorders.claude_code import events

from larder.material import CHECK, STORE, STORE_TEST, Session, change, out


def play(s: Session) -> None:
    _names(s)
    _numbers(s)
    _compact(s)


def _names(s: Session) -> None:
    s.prompt(
        'Imported twice now, and I have "rye flour", "Rye Flour " and "RYE FLOUR" as three'
        ' things. And "0,5 l" is refused. Names should be the same however they are written, but'
        " keep the spelling that was there first.",
        after=900,
    )
    s.turn(
        "",
        s.read(STORE, 57, 18),
        s.read(STORE_TEST, 1, 30),
        think="EqualFold and collapsed spaces for comparing; the stored spelling is that of the"
        " first. Decimal comma goes into units.Parse, so `add` gets it too.",
    )
    s.turn("A test first, for the names:", change(s, STORE_TEST, "edit-same-test.go"))
    s.turn(
        "",
        s.bash("go test ./internal/pantry", out("names-red"), "See it fail", code=1, seconds=2.0),
    )
    s.turns(
        "",
        change(s, STORE, "edit-same.go"),
        change(s, STORE, "edit-use.go"),
        s.edit(STORE, '\t"sort"\n\t"time"\n', '\t"sort"\n\t"strings"\n\t"time"\n'),
    )
    s.turn("", s.bash("go test ./internal/pantry", out("names-green"), "Run them", seconds=1.9))


def _numbers(s: Session) -> None:
    s.turns(
        "Now the comma:",
        change(s, "internal/units/units_test.go", "edit-comma-test.go"),
        change(s, "internal/units/units.go", "edit-comma.go"),
        s.bash(CHECK, out("check-names"), "Everything before the commit", seconds=4.5),
    )
    s.turn(
        "",
        s.bash(
            'git commit -am "larder: names match however they are written, decimal commas"',
            out("commit-names"),
            "Commit",
        ),
    )
    s.done(
        "Both are in. Names are compared without case and with single spaces, in `add`, `use` and"
        " `import`; the first spelling stays. `0,5 l` is read like `0.5 l` everywhere."
    )


def _compact(s: Session) -> None:
    events.compacted(s, out("summary"), trigger="manual", left=18_540)
    s.command("/compact", "keep the rules about commits and errors", "Compacted")
