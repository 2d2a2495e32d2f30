"""What commands to a repository printed: commits, branches, pushes, pull requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import msgspec

from kedge.facts.repository.calls import Call, Line
from kedge.sentences import cut, one_line

ABOUT_SHOWN = 200
"""Characters of a message's first line or of a title; longer ones are cut."""
LARGEST_JSON = 1_000_000
"""Characters of an output that is decoded."""


class Seen(NamedTuple):
    what: Literal[
        "commit",
        "branch",
        "push",
        "pull_request",
        "merge",
        "tag",
        "ticket",
        "head",
        "current",
        "rewritten",
        "",
    ]
    """`current`: the branch the session is on. `rewritten`: its commits have other hashes now.
    Empty: the newest commit is no longer known."""
    name: str = ""
    about: str = ""
    amends: bool = False
    """It took the place of the newest one; `rewritten`: so did the last of them."""


MAKES_COMMITS = frozenset({"commit", "cherry-pick", "revert", "merge"})
COMMIT = re.compile(
    r"^\[(?P<branch>detached HEAD|[^\s\]]{1,250})(?: \(root-commit\))? (?P<hash>[0-9a-f]{7,40})\] "
    r"(?P<subject>[^\n]{1,500})$",
    re.MULTILINE,
)
_COMMITTED = re.compile(
    r"^ \d{1,6} files? changed(?:, \d{1,9} (?:insertion|deletion)|$)", re.MULTILINE
)
PUSHED = re.compile(
    r"^ [ *+t] (?:(?P<new>\[new (?:branch|tag)\])|[0-9a-f]{7,40}\.{2,3}(?P<to>[0-9a-f]{7,40})) +"
    r"\S{1,250} +-> (?P<name>(?!FETCH_HEAD|origin/)\S{1,250})(?P<forced> \(forced update\))?",
    re.MULTILINE,
)
_SWITCHED = re.compile(
    r"^(?:Switched to (?:and reset |a new )?branch|Already on|Reset branch) '([^'\n]{1,250})'",
    re.MULTILINE,
)
_ON_BRANCH = re.compile(
    r"^(?:On branch|## No commits yet on|##) (?!HEAD \()([^\s.]\S{0,249}?)"
    r"(?:\.\.\.\S{1,300})?(?: \[[^\n]{1,100}\])?$",
    re.MULTILINE,
)
_STARRED = re.compile(r"^\* ([^\s(]\S{0,249})(?:\s|$)", re.MULTILINE)
_REBASED = re.compile(
    r"Successfully rebased and updated refs/heads/([^\n]{1,250}?)\.?$", re.MULTILINE
)
_REBASING = re.compile(r"Rebasing \(\d{1,6}/\d{1,6}\)")
"""How a rebase tells that it takes up the next commit."""
_HEAD_AT = re.compile(r"^HEAD is now at ([0-9a-f]{7,40})(?: ([^\n]{1,500}))?$", re.MULTILINE)
_FORWARD = re.compile(
    r"^Updating [0-9a-f]{7,40}\.\.([0-9a-f]{7,40})\s*\nFast-forward", re.MULTILINE
)
_HASH = re.compile(r"[0-9a-f]{7,40}")
_BRANCH = re.compile(r"[\w][\w./#@+-]{0,249}")
_PULL = re.compile(
    r"^https?://\S{1,200}/(?:pull|pulls|merge_requests)/\d{1,7}(?=[ \t\r]*$)", re.MULTILINE
)
_MERGED = re.compile(r"erged pull request (?:\S{1,100})?#(\d{1,7})(?: \(([^\n]{1,200})\))?")
_FIELD = re.compile(r"^(title|number|url):\t([^\n]{1,500})$", re.MULTILINE)


def seen_in(line: Line) -> Iterator[Seen]:
    """What the calls of a line came to, in order; commits first, for they are told together."""
    yield from _commits(line)
    for call in line.calls:
        reader = READERS.get(f"{call.program} {call.name}")
        if call.done and reader is not None:
            yield from reader(call, line)


