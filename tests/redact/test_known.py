"""Values that are known: where they come from, how they are written, which are left alone."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.redact import Redactor, secrets_in
from tests.redact.places import pieces

VALUE = 'Zoë 88"42/kx+y=z'


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        quote(VALUE, safe=""),
        quote(VALUE),
        quote_plus(VALUE),
        quote(VALUE, safe="").lower().replace("zo", "Zo"),
        json.dumps(VALUE)[1:-1],
        json.dumps(VALUE, ensure_ascii=False)[1:-1],
    ],
)
def test_a_value_is_found_however_it_is_written(written: str) -> None:
    assert Redactor([("PIN", VALUE)]).clean(f"<{written}>") == "<[secret: PIN]>"


@given(st.text(max_size=9), st.text(max_size=9), st.sampled_from([True, False]))
def test_a_value_is_found_inside_base64(before: str, after: str, safe: bool) -> None:
    whole = (before + VALUE + after).encode("utf-8", "surrogatepass")
    text = (base64.urlsafe_b64encode if safe else base64.b64encode)(whole).decode()
    cleaned = Redactor([("PIN", VALUE)]).clean(f"data {text} end")
    assert "[secret: PIN]" in cleaned
    inner = text[-(-len(before.encode()) * 8 // 6) + 1 :][:18]
    assert inner not in cleaned


@pytest.mark.parametrize(
    "value",
    [
        *(
            "true",
            "production",
            "localhost",
            "/usr/bin",
            "8080",
            "12345678",
            "2026-01-02",
            "short1!",
        ),
        *("/tmp/a8Xk29Qz1", "C:\\Users\\x\\a8Xk29Qz1"),
        *("my-project-name", "com.acme.app", "https://acme.test/path", "C:\\Windows", "~/keys", ""),
    ],
)
def test_ordinary_values_are_left_alone_and_named(value: str) -> None:
    redactor = Redactor([("NAME", value), ("OTHER", "kx82!ma0-q")])
    text = f"the {value} of it"
    assert redactor.clean(text) == text
    assert redactor.ignored == ("NAME",)


@pytest.mark.parametrize(
    "value",
    [
        *("/9jK2mQ8xZ4vB7nC1", "https://hooks.acme.test/services/T0/a8Xk29Qz1Lm3", "kx82!ma0"),
        *("9f8e7d6c-1a2b-4c3d-8e9f-0a1b2c3d4e5f", "abcdefghijklmnopqr", "密码密码密码密码"),
    ],
)
def test_values_that_are_secrets_are_not_taken_for_ordinary(value: str) -> None:
    assert Redactor([("NAME", value)]).clean(value) == "[secret: NAME]"


def test_a_long_value_is_found_when_its_output_was_cut() -> None:
    value = "".join(f"{number:x}q" for number in range(900))
    redactor = Redactor([("BIG", value)])
    assert redactor.clean(f"({value})") == "([secret: BIG])"
    assert redactor.clean(f"({value[:700]}…") == "([secret: BIG]…"


def test_lines_of_a_value_are_found_by_themselves() -> None:
    value = "first-line-0123456789\nsecond-line-9876543210\nx"
    cleaned = Redactor([("MANY", value)]).clean("> second-line-9876543210\n> x")
    assert cleaned == "> [secret: MANY]\n> x"


def test_names_say_which_variables_are_secret() -> None:
    environment = {
        "OPENAI_API_KEY": "value-1a",
        "GH_TOKEN": "value-2b",
        "CLIENT_SECRET": "value-3c",
        "DB_PASSWORD": "value-4d",
        "GOOGLE_CREDENTIALS": "value-5e",
        "SIGNING_KEY_2": "value-6f",
        "DATABASE_URL": "postgres://app:s3cret%21pw@db/app",
        "NEXT_PUBLIC_SUPABASE_ANON_KEY": "value-7g",
        "HOME": "/home/someone",
        "SSH_AUTH_SOCK": "/tmp/agent.1",
        "TOKENIZERS_PARALLELISM": "false",
        "KEYBOARD": "us-intl-9",
        "PWD": "/tmp/a8Xk29Qz1",
        "OLDPWD": "/tmp/b8Xk29Qz1",
        "PLAIN": "value-8h",
        "SITE_URL": "https://acme.test:8443/x",
        "ODD_URL": "http://[::1@x:y",
    }
    assert secrets_in(environment, ["PLAIN", "MISSING"]) == [
        ("OPENAI_API_KEY", "value-1a"),
        ("GH_TOKEN", "value-2b"),
        ("CLIENT_SECRET", "value-3c"),
        ("DB_PASSWORD", "value-4d"),
        ("GOOGLE_CREDENTIALS", "value-5e"),
        ("SIGNING_KEY_2", "value-6f"),
        ("DATABASE_URL", "postgres://app:s3cret%21pw@db/app"),
        ("DATABASE_URL", "s3cret!pw"),
        ("PLAIN", "value-8h"),
    ]


@given(st.text(st.characters(codec=None), min_size=8, max_size=60))
def test_any_value_can_be_given(value: str) -> None:
    redactor = Redactor([("ANY", value)])
    cleaned = redactor.clean(f"<{value}>")
    assert redactor.ignored or "[secret: " in cleaned
    assert redactor.clean(cleaned) == cleaned


def test_a_value_is_not_left_in_pieces() -> None:
    value = "kx82!ma0-q-77-ab-zz"
    cleaned = Redactor([("PIN", value)]).clean(f'{{"a": "{value}", "b": "x{value}y"}}')
    assert not any(piece in cleaned for piece in pieces(value, 6))
