"""T-S5: time in proportion to the text, whatever the text; by the processor's clock."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from random import Random
from time import process_time

import pytest

from kedgeline.redaction import REDACTOR, all_rules
from tests.redaction.benign import FAMILIES
from tests.redaction.seeds import PREFIXED, private_key

RULES = all_rules()
pytestmark = pytest.mark.torture

SIZE = 1_000_000
MOST_SECONDS, MOST_RATIO = 1.0, 2.5
LEAST_RATE, BENIGN_RATE = 5e6, 40e6
"""Bytes per second: over everything, and over texts with nothing in them."""
NOISE = 0.05
"""Seconds below which a ratio says nothing."""

PREFIXES = " ".join(rule.prefixes[0] + "a1b2c3" for rule in RULES if rule.prefixes)
UNITS = {
    "one letter": "a",
    "blanks": " ",
    "lines": "\n",
    "key and blanks": "key" + " " * 60,
    "a prefix": "gh" + "p_",
    "a long prefix": "github" + "_pat_",
    "all prefixes": PREFIXES,
    "assignments": "token=",
    "quotation marks": "token='",
    "addresses": "a://b:",
    "begins of keys": "-----BEGIN PRIVATE KEY-----\n",
    "short keys": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n",
    "ends of keys": "-----END PRIVATE KEY-----",
    "halves": "gh" + "p_a1B2\n",
    "tokens of three parts": "eyJ" + "aaaaaaaaaaaaaaa.eyJ",
    "cookies": "cookie: a=b; ",
    "flags": "--password --token ",
    "base64": "Z2hwX",
    "headers": "Authorization: Bearer ",
    "marks": "[secret: token]",
    "beginnings of marks": "[secret: ",
    "beyond ASCII": "пароль=密码é",
    "secrets": PREFIXED["github"](Random(1)) + " ",
    "secrets behind names": "token=a1B2c3D4e5F6g7H8i9 ",
    "private keys": private_key(Random(1)) + "\n",
}


def seconds(text: str) -> float:
    times = []
    for _ in range(2):
        start = process_time()
        REDACTOR.clean(text)
        times.append(process_time() - start)
    return min(times)


def filled(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


@pytest.mark.parametrize("name", UNITS)
def test_time_is_in_proportion_to_the_text(name: str) -> None:
    """tamp#20, agent-sanitizer#331: 64 KB took seconds, and 800 blanks five."""
    half, whole = seconds(filled(UNITS[name], SIZE // 2)), seconds(filled(UNITS[name], SIZE))
    assert whole <= MOST_SECONDS
    assert whole <= MOST_RATIO * max(half, NOISE)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (lambda r: "\n".join(FAMILIES[n % len(FAMILIES)](r) for n in range(20_000)), LEAST_RATE),
        (lambda r: "\n".join(FAMILIES[0](r) for _ in range(40_000)), LEAST_RATE),
        (lambda r: b64encode(r.randbytes(2_000_000)).decode(), LEAST_RATE),
        (lambda r: "The quick brown fox jumps over the lazy dog, twice. " * 60_000, BENIGN_RATE),
    ],
    ids=["benign lines", "code", "base64", "prose"],
)
def test_plain_texts_pass_quickly(text: Callable[[Random], str], rate: float) -> None:
    made = text(Random(2))
    REDACTOR.clean(made)  # the expressions learn the text
    assert len(made) / seconds(made) >= rate


def test_a_hundred_megabytes_pass_in_bounded_memory() -> None:
    script = (
        "import resource\n"
        "from kedgeline.redaction import REDACTOR\n"
        "line = 'x' * 90 + ' and so on.\\n'\n"
        "text = line * 1_000_000 + 'gh' + 'p_' + 'a1B2c3D4e5' * 4\n"
        "assert REDACTOR.clean(text).endswith('[secret: GitHub token]')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 600
