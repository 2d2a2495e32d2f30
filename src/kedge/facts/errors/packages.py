"""Go packages that a run shows to have been built, whatever came of their tests."""

from __future__ import annotations

import re
from posixpath import dirname
from typing import Protocol

from kedge.facts.errors.runs import Ran, alike
from kedge.facts.errors.scope import tags_of
from kedge.outcomes.evidence import shown_part

_RAN = re.compile(
    r"^(?:\[[\w:.@/-]{1,60}\] )?(?:ok|FAIL)[ \t]{1,8}(\S{1,300})[ \t]{1,8}"
    r"(?:\(cached\)|[\d.]{1,12}s)",
    re.MULTILINE,
)
"""A package whose tests took some time; one that was not built has `[build failed]` there."""
_EXCLUDED = re.compile(r"\bpackage (\S{1,300}): build constraints exclude all Go files")
_LINTED = re.compile(r" \((?!typecheck\))[a-z][\w-]{1,30}\)$")
_ELSEWHERE = re.compile(r"\bGO(?:OS|ARCH|FLAGS|EXPERIMENT)=")
"""Built for another machine, or with other options, than tests are run with."""


class Unbuilt(Protocol):
    """What must be known of an error."""

    @property
    def line(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def places(self) -> tuple[str, ...]: ...
    @property
    def about(self) -> str: ...


def packages_run(output: str) -> frozenset[str]:
    """Packages whose tests were run."""
    return frozenset(_RAN.findall(shown_part(output)))


def shows_built(packages: frozenset[str], now: Ran, failed: Ran, error: Unbuilt) -> bool:
    """Whether tests were run of the package that could not be built before."""
    if excluded := _EXCLUDED.search(error.line):
        return excluded[1] in packages
    if error.kind != "compiler" or _LINTED.search(error.line) or _ELSEWHERE.search(error.about):
        return False
    with_go = {now.program, failed.program} == {"go"} and not tags_of(failed) - tags_of(now)
    if not with_go and not alike(now, failed):  # a task that runs the tests, run again
        return False
    folders = {dirname(place.rpartition(":")[0]) for place in error.places}
    return bool(folders) and all(
        any(f"/{package}".endswith(f"/{folder}") for package in packages) for folder in folders
    )
