"""Whether a command that succeeds shows an earlier error to be past."""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from kedge.facts.errors.runs import Ran, alike, same_folder
from kedge.outcomes import Counts

REPEATED = frozenset({"commit", "push", "pull_request", "merge", "tag"})
"""Purposes whose commands differ in their words only: the next that works is the same again."""
VARIED = frozenset({"install", "deploy", "migration"})
"""Purposes for which the same program with other options is the same again."""
FILTERS = frozenset(
    {"-run", "-k", "-t", "--grep", "-g", "--testNamePattern", "--filter", "-m", "--test", "-e"}
    | {"--tests", "-Dtest", "--bench", "-bench", "--only"}
)
"""Options that choose among tests."""
ALONE = frozenset(
    {"pytest", "tsc", "tsgo", "vue-tsc", "jest", "vitest", "mocha", "mypy", "pyright", "eslint"}
    | {"prettier", "flake8", "pylint", "black", "isort", "gofmt", "rspec", "phpunit", "node"}
)
"""Programs without subcommands: their first word is what they look at."""
RUNS = frozenset({"run", "run-script", "exec", "task", "r"})
"""Subcommands behind which stands the name of a script."""
SCRIPTS = ".ts .tsx .js .jsx .mts .cts .mjs .cjs .vue .svelte"
_LANGUAGES = {
    "go": ".go",
    "cargo": ".rs",
    "rustc": ".rs",
    "python": ".py",
    "pytest": ".py",
    "mypy": ".py",
    "ruff": ".py",
    "npm": SCRIPTS,
    "pnpm": SCRIPTS,
    "yarn": SCRIPTS,
    "bun": SCRIPTS,
    "tsc": SCRIPTS,
    "tsgo": SCRIPTS,
    "jest": SCRIPTS,
    "vitest": SCRIPTS,
    "vite": SCRIPTS,
    "mvn": ".java .kt .scala",
    "gradle": ".java .kt .scala",
    "gradlew": ".java .kt .scala",
    "javac": ".java",
    "dotnet": ".cs .fs",
    "swift": ".swift",
    "make": "*",
    "mise": "*",
    "just": "*",
    "task": "*",
    "cmake": "*",
    "ninja": "*",
    "bazel": "*",
}
LANGUAGES = {program: frozenset(endings.split()) for program, endings in _LANGUAGES.items()}
"""Endings of the files a program builds or tests; `*` for what runs other programs."""
_NAME = re.compile(r"[a-z][\w:-]*", re.IGNORECASE)
_TEST_FILE = re.compile(r"(?:^|[/_.-])(?:tests?|spec)[/_.]|_test\.", re.IGNORECASE)
_SET_APART = re.compile(r"^-(?:-)?tags?\b|^-m$|integration|e2e|slow|bench", re.IGNORECASE)
_HARMLESS = re.compile(
    r"-(?:v{1,3}|q{1,2}|x|s|race|failfast|count=\d+|p|j\d*|n\d*)$"
    r"|--?(?:verbose|quiet|silent|timeout|color|colour|no-color|tb|no-header|durations|parallel"
    r"|maxfail|bail|cache|no-cache|nocapture|reporter)\b"
)
"""Options that change what is shown, or how fast."""
_GOES_ON = ("rebase", "merge", "cherry-pick", "revert", "am")


