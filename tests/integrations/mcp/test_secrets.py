"""What leaves the server has no secrets in it, also where the archive keeps them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integrations.mcp.serving import SECRET, serving, store_of, text_of
from tests.turns import bash, turn

PRIVATE = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----"]
    + [f"MIIEow{n:02}IBAAKCAQEA7bq9XvT3kQ1uPzLw8sYdFhGjKlMnOpQrStUvWxYz0123456" for n in range(12)]
    + ["-----END RSA PRIVATE KEY-----"]
)
"""Made up. A line of it alone does not show what it is."""


def leaking() -> list[Any]:
    return [
        turn(0, user=f"The key is {SECRET}, never print it.", says=f"I use {SECRET} then."),
        turn(1, bash(f"curl -H 'key: {SECRET}' harbor", f"welcome, {SECRET}", exit_code=1)),
        turn(2, bash("cat id_rsa", f"{PRIVATE}\nthe gangway is open")),
        turn(3, user=f"Let's go with {SECRET} instead of the other one.", says="Yes."),
    ]


@pytest.fixture(scope="module")
def server() -> Any:
    with serving(store_of(harbor=leaking())) as found:
        yield found


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"words": "welcome"}),
        ("recall", {"words": "curl"}),
        ("recall", {}),
        *(("show", {"mark": mark}) for mark in ("t0", "t1", "t1.0", "t2", "t2.0", "t3")),
        ("show", {"mark": "t2.0", "first": 1}),
        ("summary", {}),
        ("pin", {"what": "t0"}),
        ("pin", {"what": f"The key is {SECRET}, never print it."}),
    ],
)
def test_no_result_has_a_secret(server: Any, tool: str, arguments: Any) -> None:
    result = server.called(tool, **arguments)
    told = text_of(result) + json.dumps(result["structuredContent"])
    assert not result["isError"]
    assert SECRET not in told
    assert "AKCAQEA7bq9XvT3" not in told


def test_a_result_says_that_something_was_taken_out(server: Any) -> None:
    assert server.given("show", mark="t1.0")["redacted"] is True
    assert server.given("show", mark="t1.0")["text"] == "welcome, [secret: HARBOR_KEY]"
    assert server.given("recall", words="submarine")["redacted"] is False


def test_lines_of_a_key_are_withheld(server: Any) -> None:
    """Cut first and cleaned then, the last lines of a key would pass."""
    found = server.given("recall", words="gangway")
    whole = server.given("show", mark="t2.0")
    assert [one["mark"] for one in found["matches"]] == ["t2"]
    assert "AKCAQEA7bq9XvT3" not in json.dumps(found)
    assert whole["text"] == "[secret: private key]\nthe gangway is open"
    assert "there is no line 3" in server.refused("show", mark="t2.0", first=3)


def test_half_a_secret_at_the_edge_of_a_long_line_is_withheld() -> None:
    """A long line is cut 80 characters before what was found: here in the middle of the key."""
    line = f"{'z ' * 200}{SECRET} {'y ' * 33}gangway{' q' * 300}"
    with serving(store_of(harbor=[turn(0, bash("cat log", line))])) as server:
        (found,) = server.given("recall", words="gangway")["matches"]
    assert found["text"].startswith("…")
    assert "4711" not in found["text"]


def test_an_error_that_quotes_the_call_is_clean(server: Any) -> None:
    told = server.refused("summary", session=f"session-{SECRET}")
    assert SECRET not in told
    assert "[secret: HARBOR_KEY]" in told