def _commits(line: Line) -> Iterator[Seen]:
    makers = [call for call in line.calls if call.program == "git" and call.name in MAKES_COMMITS]
    makers = [call for call in makers if not call.has("--dry-run", "--abort", "--no-commit")]
    rebases = any(call.name == "rebase" for call in line.calls)
    found = list(COMMIT.finditer(line.text)) if makers or rebases else []
    amends = [call.has("--amend") for call in makers]
    for place, commit in enumerate(found):
        if commit["branch"] == "detached HEAD":
            if rebases:
                continue  # one step of many: others came on top of it
        else:
            yield Seen("current", commit["branch"])
        amended = amends[place] if len(amends) == len(found) else all(amends) and bool(amends)
        yield Seen("commit", commit["hash"], _short(commit["subject"]), amended)
    if not found:
        yield from _quiet_commits(makers, line)


def _quiet_commits(makers: list[Call], line: Line) -> Iterator[Seen]:
    """Commits without their closing line: the message tells them, where nothing denies them."""
    for call in makers:
        if call.name != "commit" or call.inside:
            continue
        quiet = call.done and call.has("-q", "--quiet")
        if quiet or (_COMMITTED.search(line.text) and call.into):
            yield Seen("commit", "", _short(call.message), call.has("--amend"))


def _status(call: Call, line: Line) -> Iterator[Seen]:
    if (found := _ON_BRANCH.search(line.text)) is not None:
        yield Seen("current", found[1])


def _switched(call: Call, line: Line) -> Iterator[Seen]:
    created = call.value("-b", "-B", "-c", "-C", "--create", "--orphan")
    if call.name == "pr checkout" and call.given and call.given[0].isdigit():
        yield Seen("pull_request", f"#{call.given[0]}")
    if created and _BRANCH.fullmatch(created):
        yield Seen("branch", created, "created")
    elif found := _SWITCHED.findall(line.text):
        yield Seen("branch", found[-1], "switched to")
    if (at := _HEAD_AT.search(line.text)) is not None:
        yield Seen("head", at[1], _short(at[2] or ""))


def _branches(call: Call, line: Line) -> Iterator[Seen]:
    if call.has("--show-current"):
        yield from _told(line, "current", _BRANCH)
    elif not call.given and not call.into and (found := _STARRED.search(line.text)) is not None:
        yield Seen("current", found[1])
    elif call.has("-m", "-M", "--move") and len(call.given) == 1:
        yield Seen("current", call.given[0])


def _parsed(call: Call, line: Line) -> Iterator[Seen]:
    """`git rev-parse`, of where the session is."""
    if call.given != ("HEAD",):
        return
    branch = call.has("--abbrev-ref")
    yield from _told(line, "current" if branch else "head", _BRANCH if branch else _HASH)


def _told(line: Line, what: Literal["current", "head"], shape: re.Pattern[str]) -> Iterator[Seen]:
    """The one word a line printed."""
    word = line.text.strip()
    if line.alone and shape.fullmatch(word) and word != "HEAD":
        yield Seen(what, word)


def _rebased(call: Call, line: Line) -> Iterator[Seen]:
    found = _REBASED.search(line.text)
    if found is None:
        return
    steps = [one for one in COMMIT.finditer(line.text) if one["branch"] == "detached HEAD"]
    if steps or _REBASING.search(line.text):
        chosen = call.has("-i", "--interactive", "--continue", "--skip", "--onto")
        elsewhere = call.name == "rebase" and len(call.given) > 1
        yield Seen("rewritten", amends=not chosen and not elsewhere)
    else:
        yield Seen("")
    yield Seen("current", found[1])
    last = steps[-1] if steps else None
    if last and last.end() < found.start() and not _REBASING.search(line.text, last.end()):
        yield Seen("head", last["hash"], _short(last["subject"]))  # nothing came on top of it


def _moved(call: Call, line: Line) -> Iterator[Seen]:
    """`git reset` and `git pull`: the newest commit is another one."""
    if call.name == "pull" and _REBASED.search(line.text):
        yield from _rebased(call, line)
    elif (at := _HEAD_AT.search(line.text)) is not None:
        yield Seen("head", at[1], _short(at[2] or ""))
    elif (forward := _FORWARD.search(line.text)) is not None:
        yield Seen("head", forward[1])
    elif call.name == "pull" or call.has("--soft", "--hard", "--mixed", "--keep"):
        yield Seen("")