class Failed(Protocol):
    """What must be known of an error."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def places(self) -> tuple[str, ...]: ...
    @property
    def missing(self) -> bool: ...


class _Scope(NamedTuple):
    head: tuple[str, ...]
    """The program and what it is told to do: `go test`, `npm run check`."""
    targets: tuple[str, ...]
    """Files and folders; none where it concerns all."""
    chosen: tuple[str, ...]
    """The names of tests, or parts of them, that were chosen."""


def shows_past(passing: Ran, failed: Ran, error: Failed) -> bool:
    """Whether a command that succeeded proves that an error of another one is gone."""
    if alike(passing, failed):
        return True
    if error.missing:
        return passing.program == failed.program
    if failed.purpose in REPEATED:
        return passing.purpose == failed.purpose
    if failed.purpose in VARIED:
        return (passing.purpose, passing.program) == (failed.purpose, failed.program)
    if failed.program == "git":
        return _went_on(passing, failed)
    if error.kind == "compiler" and failed.purpose in ("test", "build", "other"):
        return _compiles(passing, failed, error)
    if failed.purpose not in ("test", "build", "lint") or passing.purpose != failed.purpose:
        return False
    if error.kind == "test" and error.name and _chose(scope_of(passing), error.name):
        return True
    return _at_least(passing, failed) or (error.kind == "test" and _whole(passing, failed))


def scope_of(ran: Ran) -> _Scope:
    module = ran.words[:2] == ("python", "-m")
    words = ran.words[2:] if module else ran.words
    head = _head(words)
    rest = words[len(head) :]
    chosen: list[str] = []
    targets: list[str] = []
    before = ""
    for word in rest:
        option, joined, value = word.partition("=")
        if before in FILTERS:
            chosen.append(word)
        elif option in FILTERS and joined:
            chosen.append(value)
        elif not word.startswith("-"):
            path, named, test = word.partition("::")
            targets.append(path)
            chosen += [test] if named else []
        before = word
    return _Scope(head, _wide(targets), tuple(chosen))


def _head(words: tuple[str, ...]) -> tuple[str, ...]:
    """The program with its subcommand, and the script that it runs."""
    longest = 1 if words[:1] and words[0] in ALONE else 3 if words[1:2] and words[1] in RUNS else 2
    named = [bool(_NAME.fullmatch(word)) for word in words[1:longest]]
    return words[: 1 + (named.index(False) if False in named else len(named))]


def _wide(targets: list[str]) -> tuple[str, ...]:
    """Targets without what says `and all below`; none where one of them is everything."""
    plain = [target.removesuffix("...").rstrip("/").removeprefix("./") for target in targets]
    return () if any(target in ("", ".") for target in plain) else tuple(plain)


def _went_on(passing: Ran, failed: Ran) -> bool:
    """`git rebase --continue` that works ends what `git rebase main` could not."""
    doing = next((word for word in failed.words[1:3] if word in _GOES_ON), "")
    return (
        bool(doing)
        and doing in passing.words[:3]
        and passing.program == "git"
        and (bool({"--continue", "--skip"} & set(passing.words)))
    )


def _compiles(passing: Ran, failed: Ran, error: Failed) -> bool:
    """Whether the files of a compiler's message were built. Files of tests are built by tests."""
    vetted = passing.words[:2] == ("go", "vet")
    files = [place.rpartition(":")[0] for place in error.places]
    if not (vetted or passing.purpose in ("test", "build")):
        return False
    if tags_of(failed) - tags_of(passing):
        return False
    if not files or not same_folder(passing.folder, failed.folder):
        return False
    endings = LANGUAGES.get(passing.program, frozenset())
    scope = scope_of(passing)
    return all(
        ("*" in endings or any(file.endswith(ending) for ending in endings))
        and (vetted or passing.purpose == "test" or not _TEST_FILE.search(file))
        and (not scope.targets or _below(file, scope.targets))
        for file in files
    )


def tags_of(ran: Ran) -> set[str]:
    return {word for word in ran.words if word.startswith(("-tags", "--tags", "--features"))}


def _below(path: str, targets: tuple[str, ...]) -> bool:
    return any(path == target or path.startswith(f"{target}/") for target in targets)


def _chose(scope: _Scope, name: str) -> bool:
    """Whether a test was among those chosen by name."""
    alternatives = [part.strip("^$() ") for word in scope.chosen for part in word.split("|")]
    return any(part.isidentifier() and part in name for part in alternatives)


def _at_least(passing: Ran, failed: Ran) -> bool:
    """Whether a run concerned all that a failing one did."""
    wide, narrow = scope_of(passing), scope_of(failed)
    if wide.chosen and wide.chosen != narrow.chosen:
        return False
    covered = narrow.targets and all(_below(target, wide.targets) for target in narrow.targets)
    if wide.head != narrow.head or (wide.targets and not covered):
        return False
    if _options(passing) != _options(failed):
        return False
    fewer = _fewer(passing.counts, failed.counts)
    return same_folder(passing.folder, failed.folder) and not fewer


def _whole(passing: Ran, failed: Ran) -> bool:
    """Whether all tests of the project were run, and the failing ones were of those that are
    always run: tests behind a tag or a mark need not be."""
    scope = scope_of(passing)
    if scope.chosen or scope.targets or passing.counts is None:
        return False
    if passing.folder and not same_folder(passing.folder, failed.folder):
        return False
    if _as_many(passing.counts, failed.counts):
        return True
    set_apart = any(_SET_APART.search(word) for word in failed.words)
    runs_others = "*" in LANGUAGES.get(passing.program, frozenset())
    return not set_apart and (runs_others or passing.program == failed.program)


def _options(ran: Ran) -> set[str]:
    """Options that may change what is checked."""
    given = {word for word in ran.words if word.startswith("-")} - FILTERS
    return {word for word in given if not _HARMLESS.match(word)}


def _fewer(passing: Counts | None, failing: Counts | None) -> bool:
    """Whether fewer tests passed than had been run: a part of them settles nothing."""
    return _comparable(passing, failing) and not _as_many(passing, failing)


def _as_many(passing: Counts | None, failing: Counts | None) -> bool:
    if passing is None or failing is None or not _comparable(passing, failing):
        return False
    return passing.passed >= failing.passed + failing.failed


def _comparable(passing: Counts | None, failing: Counts | None) -> bool:
    if passing is None or failing is None:
        return False
    return (passing.runner, passing.unit) == (failing.runner, failing.unit)
