"""The catalog: chunks that joined are their documents, only what changed is written, and a search
that reads as little as it can."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.bank.briefs import MIDDLE, SMALL
from kedgeline.bank.catalog import (
    _folder_names,
    chunks_of,
    index,
    read_catalog,
    read_chunk,
)
from kedgeline.bank.entries import estimated
from kedgeline.bank.finding import CHANGED, find
from kedgeline.errors import BankMalformed, FileRefused, UserError
from kedgeline.files import checked
from kedgeline.tokens import EXACT

PIECES = [
    *("# Title\n", "## Part\n", "### Sub part\n\n", "Under\n=====\n", "\n", "\n\n", "\r\n"),
    *("A paragraph about boats. It goes on.\n", "日本語の段落。\n", "- item\n- item\n", "x" * 90),
    *("```py\nx = 1\n\n# no heading\n```\n", "~~~\n", "| a | b |\n|---|---|\n| c | d |\n", "```\n"),
    *("---\ntags: [one]\n---\n", "def f():\n    return 1\n\n", "class A:\n    def m(self): ...\n"),
    *("\ufeff", "\t", " ", "\x0c", "\r", "\u2028", "\x85", "#", "@deco\n", '"""doc', "}\n"),
]
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=80).map("".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=40)), max_size=30).map("".join),
)
LONG = "".join(
    f"## Part {n}\n\nPart {n} tells of boats and of the piers they lie at.\n\n" for n in range(6)
)


def project(folder: Path, documents: dict[str, str]) -> Path:
    """A project with documents and an empty bank; the bank's folder."""
    for name, text in documents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    bank = folder / "bank"
    bank.mkdir(exist_ok=True)
    return bank


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def joined(bank: Path, source: str) -> bytes:
    """The bodies of a document's chunks."""
    rows = []
    for path in (bank / "chunks").rglob("chunk-*.yaml"):
        header, body = read_chunk(path.name, path.read_bytes())
        if header.source == source:
            rows.append((header.chunk_index, body))
    return "".join(body for _, body in sorted(rows)).encode()


# Chunks.


@given(name=st.sampled_from(["a.md", "a.py", "a.txt", "a"]), text=texts, tokens=st.integers(1, 200))
@settings(max_examples=200, deadline=None)
def test_joined_chunks_are_the_document_and_none_is_too_large(
    name: str, text: str, tokens: int
) -> None:
    chunks = [chunk.text for chunk in chunks_of(name, text, tokens)]
    assert "".join(chunks) == text
    assert all(chunks)
    assert all(estimated(chunk) <= tokens for chunk in chunks)


def section(name: str, lines: int) -> str:
    return f"## {name}\n\n" + "One line of text for the section.\n" * lines + "\n"


LONG_SECTION = "".join(f"Paragraph {n}. " + "word " * 30 + "\n\n" for n in range(3))


@pytest.mark.parametrize(
    ("name", "text", "tokens", "titles"),
    [
        (
            "guide.md",
            "# Guide\n\nIntro.\n\n" + section("A", 5) + section("B", 5) + section("C", 12),
            130,
            ["Guide > A, B", "Guide > C"],
        ),
        ("guide.md", f"# Guide\n\n## Long\n\n{LONG_SECTION}", 50, ["Guide > Long"] * 3),
        (
            "a.py",
            "".join(f"def f{n}():\n    one()\n\n    two()\n\n\n" for n in range(9)),
            25,
            ["f0, f1, f2", "f3, f4, f5", "f6, f7, f8"],
        ),
    ],
)
def test_chunks_follow_sections_paragraphs_and_definitions(
    name: str, text: str, tokens: int, titles: list[str]
) -> None:
    chunks = chunks_of(name, text, tokens)
    assert [chunk.title for chunk in chunks] == titles
    assert all(chunk.text.startswith(("#", "Paragraph", "def")) for chunk in chunks)


