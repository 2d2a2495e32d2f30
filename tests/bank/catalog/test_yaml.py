"""YAML from strangers: read, or refused with the line; nothing is ever built from it."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.bank.catalog import files
from kedge.bank.catalog.files import (
    Header,
    catalog_file,
    chunk_file,
    digest,
    read_catalog,
    read_chunk,
)
from kedge.bank.catalog.safe_yaml import load
from kedge.bank.catalog.values import Listed
from kedge.errors import BankMalformed, MissingExtra

ATTACKS = {
    "an alias": ("a: &x [1]\nb: *x\n", 1),
    "laughs": ("a: &a [l]\nb: &b [*a,*a]\nc: [*b,*b]\n", 1),
    "merge": ("a: 1\nb:\n  <<: *x\n", 3),
    "an object": ("a: 1\nb: !!python/object/apply:os.system [ls]\n", 2),
    "a tag": ("a: !!binary aGk=\n", 1),
    "twice": ("a: 1\nb: 2\na: 3\n", 3),
    "twice within": ("a:\n  - path: x\n    path: y\n", 3),
    "deep": ("a: " + "[" * 5_000, 1),
    "deep maps": ("a: " + "{b: " * 50 + "1" + "}" * 50, 1),
    "two documents": ("a: 1\n---\nb: 2\n", 2),
    "a list as a name": ("? [a, b]\n: 1\n", 1),
    "tab": ("a: 1\n\tb: 2\n", 2),
    "open": ('a: "open\n', 2),
    "a control character": ("a: 1\nb: \x07\n", 2),
    "braces": ("{", 1),
}


@pytest.mark.parametrize(("text", "line"), ATTACKS.values(), ids=ATTACKS.keys())
def test_what_yaml_can_do_besides_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(BankMalformed) as caught:
        read_catalog("catalog.yml", text.encode())
    assert caught.value.name == "catalog.yml"
    assert abs(caught.value.line - line) <= 1


@pytest.mark.parametrize(("text", "line"), ATTACKS.values(), ids=ATTACKS.keys())
def test_the_same_in_the_front_matter_of_a_chunk(text: str, line: int) -> None:
    """A second document ends the front matter there: the rest is the body."""
    data = f"---\n{text}\n---\nbody".encode()
    if text == ATTACKS["two documents"][0]:
        assert read_chunk("c.yaml", data)[1].startswith(b"b: 2")
        return
    with pytest.raises(BankMalformed) as caught:
        read_chunk("c.yaml", data)
    assert caught.value.line > 1


@pytest.mark.parametrize(
    "data", [b"", b"body", b"---\nno end", b"---\n- a\n---\n", b"---\n\xff: 1\n---\n", b"\0" * 99]
)
def test_a_file_that_is_no_chunk_is_refused(data: bytes) -> None:
    with pytest.raises(BankMalformed):
        read_chunk("c.yaml", data)


@pytest.mark.parametrize(
    "text",
    [
        "- a\n",
        "a: word\n",
        "a:\n  - [x]\n",
        "a:\n  - {tokens: 1}\n",
        "a:\n  - {path: x, tokens: y}\n",
    ],
)
def test_a_file_that_is_no_catalog_is_refused(text: str) -> None:
    with pytest.raises(BankMalformed):
        read_catalog("catalog.yml", text.encode())


words = st.text(max_size=60)
listed = st.builds(Listed, path=words, summary_128=words, tokens=st.integers(0, 10**9), hash=words)
tags = st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)


@given(catalog=st.dictionaries(tags, st.lists(listed, min_size=1, max_size=3), max_size=5))
@settings(max_examples=200, deadline=None)
def test_a_catalog_is_read_as_it_was_written_by_ours_and_by_any_reader(
    catalog: dict[str, list[Listed]],
) -> None:
    data = catalog_file(catalog)
    expected = {tag: list(rows) for tag, rows in catalog.items()}
    assert read_catalog("c", data) == expected
    assert files._read_any("c", data.decode()) == expected
    plain = yaml.safe_load(data.decode())
    assert plain == {
        tag: [{name: getattr(row, name) for name in Listed.__struct_fields__} for row in rows]
        for tag, rows in catalog.items()
    }


lines = st.lists(st.text(max_size=30), max_size=6).map("\n".join)


@given(title=words, small=words, middle=lines, body=st.binary(max_size=80))
@settings(max_examples=200, deadline=None)
def test_a_chunk_is_read_as_it_was_written(
    title: str, small: str, middle: str, body: bytes
) -> None:
    header = Header("docs/a.md", 3, 7, digest(body), title, small, middle, "owner: me\n")
    data = chunk_file(header, body)
    assert read_chunk("c", data) == (header, body)
    front = data[4 : data.index(b"\n---\n", 4) + 1].decode()
    assert yaml.safe_load(front)["summary_512"] == middle


def test_the_quick_reader_takes_nothing_but_what_was_written() -> None:
    data = catalog_file({"a": [Listed(path="p", summary_128="s", tokens=1, hash="h")]}).decode()
    assert files._as_written(data) is not None
    for other in (
        data.replace("tokens: 1", "tokens: -1"),
        data.replace("tokens: 1", "tokens: 1.5"),
        data.replace("a:\n", "a: x\n"),
        data.replace('"p"', "[1]"),
        data + data.partition("\n")[2],
        data.replace("    tokens: 1\n", ""),
        data.replace("a:\n", ""),
        data.removesuffix("\n"),
        data.replace("a:\n", "&x a:\n"),
    ):
        assert files._as_written(other) is None


def test_the_old_plain_forms_are_read() -> None:
    """R39: the field's catalog is tag to paths, its chunks have one summary."""
    catalog = read_catalog("c", b'access:\n  - "chunks/a/chunk-01.yaml"\nempty: []\nnone:\n')
    expected = [Listed(path="chunks/a/chunk-01.yaml")]
    assert catalog == {"access": expected, "empty": [], "none": []}
    old = (
        b"---\nsource: a.md\nchunk_index: 1\ntoken_estimate: 2\nhash: ab\nsummary: Some\n---\nbody"
    )
    header, body = read_chunk("c", old)
    assert (header.summary_128, header.old, body) == ("Some", True, b"body")


def test_an_alias_is_called_by_its_name() -> None:
    with pytest.raises(BankMalformed, match="an alias"):
        load("c", "a: *x\n")


def test_lines_of_a_person_survive_as_they_are() -> None:
    further = "owner:   me   # who\nnotes:\n  - one\n  - 'two'\n# a comment\n"
    data = chunk_file(Header(source="a", summary_128="s", further=further), b"x")
    assert read_chunk("c", data)[0].further == further
    moved = data.replace(b"hash:", b"mine: 1\nhash:", 1)
    assert "mine: 1\n" in read_chunk("c", moved)[0].further


def test_a_missing_package_is_named_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "yaml":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"pip install 'kedge\[bank\]'"):
        load("c", "a: 1")
