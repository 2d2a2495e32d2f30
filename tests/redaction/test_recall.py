"""T-S7: seeded secrets are found, benign lines stay as they are."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from kedge.errors import KedgeError
from kedge.reading import stream
from kedge.redaction import REDACTOR, RULES
from kedge.redaction.patterns import PROVIDERS, Searchers
from tests.redaction.benign import FAMILIES, PLACEHOLDERS
from tests.redaction.named import named, private_key
from tests.redaction.seeds import BY_SHAPE, PLACES, PREFIXED, SEEN_WHOLE, pieces

SEED = 20260301
PREFIXED_RECALL, NAMED_RECALL, TOUCHED = 0.99, 0.90, 0.005
TIMES = 3
"""Secrets per kind and place: 2,900 in all."""
BENIGN, NAMED = 10_000, 2_000

Clean = Callable[[str], str]


def missed_prefixed(clean: Clean, rng: Random) -> tuple[int, Counter[tuple[str, str]]]:
    count, missed = 0, Counter[tuple[str, str]]()
    for kind, make in PREFIXED.items():
        for place, put in PLACES.items():
            if kind in BY_SHAPE and place in SEEN_WHOLE:
                continue
            for _ in range(TIMES):
                secret = make(rng)
                left = pieces(secret)
                if place.startswith("base64"):
                    said = secret if place == "base64" else f"someone:{secret}"
                    left = pieces(base64.b64encode(said.encode()).decode())
                cleaned = clean(put(secret, rng))
                count += 1
                missed[kind, place] += any(piece in cleaned for piece in left)
    return count, +missed


def missed_named(clean: Clean, rng: Random) -> Counter[str]:
    missed = Counter[str]()
    for _ in range(NAMED):
        place, secret, text = named(rng)
        written = {
            "basic": base64.b64encode(f"app:{secret}".encode()).decode(),
            "address": quote(secret, safe=""),
            "query": quote(secret, safe=""),
        }.get(place, secret)
        missed[place] += written[:-1] in clean(text)
    return +missed


def test_prefixed_secrets_are_found_wherever_they_stand() -> None:
    """openclaw#67801: a prompt told the model to keep keys; nothing but code stops them."""
    count, missed = missed_prefixed(REDACTOR.clean, Random(SEED))
    assert count >= 2_000
    assert len(PREFIXED) >= 40
    assert sum(missed.values()) / count <= 1 - PREFIXED_RECALL, missed


def test_named_secrets_are_found_wherever_they_stand() -> None:
    """altimate-code#1221: redaction by the names of fields alone let values through."""
    missed = missed_named(REDACTOR.clean, Random(SEED))
    assert sum(missed.values()) / NAMED <= 1 - NAMED_RECALL, missed


def test_benign_lines_stay_as_they_are() -> None:
    rng = Random(SEED)
    lines = [FAMILIES[number % len(FAMILIES)](rng) for number in range(BENIGN)]
    touched = [line for line in lines if REDACTOR.clean(line) != line]
    assert len(touched) / BENIGN <= TOUCHED, touched[:20]


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_what_stands_for_a_secret_stays(line: str) -> None:
    assert REDACTOR.clean(line) == line


def test_a_secret_in_base64_is_found_when_its_beginning_is_cut_off() -> None:
    said = f"someone:{PREFIXED['github'](Random(SEED))}:end".encode()
    for cut in range(4):
        run = base64.b64encode(said).decode()[cut:]
        assert REDACTOR.clean(f"… {run}") == "… [secret: GitHub token in base64]"


def test_there_are_rules_for_more_than_sixty_kinds() -> None:
    assert len({rule.kind for rule in RULES}) > 60
    assert len({rule.kind for rule in PROVIDERS}) > 60


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


@pytest.mark.parametrize("gone", ["GitHub token", "Stripe key"])
def test_a_rule_that_is_missing_shows(gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: one rule less, and the recall falls below its goal."""
    fewer = Searchers(tuple(rule for rule in RULES if rule.kind not in (gone, "secret in base64")))
    monkeypatch.setattr("kedge.redaction.redactor.searchers", lambda: fewer)
    count, missed = missed_prefixed(REDACTOR.clean, Random(SEED))
    assert sum(missed.values()) / count > 1 - PREFIXED_RECALL


def test_a_rule_that_takes_everything_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: hashes taken for secrets are too many benign lines."""
    loose = (
        *RULES,
        replace(RULES[-1], kind="hash", hint="[a-f0-9]{20}", pattern="([a-f0-9]{32,})"),
    )
    all_of_them = Searchers(loose)
    monkeypatch.setattr("kedge.redaction.redactor.searchers", lambda: all_of_them)
    rng = Random(SEED)
    lines = [FAMILIES[number % len(FAMILIES)](rng) for number in range(1_000)]
    assert sum(REDACTOR.clean(line) != line for line in lines) / 1_000 > TOUCHED


def test_real_sessions_are_hardly_touched(corpus: Path) -> None:
    """Their secrets were taken out before they were published, so what is found is mostly wrong."""
    lines = touched = 0
    for path in sorted((corpus / "claude-code").glob("*.jsonl"))[:12]:
        try:
            turns = list(stream(path))
        except KedgeError:
            continue
        for text in (result.output for turn in turns for result in turn.tool_results):
            lines += text.count("\n") + 1
            touched += len({text.count("\n", 0, secret.start) for secret in REDACTOR.found(text)})
    assert touched / max(lines, 1) <= 0.0005, f"{touched} of {lines}"
