"""The one form that variants of a command share."""

from __future__ import annotations

import pytest

from kedgeline.facts.commands import canonical
from kedgeline.facts.paths import below

ROOT = "/srv/shop"


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("npm test 2>&1 | tail -20", "npm test"),
        ("npm test 2>&1 | grep -E 'a|b' | head -5", "npm test"),
        ("npm test > /dev/null 2>&1; echo $?", "npm test"),
        ("npm test && echo OK || echo BAD", "npm test"),
        ("npm test || true", "npm test"),
        ("timeout 60 npm test", "npm test"),
        (f"cd {ROOT} && npm test", "npm test"),
        (f'cd "{ROOT}/" ; npm test', "npm test"),
        (f"cd {ROOT}/web && npm test", "cd web && npm test"),
        (f"git -C {ROOT} status", "git status"),
        (f"ls {ROOT}/web/a {ROOT}", "ls web/a ."),
        (f"ls {ROOT}s/a", f"ls {ROOT}s/a"),
        ("# all\nnpm test\nnpm run lint 2>&1", "npm test; npm run lint"),
        ("npm run lint 2>&1 | tail -3 && npm test | tail", "npm run lint && npm test"),
        ("git log | grep fix", "git log | grep fix"),
        ("git log | head -3", "git log"),
        ("echo 'a | tail -5; b'", "echo 'a | tail -5; b'"),
        ("a $(b | tail -1) | tail", "a $(b | tail -1)"),
        ("npm test; echo done", "npm test; echo done"),
        ("a | tee log && b", "a && b"),
        ("echo $?", "echo $?"),
        ("", ""),
    ],
)
def test_variants_of_a_command_share_one_form(line: str, key: str) -> None:
    assert canonical(line, root=ROOT) == key
    assert canonical(key, root=ROOT) == key


def test_the_folder_is_a_part_of_the_form() -> None:
    assert canonical("npm test | tail", folder="web") == "cd web && npm test"


def test_scripts_are_their_own_form() -> None:
    script = "python - <<'EOF' | tail -1\nprint(1)\nEOF"
    assert canonical(f" {script} ", root=ROOT) == script
    long = "echo " + "word " * 500 + "| tail"
    assert canonical(long) == long


@pytest.mark.parametrize(
    ("path", "named"),
    [(ROOT, ""), (f"{ROOT}/", ""), (f"{ROOT}/web", "web"), (f"{ROOT}s", f"{ROOT}s"), (".", "")],
)
def test_a_path_is_given_from_the_root(path: str, named: str) -> None:
    assert below(ROOT, path) == named
