"""Finding: the seed's order of preference, and which step answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedgeline.bank import find as find_module
from kedgeline.bank.catalog import index
from kedgeline.bank.find import find, lowered, match, words_of
from kedgeline.errors import UserError
from tests.bank.catalog.documents import project

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
    folder = project(
        tmp_path, {"docs/guide.md": GUIDE, "docs/b.md": "# Storms\n\nWind and rain.\n"}
    )
    index([tmp_path / "docs"], folder, chunk_tokens=300)
    return folder


def test_the_first_step_reads_only_the_catalog_and_what_its_hits_stand_for(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find("storms wind", bank)
    assert (found.step, found.answered, len(found.read)) == (1, True, 1)
    assert found.hits[0].source == "docs/b.md"
    assert found.hits[0].lines == (1, 3)
    assert found.read[0].tokens > 0
    read: list[str] = []
    real = find_module.Reach._data

    def counted(self: find_module.Reach, root: Path, path: str) -> bytes | None:
        read.append(path)
        return real(self, root, path)

    monkeypatch.setattr(find_module.Reach, "_data", counted)
    find("storms wind", bank)
    assert all("docs.b/" in path or path == "docs/b.md" for path in read)


@pytest.mark.parametrize(
    ("query", "step"),
    [
        ("harbour", 1),
        ("bowline", 2),
        ("cleat-7", 3),
        ("kedgeline.bank.values", 3),
        ("src/auth/login.py", 3),
        ('"dolphins stay free"', 3),
        ("旗を見る", 3),
        ("天気", 1),
        ("bowline dolphins", 4),
    ],
)
def test_a_query_stops_at_the_first_step_that_answers(bank: Path, query: str, step: int) -> None:
    """Seed 003: 128, then 512, then the chunk, then the source where boundaries do not suffice."""
    found = find(query, bank)
    assert (found.step, found.answered) == (step, True)
    assert [read.step for read in found.read] == list(range(1, step + 1))
    assert found.why.startswith(f"step {step}, ")
    assert found.hits[0].source == "docs/guide.md"


def test_hits_of_whole_chunks_have_the_lines_of_the_source(bank: Path) -> None:
    hit = find("cleat-7", bank).hits[0]
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


def test_a_source_that_changed_makes_its_hits_stale(bank: Path) -> None:
    source = bank.parent / "docs" / "b.md"
    assert find("storms", bank).hits[0].stale == ""
    source.write_text("# Storms\n\nWind and rain.\n\nMore.\n")
    assert find("storms", bank).hits[0].stale == "the source goes on behind it since"
    source.write_text("# Calm\n")
    assert find("storms", bank).hits[0].stale == "the source changed since"
    source.unlink()
    assert find("storms", bank).hits[0].stale == "the source is gone"


def test_a_chunk_changed_by_hand_is_stale(bank: Path) -> None:
    path = bank / "chunks" / "docs.b" / "chunk-01.yaml"
    path.write_bytes(path.read_bytes() + b"more")
    assert find("storms", bank).hits[0].stale == "the chunk was changed by hand"


def test_a_chunk_that_is_missing_is_said(bank: Path) -> None:
    (bank / "chunks" / "docs.b" / "chunk-01.yaml").unlink()
    found = find("storms", bank)
    assert found.hits[0].stale == "the chunk is gone"
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
    (tmp_path / "outside.yaml").write_text("---\nsource: a\n---\nsecret words\n")
    (folder / "catalog.yml").write_text("tag:\n  - ../../outside.yaml\n  - /etc/passwd\n")
    found = find("secret", folder)
    assert found.hits == ()
    assert all("leads out of the folder" in note for note in found.notes[:2])


def test_the_old_plain_forms_are_searched(tmp_path: Path) -> None:
    """R39; the field names chunks from the root of its repository."""
    old = "---\nsource: a.md\nchunk_index: 1\nsummary: About whales...\n---\nThe body sings.\n"
    folder = project(tmp_path, {"deep/chunks/a/chunk-01.yaml": old, "a.md": "The body sings.\n"})
    (folder / "catalog.yml").write_text("sea life:\n  - deep/chunks/a/chunk-01.yaml\n")
    assert find("sea", folder).step == 1
    assert find("whales", folder).step == 2
    hit = find("sings", folder).hits[0]
    assert (hit.lines, hit.text, hit.stale) == ((1, 1), "1: The body sings.", "")


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    text = f"# A\n\n{FILLER}\n\n{FILLER}\n\nThe dolphin key is {secret} here.\n"
    folder = project(tmp_path, {"a.md": text})
    index([tmp_path / "a.md"], folder)
    found = find("dolphin", folder, step=3)
    assert found.hits[0].lines == (7, 7)
    assert secret not in found.hits[0].text
    assert "[secret:" in found.hits[0].text


@pytest.mark.parametrize(
    ("query", "why"), [("", "no words"), ('"" !', "no words"), ("x" * 1_001, "up to")]
)
def test_a_query_without_words_is_refused(bank: Path, query: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        find(query, bank)


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("auth", "the author", False),
        ("auth", "auth.", True),
        ("boat", "two boats", True),
        ("boats", "a boat", False),
        ("ÜBER", "über alles", True),
        ("港", "この港は", True),
        ("auth", "日本auth語", True),
        ("a.b/c", "see a.b/c now", True),
        ("a.b", "axb", False),
        ('"two words"', "two\n  words", True),
        ('"two words"', "two other words", False),
        ("ｆｕｌｌ", "full", True),
    ],
)
def test_words(query: str, text: str, found: bool) -> None:
    assert (not match(words_of(query), lowered(text)).missing) == found
