"""T-S5: time in proportion to the text, whatever the text; by the processor's clock, and against
the time that prose of the same size takes in the same run."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from random import Random
from time import process_time

import pytest

from kedgeline.redact import REDACTOR, all_rules
from tests.redact.benign import FAMILIES
from tests.redact.seeds import PREFIXED, private_key

RULES = all_rules()
pytestmark = pytest.mark.torture
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the peak is told in /proc")

SIZE = 1_000_000
MOST_RATIO = 2.5
"""Of the times of a whole text and of its half."""
MOST_TIMES = 600
"""Times that of prose: a text made of secrets, one in 25 characters, takes about 220."""
BENIGN_TIMES = 90
"""Lines that look like secrets and are none take about 30, code 6, base64 2."""
PROSE = "The quick brown fox jumps over the lazy dog, twice. " * 20_000
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
    assert whole <= MOST_TIMES * seconds(PROSE)
    assert whole <= MOST_RATIO * max(half, NOISE)


@pytest.mark.parametrize(
    "text",
    [
        lambda r: "\n".join(FAMILIES[n % len(FAMILIES)](r) for n in range(20_000)),
        lambda r: "\n".join(FAMILIES[0](r) for _ in range(40_000)),
        lambda r: b64encode(r.randbytes(2_000_000)).decode(),
    ],
    ids=["benign lines", "code", "base64"],
)
def test_plain_texts_pass_quickly(text: Callable[[Random], str]) -> None:
    made = text(Random(2))
    REDACTOR.clean(made)  # the expressions learn the text
    assert seconds(made) / len(made) <= BENIGN_TIMES * seconds(PROSE) / len(PROSE)


@LINUX
def test_a_hundred_megabytes_pass_in_bounded_memory() -> None:
    """The peak is read from the process itself: `getrusage` tells that of whoever started it."""
    script = (
        "from pathlib import Path\n"
        "from kedgeline.redact import REDACTOR\n"
        "line = 'x' * 90 + ' and so on.\\n'\n"
        "text = line * 1_000_000 + 'gh' + 'p_' + 'a1B2c3D4e5' * 4\n"
        "assert REDACTOR.clean(text).endswith('[secret: GitHub token]')\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(int(status.partition('VmHWM:')[2].split()[0]) // 1024)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 600
