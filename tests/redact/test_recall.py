"""T-S7: seeded secrets are found, benign lines stay as they are."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from random import Random

import pytest

from kedgeline.redact import REDACTOR, all_rules, rules
from tests.redact.benign import FAMILIES, PLACEHOLDERS
from tests.redact.leak_report import Leaks, false_positives, leaks_of
from tests.redact.places import marked, pieces, unmarked
from tests.redact.seeds import PREFIXED, private_key

RULES = all_rules()
SEED = 20260301
UNMARKED, TOUCHED = 0.01, 0.001
"""Shares of secrets that may leak where no prefix gives them away, and of lines wrongly touched."""
BENIGN = 10_000


def sample(seed: int = SEED, *, share: int = 4) -> Leaks:
    """One in some of all cases, another choice for another seed."""
    rng = Random(seed)
    every = [*marked(rng), *unmarked(rng)]
    return leaks_of(every[seed % share :: share], REDACTOR.clean)


def test_secrets_are_found_wherever_they_stand() -> None:
    """openclaw#67801, altimate-code#1221: a prompt told the model to keep keys, and names of fields
    alone let values through; nothing but code stops them."""
    found = sample()
    assert sum(found.cases.values()) > 700
    assert found.leaked_marked() == {}
    assert sample(share=1).share_unmarked() <= UNMARKED * 2, "of 286 cases"


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(8))
def test_all_kinds_in_all_places(seed: int) -> None:
    rng = Random(seed)
    found = leaks_of([*marked(rng), *unmarked(rng)], REDACTOR.clean)
    assert found.leaked_marked() == {}
    assert found.share() <= UNMARKED


def test_benign_lines_stay_as_they_are() -> None:
    rng = Random(SEED)
    lines = [FAMILIES[number % len(FAMILIES)](rng) for number in range(BENIGN)]
    touched = [line for line in lines if REDACTOR.clean(line) != line]
    assert len(touched) / BENIGN <= TOUCHED, touched[:20]


def test_lines_behind_a_wrapped_secret_stay() -> None:
    token = PREFIXED["github"](Random(SEED))
    for behind in ("port: 5432", "    retries = 3", "Configuration is done", "README.md", "- x"):
        assert REDACTOR.clean(f"value: {token}\n{behind}").endswith(
            f"[secret: GitHub token]\n{behind}"
        )


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_what_stands_for_a_secret_stays(line: str) -> None:
    assert REDACTOR.clean(line) == line


def test_a_secret_in_base64_is_found_when_its_beginning_is_cut_off() -> None:
    said = f"someone:{PREFIXED['github'](Random(SEED))}:end".encode()
    whole = base64.b64encode(said).decode()
    for cut in range(4):
        cleaned = REDACTOR.clean(f"… {whole[cut:]}")
        assert "[secret: GitHub token in base64]" in cleaned
        assert not any(piece in cleaned for piece in pieces(whole[12:]))


def test_the_public_rules_say_where_they_are_from() -> None:
    path = Path(rules.__file__).with_name("gitleaks.jsonl")
    head, *lines = path.read_text().splitlines()
    assert {"source", "date", "licence", "rules"} <= set(json.loads(head))
    assert json.loads(head)["rules"] == len(lines) > 100
    assert len({rule.kind for rule in RULES}) > 150


@pytest.mark.parametrize("label", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize(
    "form", ["file", "json", "diff", "code", "cut at its end", "cut at its start"]
)
def test_private_keys_are_found_whole_and_cut(label: str, form: str) -> None:
    key = private_key(Random(SEED), label)
    lines = key.split("\n")
    text = {
        "file": f"cat key\n{key}\ndone",
        "json": '{"private_key": "' + key.replace("\n", "\\n") + '\\n", "x": 1}',
        "diff": "\n".join(f"+{line}" for line in lines),
        "code": "key = (\n" + "\n".join(f'    "{line}\\n"' for line in lines) + "\n)",
        "cut at its end": "\n".join(lines[:12]) + "\n… 14 lines more",
        "cut at its start": "… 8 lines more\n" + "\n".join(lines[8:]),
    }[form]
    cleaned = REDACTOR.clean(text)
    assert "[secret: private key]" in cleaned
    assert not any(line in cleaned for line in lines[8:12])
    assert not any(piece in cleaned for line in lines[8:12] for piece in pieces(line, 20))


def test_a_public_key_and_a_certificate_are_none() -> None:
    body = private_key(Random(SEED)).replace("RSA PRIVATE KEY", "CERTIFICATE")
    assert REDACTOR.clean(body) == body
    public = body.replace("CERTIFICATE", "PUBLIC KEY")
    assert REDACTOR.clean(public) == public
    mentioned = "It begins with -----BEGIN RSA PRIVATE KEY----- and so on."
    assert REDACTOR.clean(mentioned) == mentioned


def test_real_sessions_are_hardly_touched(corpus: Path) -> None:
    """Their secrets were taken out before they were published, so what is found is mostly wrong."""
    found = false_positives(sorted((corpus / "claude-code").glob("*.jsonl"))[:12])
    assert found.touched / max(found.lines, 1) <= TOUCHED, found