def _merged(call: Call, line: Line) -> Iterator[Seen]:
    names = [name for name in call.given if _BRANCH.fullmatch(name)]
    idle = "lready up" in line.text or call.has("--abort", "--quit", "--no-commit")
    if names and not idle and not call.inside:
        yield Seen("merge", names[0])
        forward = _FORWARD.search(line.text)
        yield Seen("head", forward[1]) if forward else Seen("")


def _tagged(call: Call, line: Line) -> Iterator[Seen]:
    if call.given and not call.has("-d", "--delete", "-l", "--list", "-v", "--verify"):
        message = call.message if call.has("-m", "--message", "-am") else ""
        yield Seen("tag", call.given[0], _short(message))


def _released(call: Call, line: Line) -> Iterator[Seen]:
    if call.given:
        yield Seen("tag", call.given[0], _short(call.value("--title", "-t")))


def _pushed(call: Call, line: Line) -> Iterator[Seen]:
    found = list(PUSHED.finditer(line.text))
    for one in found:
        forced = ", forced" if one["forced"] else ""
        yield Seen("push", one["name"], (one["to"] or one["new"].strip("[]")) + forced)
    silent = call.has("--dry-run", "-n", "--delete", "-d") or "Everything up-to-date" in line.text
    if not found and not silent and not call.into and len(call.given) > 1:
        yield Seen("push", call.given[1].rpartition(":")[2])


def _proposed(call: Call, line: Line) -> Iterator[Seen]:
    """A pull request that was made or changed: its address closes the output."""
    if (found := _PULL.search(line.text)) is not None:
        yield Seen("pull_request", found[0], _short(call.value("--title", "-t")))


def _looked_at(call: Call, line: Line) -> Iterator[Seen]:
    """A pull request or an issue that was looked at."""
    asked = call.given[0] if call.given else ""
    if call.inside or "$" in asked or call.into:
        return
    told = _told_fields(line.text) if not call.has("--jq", "-q", "--template", "-t") else {}
    number = told.get("number") or (asked if asked.isdigit() else "")
    name = told.get("url") or (f"#{number}" if number else "")
    if name and (told or not call.has("--comments")):
        what: Literal["ticket", "pull_request"] = (
            "ticket" if call.name.startswith("issue") else "pull_request"
        )
        yield Seen(what, name, _short(told.get("title", "")))


def _accepted(call: Call, line: Line) -> Iterator[Seen]:
    found = _MERGED.search(line.text)
    number = found[1] if found else next((one for one in call.given if one.isdigit()), "")
    if number:
        yield Seen("merge", f"#{number}", _short(found[2] or "") if found else "")


def _told_fields(text: str) -> dict[str, str]:
    """Number, title and address, from JSON or from the plain form."""
    if not text.lstrip().startswith("{"):
        return dict(_FIELD.findall(text))
    if len(text) > LARGEST_JSON:
        return {}
    try:
        told = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    kept = {name: told.get(name) for name in ("number", "title", "url")}
    return {name: str(value) for name, value in kept.items() if isinstance(value, (str, int))}


def _short(text: str) -> str:
    return cut(one_line(text), ABOUT_SHOWN)


READERS: dict[str, Callable[[Call, Line], Iterator[Seen]]] = {
    "git status": _status,
    "git commit": _status,
    "git checkout": _switched,
    "git switch": _switched,
    "gh pr checkout": _switched,
    "git branch": _branches,
    "git rev-parse": _parsed,
    "git rebase": _rebased,
    "git reset": _moved,
    "git pull": _moved,
    "git merge": _merged,
    "git tag": _tagged,
    "gh release create": _released,
    "git push": _pushed,
    "gh pr create": _proposed,
    "gh pr edit": _proposed,
    "glab mr create": _proposed,
    "gh pr view": _looked_at,
    "gh issue view": _looked_at,
    "gh pr merge": _accepted,
}
"""By program and what it does. `git commit` says which branch it is on where it commits nothing."""