def test_no_cut_falls_inside_a_fence_or_a_table() -> None:
    fence = "```py\n" + "a = 1\n\n# not a heading\n" * 8 + "```\n\n"
    table = "| a | b |\n|---|---|\n" + "| one | two |\n" * 12 + "\n"
    text = "# T\n\n" + ("Some prose before it.\n\n" + fence + "More.\n\n" + table) * 6
    chunks = [chunk.text for chunk in chunks_of("a.md", text, 90)]
    assert len(chunks) > 6
    assert all(chunk.count("```") % 2 == 0 for chunk in chunks)
    assert sum(chunk.count(table.rstrip("\n")) for chunk in chunks) == 6


# The index.


@given(
    edits=st.lists(
        st.tuples(
            st.sampled_from(["a.md", "b.md", "in/a.md", "in/c.py", "d.txt"]), st.none() | texts
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=12, deadline=None)
def test_an_index_kept_up_to_date_is_a_fresh_one_to_the_byte(
    edits: list[tuple[str, str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Chunks joined are the sources, limits hold, and tags lead to chunks that are there."""
    root = tmp_path_factory.mktemp("project")
    bank = project(root, {"docs/first.md": LONG})
    for name, text in edits:
        path = root / "docs" / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())
        index([root / "docs"], bank, chunk_tokens=20)
    fresh = root / "fresh"
    fresh.mkdir()
    index([root / "docs"], fresh, chunk_tokens=20)
    assert tree(bank) == tree(fresh)
    for path in (root / "docs").rglob("*.*"):
        wanted = path.read_bytes()
        assert joined(bank, path.relative_to(root).as_posix()) == (
            b"" if b"\0" in wanted else wanted
        )
    listed = read_catalog("catalog.yml", (bank / "catalog.yml").read_bytes())
    named = {row.path: row for rows in listed.values() for row in rows}
    assert set(named) == {name for name in tree(bank) if name.startswith("chunks/")}
    for name, row in named.items():
        header, body = read_chunk(name, (bank / name).read_bytes())
        assert row.hash == header.hash == sha256(body.encode()).hexdigest()
        assert row.tokens == header.token_estimate == len(body) // 4
        assert row.summary_128 == header.summary_128
        assert EXACT.count(header.summary_128) <= SMALL
        assert EXACT.count(header.summary_512) <= MIDDLE


def test_only_what_changed_is_written_again_and_better_summaries_stay(tmp_path: Path) -> None:
    bank = project(tmp_path, {"a.md": LONG, "b.md": "# B\n\nStays.\n"})
    index([tmp_path / "a.md", tmp_path / "b.md"], bank, chunk_tokens=20)
    assert index([], bank, chunk_tokens=20).written == ()
    (tmp_path / "a.md").write_text(LONG.replace("Part 2 tells", "Part 2 sings"))
    again = index([], bank, chunk_tokens=20)
    assert (again.written, again.removed) == (("chunks/a/chunk-03.yaml", "catalog.yml"), ())
    path = bank / "chunks" / "b" / "chunk-01.yaml"
    path.write_bytes(path.read_bytes().replace(b"B; Stays.", b"Mine."))
    assert index([], bank, chunk_tokens=20).written == ("catalog.yml",)
    assert b"Mine." in path.read_bytes()


def test_chunks_of_documents_that_are_gone_or_shorter_are_removed(tmp_path: Path) -> None:
    bank = project(tmp_path, {"a.md": LONG, "b.md": "# B\n"})
    index([tmp_path / "a.md", tmp_path / "b.md"], bank, chunk_tokens=20)
    (bank / "chunks" / "b" / "mine.txt").write_text("a person's")
    (tmp_path / "a.md").write_text("# Short\n")
    (tmp_path / "b.md").unlink()
    gone = index([], bank, chunk_tokens=20)
    assert "chunks/b/chunk-01.yaml" in gone.removed
    assert "chunks/a/chunk-06.yaml" in gone.removed
    assert [skipped.path for skipped in gone.skipped] == ["b.md"]
    assert sorted(tree(bank)) == ["catalog.yml", "chunks/a/chunk-01.yaml", "chunks/b/mine.txt"]


def test_what_is_no_document_is_skipped_with_its_reason(tmp_path: Path) -> None:
    bank = project(tmp_path, {"docs/a.md": "# A\n", "docs/empty.md": "", "docs/.env": "x"})
    (tmp_path / "docs" / "node_modules").mkdir()
    (tmp_path / "docs" / "node_modules" / "x.md").write_text("# X\n")
    (tmp_path / "docs" / "noise.bin").write_bytes(bytes(range(256)))
    (tmp_path / "docs" / "null.txt").write_bytes(b"a\0b")
    (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "docs" / "a.md")
    done = index([tmp_path / "docs"], bank)
    assert done.documents == 1
    assert {one.path: one.why.partition(";")[0] for one in done.skipped} == {
        "docs/empty.md": "it is empty",
        "docs/link.md": "it is a symbolic link, and links are not followed",
        "docs/noise.bin": "it is not UTF-8 text",
        "docs/null.txt": "it is binary",
    }


def test_links_and_what_lies_outside_are_refused(tmp_path: Path) -> None:
    bank = project(tmp_path / "project", {"a.md": "# A\n"})
    (tmp_path / "outside.md").write_text("secret")
    (tmp_path / "project" / "link.md").symlink_to(tmp_path / "outside.md")
    for path in (tmp_path / "outside.md", tmp_path / "project" / "link.md", bank / "none.md"):
        with pytest.raises(FileRefused):
            index([path], bank)
    assert tree(bank) == {}
    (tmp_path / "elsewhere").mkdir()
    (bank / "chunks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileRefused):
        index([tmp_path / "project" / "a.md"], bank)
    assert tree(tmp_path / "elsewhere") == {}


def test_a_broken_chunk_stops_the_index_before_it_writes(tmp_path: Path) -> None:
    bank = project(tmp_path, {"a.md": "# A\n", "b.md": "# B\n"})
    index([tmp_path / "a.md"], bank)
    (bank / "chunks/a/chunk-01.yaml").write_bytes(b"---\na: [1\n---\n")
    broken = tree(bank)
    with pytest.raises(BankMalformed, match="chunk-01"):
        index([tmp_path / "b.md"], bank)
    assert tree(bank) == broken


def test_a_source_outside_in_a_header_is_not_followed(tmp_path: Path) -> None:
    bank = project(tmp_path / "project", {"a.md": "# A\n"})
    (tmp_path / "outside.md").write_text("# Outside\n")
    index([tmp_path / "project" / "a.md"], bank)
    path = bank / "chunks" / "a" / "chunk-01.yaml"
    path.write_bytes(path.read_bytes().replace(b"source: a.md", b"source: ../outside.md"))
    index([], bank)
    assert b"Outside" not in b"".join(tree(bank).values())


def test_tags_come_from_the_document_its_folders_and_its_headings(tmp_path: Path) -> None:
    text = "---\ntags: [First Steps, 港]\n---\n# Mooring of boats\n\nText.\n"
    bank = project(tmp_path, {"docs/harbour/a.md": text, "plain.txt": "text\n"})
    index([tmp_path / "docs", tmp_path / "plain.txt"], bank)
    listed = read_catalog("c", (bank / "catalog.yml").read_bytes())
    assert list(listed) == ["boats", "docs", "first-steps", "harbour", "mooring", "other", "港"]


def test_secrets_stay_out_of_summaries_and_hits_and_are_said(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    bank = project(tmp_path, {"a.md": f"# Key {secret}\n\nThe dolphin key is {secret} now.\n"})
    done = index([tmp_path / "a.md"], bank)
    header, body = read_chunk("c", (bank / "chunks/a/chunk-01.yaml").read_bytes())
    assert "secret" in done.notes[0]
    assert secret in body
    assert secret not in f"{header}"
    assert secret.lower() not in (bank / "catalog.yml").read_text().lower()
    (hit,) = find("dolphin", bank, step=3).hits
    assert hit.lines == (3, 3)
    assert secret not in hit.text


@given(
    keys=st.sets(
        st.text(min_size=1, max_size=90).map(lambda text: text.replace("\0", "")), max_size=20
    )
)
@settings(max_examples=100, deadline=None)
def test_names_are_safe_and_differ_on_every_system(keys: set[str]) -> None:
    names = _folder_names(
        {key for key in keys if key} | {"CON.md", "a/b.md", "a.b.md", "A.B.md", "a/B.md", "日本.md"}
    )
    assert len({name.casefold() for name in names.values()}) == len(names)
    for name in names.values():
        assert checked("source", name) == name


# Finding.

FILLER = "Nothing else is said about it in this long paragraph. " * 12
GUIDE = f"""# Harbour

How boats come in.

## Mooring

Two lines hold a boat. {FILLER}

- bowline

Behind it.
A cleat-7 stands at kedgeline.bank.values and in src/auth/login.py here.

## 天気

嵐は港を閉じる。旗を見る。

## Fees

A night costs ten coins. {FILLER}
Only dolphins stay free of charge.
"""


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    documents = {"docs/guide.md": GUIDE, "docs/b.md": "# Storms\n\nWind and rain.\n"}
    folder = project(tmp_path, documents)
    index([tmp_path / "docs"], folder, chunk_tokens=300)
    return folder


@pytest.mark.parametrize(
    ("query", "step"),
    [
        ("harbour", 1),
        ("bowline", 2),
        ("kedgeline.bank.values", 2),
        ('"dolphins stay free"', 2),
        ("旗を見る", 2),
        ("天気", 1),
        ("bowline dolphins", 4),
    ],
)
def test_a_query_stops_at_the_first_step_that_answers(bank: Path, query: str, step: int) -> None:
    """Seed 003: 128, then 512, then the chunk, then the source where boundaries do not suffice."""
    found = find(query, bank)
    assert (found.step, found.answered) == (step, True)
    assert found.why.startswith(f"step {step}, ")
    assert found.hits[0].source == "docs/guide.md"


def test_hits_of_whole_chunks_have_the_lines_of_the_source(bank: Path) -> None:
    hit = find("cleat-7", bank, step=3).hits[0]
    line = GUIDE.split("\n").index(next(row for row in GUIDE.split("\n") if "cleat-7" in row)) + 1
    assert hit.lines == (line, line)
    assert hit.text.startswith(f"{line}: A cleat-7 stands")


def test_what_nothing_has_is_said_with_what_comes_nearest(bank: Path) -> None:
    found = find("storms unicorn", bank)
    assert (found.answered, found.step) == (False, 4)
    assert found.hits[0].missing == ("unicorn",)
    assert "nothing has all of: storms, unicorn" in found.why
    none = find("unicorn", bank)
    assert (none.hits, none.why) == ((), "nothing has any of: unicorn")


def test_a_source_that_changed_and_a_chunk_that_is_gone_make_hits_stale(bank: Path) -> None:
    source = bank.parent / "docs" / "b.md"
    assert find("storms", bank).hits[0].stale == ""
    source.write_text("# Calm\n")
    assert find("storms", bank).hits[0].stale == CHANGED
    source.unlink()
    assert find("storms", bank).hits[0].stale == CHANGED
    (bank / "chunks" / "docs.b" / "chunk-01.yaml").unlink()
    found = find("storms", bank)
    assert found.hits[0].stale == CHANGED
    assert "index again" in found.notes[0]


def test_output_is_bounded(tmp_path: Path) -> None:
    documents = {f"d/n{n}.md": f"# Boat {n}\n\n" + "boat " * 2_000 for n in range(30)}
    folder = project(tmp_path, documents)
    index([tmp_path / "d"], folder)
    found = find("boat", folder, most=5)
    assert (len(found.hits), found.more) == (5, 25)
    deep = find("boat", folder, step=3, most=5)
    assert sum(len(hit.text) for hit in deep.hits) < 5 * 2_500


def test_paths_that_lead_out_are_not_read(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"a.md": "# A\n"})
    (tmp_path / "outside.yaml").write_text("---\nchunk_index: 1\n---\nsecret words\n")
    row = '{path: "../../outside.yaml", summary_128: "", tokens: 1, hash: ""}'
    (folder / "catalog.yml").write_text(f"tag:\n  - {row}\n")
    found = find("secret", folder)
    assert found.hits == ()
    assert "leads out of the folder" in found.notes[0]


@pytest.mark.parametrize("query", ["", '"" !'])
def test_a_query_without_words_is_refused(bank: Path, query: str) -> None:
    with pytest.raises(UserError, match="no words"):
        find(query, bank)
