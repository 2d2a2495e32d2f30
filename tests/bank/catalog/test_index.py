"""The index: only what changed is written, and it is what a fresh index would write."""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedgeline.bank.briefs import MIDDLE, SMALL
from kedgeline.bank.catalog import _source_names, index, read_catalog, read_chunk
from kedgeline.errors import BankMalformed, FileRefused
from kedgeline.files import checked
from kedgeline.tokens import EXACT
from tests.bank.catalog.documents import project, texts, tree

GOLDEN = Path(__file__).parent / "golden"
LONG = "".join(
    f"## Part {n}\n\nPart {n} tells of boats and of the piers they lie at.\n\n" for n in range(6)
)


def joined(bank: Path, source: str) -> bytes:
    """The bodies of a document's chunks."""
    rows = []
    for path in (bank / "chunks").rglob("chunk-*.yaml"):
        header, body = read_chunk(path.name, path.read_bytes())
        if header.source == source:
            rows.append((header.chunk_index, body))
    return b"".join(body for _, body in sorted(rows))


def test_the_files_are_the_golden_ones(tmp_path: Path) -> None:
    """After a change on purpose, write them anew with KEDGELINE_GOLDEN=1."""
    documents = {name: (GOLDEN / name).read_text("utf-8") for name in ("guide.md", "tide.py")}
    bank = project(tmp_path, {f"docs/{name}": text for name, text in documents.items()})
    index([tmp_path / "docs"], bank, chunk_tokens=60)
    if os.environ.get("KEDGELINE_GOLDEN"):
        shutil.rmtree(GOLDEN / "bank", ignore_errors=True)
        shutil.copytree(bank, GOLDEN / "bank")
    assert tree(bank) == tree(GOLDEN / "bank")


edits = st.lists(
    st.tuples(
        st.sampled_from(["a.md", "b.md", "in/a.md", "in/c.py", "d.txt"]),
        st.one_of(st.none(), texts),
    ),
    min_size=1,
    max_size=4,
)


@given(edits=edits)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
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
        key = path.relative_to(root).as_posix()
        assert joined(bank, key) in (path.read_bytes(), b"" if b"\0" in path.read_bytes() else None)
    check_catalog(bank)


def check_catalog(bank: Path) -> None:
    listed = read_catalog("catalog.yml", (bank / "catalog.yml").read_bytes())
    named = {row.path for rows in listed.values() for row in rows}
    assert named == {name for name in tree(bank) if name.startswith("chunks/")}
    for rows in listed.values():
        for row in rows:
            header, body = read_chunk(row.path, (bank / row.path).read_bytes())
            assert row.hash == header.hash == sha256(body).hexdigest()
            assert (
                row.tokens
                == header.token_estimate
                == len(body.decode("utf-8", "surrogateescape")) // 4
            )
            assert row.summary_128 == header.summary_128
            assert EXACT.count(header.summary_128) <= SMALL
            assert EXACT.count(header.summary_512) <= MIDDLE


def test_only_what_changed_is_written_again(tmp_path: Path) -> None:
    bank = project(tmp_path, {"a.md": LONG, "b.md": "# B\n\nStays.\n"})
    index([tmp_path / "a.md", tmp_path / "b.md"], bank, chunk_tokens=20)
    assert index([], bank, chunk_tokens=20).written == ()
    (tmp_path / "a.md").write_text(LONG.replace("Part 2 tells", "Part 2 sings"))
    again = index([], bank, chunk_tokens=20)
    assert again.written == ("chunks/a/chunk-03.yaml", "catalog.yml")
    assert again.removed == ()


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


def test_lines_of_a_person_follow_their_chunk(tmp_path: Path) -> None:
    bank = project(tmp_path, {"a.md": LONG})
    index([tmp_path / "a.md"], bank, chunk_tokens=20)
    path = bank / "chunks" / "a" / "chunk-02.yaml"
    data = path.read_bytes().replace(b"hash:", b"tags: [Mine]\nowner: me\nhash:", 1)
    path.write_bytes(data)
    (tmp_path / "a.md").write_text("## New\n\n" + "Something new stands here. " * 3 + "\n\n" + LONG)
    index([], bank, chunk_tokens=20)
    moved = next(
        file
        for file in sorted((bank / "chunks" / "a").iterdir())
        if b'tags: ["Mine"]\nowner: "me"\n' in file.read_bytes()
    )
    assert b"Part 1 tells" in moved.read_bytes()
    rows = read_catalog("c", (bank / "catalog.yml").read_bytes())["mine"]
    assert [row.path for row in rows] == [f"chunks/a/{moved.name}"]
    index([], bank, chunk_tokens=20, anew=True)
    assert b'owner: "me"\n' in moved.read_bytes()


def test_a_better_summary_of_a_person_stays_while_the_chunk_is_the_same(tmp_path: Path) -> None:
    bank = project(tmp_path, {"a.md": "# A\n\nText.\n"})
    index([tmp_path / "a.md"], bank)
    path = bank / "chunks" / "a" / "chunk-01.yaml"
    path.write_bytes(path.read_bytes().replace(b'"A; Text. Files: a.md"', b'"Better."'))
    index([], bank)
    assert b'summary_128: "Better."' in (bank / "catalog.yml").read_bytes()
    index([], bank, anew=True)
    assert b'summary_128: "A; Text. Files: a.md"' in (bank / "catalog.yml").read_bytes()


def test_what_is_no_document_is_skipped_and_said(tmp_path: Path) -> None:
    bank = project(
        tmp_path, {"docs/a.md": "# A\n", "docs/.env": "x", "docs/node_modules/m.js": "m"}
    )
    (tmp_path / "docs" / "picture.png").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "docs" / "noise.bin").write_bytes(bytes(range(128, 256)) * 4)
    (tmp_path / "docs" / "latin.txt").write_bytes(
        "ein kurzer Text \u00fcber Boote".encode("latin-1")
    )
    (tmp_path / "docs" / "empty.md").write_bytes(b"")
    (tmp_path / "docs" / "null.txt").write_bytes(b"mostly text\0 and more of it")
    (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "docs" / "a.md")
    (tmp_path / "docs" / "loop").symlink_to(tmp_path)
    done = index([tmp_path / "docs"], bank)
    assert {row.path.removeprefix("docs/") for row in done.skipped} == {
        *(
            ".env",
            "node_modules",
            "picture.png",
            "noise.bin",
            "empty.md",
            "null.txt",
            "link.md",
            "loop",
        )
    }
    assert done.documents == 2
    assert joined(bank, "docs/latin.txt") == (tmp_path / "docs" / "latin.txt").read_bytes()


def test_links_and_what_lies_outside_are_refused(tmp_path: Path) -> None:
    bank = project(tmp_path / "project", {"a.md": "# A\n"})
    (tmp_path / "outside.md").write_text("secret")
    (tmp_path / "project" / "link.md").symlink_to(tmp_path / "outside.md")
    for path in (tmp_path / "outside.md", tmp_path / "project" / "link.md", bank / "none.md"):
        with pytest.raises(FileRefused):
            index([path], bank)
    assert tree(bank) == {}


def test_no_chunk_is_written_through_a_link(tmp_path: Path) -> None:
    bank = project(tmp_path / "project", {"a.md": "# A\n"})
    (tmp_path / "elsewhere").mkdir()
    (bank / "chunks").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileRefused):
        index([tmp_path / "project" / "a.md"], bank)
    (bank / "chunks").unlink()
    (bank / "chunks").mkdir()
    (bank / "chunks" / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileRefused):
        index([tmp_path / "project" / "a.md"], bank)
    assert tree(tmp_path / "elsewhere") == {}


def test_a_broken_chunk_or_catalog_stops_the_index_before_it_writes(tmp_path: Path) -> None:
    bank = project(tmp_path, {"a.md": "# A\n", "b.md": "# B\n"})
    index([tmp_path / "a.md"], bank)
    before = tree(bank)
    for name in ("catalog.yml", "chunks/a/chunk-01.yaml"):
        (bank / name).write_bytes(b"---\na: [1\n---\n")
        broken = tree(bank)
        with pytest.raises(BankMalformed) as caught:
            index([tmp_path / "b.md"], bank)
        assert caught.value.name == name
        assert tree(bank) == broken
        (bank / name).write_bytes(before[name])


def test_a_source_outside_in_a_header_is_not_followed(tmp_path: Path) -> None:
    bank = project(tmp_path / "project", {"a.md": "# A\n"})
    (tmp_path / "outside.md").write_text("# Outside\n")
    index([tmp_path / "project" / "a.md"], bank)
    path = bank / "chunks" / "a" / "chunk-01.yaml"
    path.write_bytes(path.read_bytes().replace(b'source: "a.md"', b'source: "../outside.md"'))
    assert "no path below the root" in index([], bank).notes[0]
    assert b"Outside" not in b"".join(tree(bank).values())


def test_chunks_of_the_field_stay_in_the_catalog(tmp_path: Path) -> None:
    """R39: the plain form is accepted, and nobody here can make those chunks anew."""
    old = b"---\nsource: gone.md\nchunk_index: 1\nhash: ab\nsummary: Old\n---\nbody"
    bank = project(tmp_path, {"a.md": "# A\n", "bank/chunks/gone/chunk-01.yaml": old.decode()})
    (bank / "catalog.yml").write_text('old tag:\n  - "chunks/gone/chunk-01.yaml"\n')
    index([tmp_path / "a.md"], bank)
    listed = read_catalog("c", (bank / "catalog.yml").read_bytes())
    assert [row.path for row in listed["old tag"]] == ["chunks/gone/chunk-01.yaml"]
    assert (bank / "chunks/gone/chunk-01.yaml").read_bytes() == old
    assert index([], bank).written == ()


def test_tags_come_from_the_document_its_folders_and_its_headings(tmp_path: Path) -> None:
    text = "---\ntags: [First Steps, 港]\n---\n# Mooring of boats\n\nText.\n"
    bank = project(tmp_path, {"docs/harbour/a.md": text, "plain.txt": "text\n"})
    index([tmp_path / "docs", tmp_path / "plain.txt"], bank)
    listed = read_catalog("c", (bank / "catalog.yml").read_bytes())
    assert list(listed) == ["boats", "docs", "first-steps", "harbour", "mooring", "other", "港"]


def test_broken_front_matter_of_a_document_is_said_and_its_text_is_taken(tmp_path: Path) -> None:
    bank = project(tmp_path, {"a.md": "---\ntags: [a\n---\n# A\n"})
    done = index([tmp_path / "a.md"], bank)
    assert done.documents == 1
    assert "a.md, line" in done.notes[0]


def test_secrets_stay_out_of_summaries_and_are_said(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    bank = project(tmp_path, {"a.md": f"# Key {secret}\n\nThe key is {secret} now.\n"})
    done = index([tmp_path / "a.md"], bank)
    header, body = read_chunk("c", (bank / "chunks/a/chunk-01.yaml").read_bytes())
    assert "secret" in done.notes[0]
    assert secret in body.decode()
    assert secret not in f"{header}"
    assert secret.lower() not in (bank / "catalog.yml").read_text().lower()


@given(
    keys=st.sets(
        st.text(min_size=1, max_size=90).map(lambda text: text.replace("\0", "")), max_size=20
    )
)
@settings(max_examples=100, deadline=None)
def test_names_are_safe_and_differ_on_every_system(keys: set[str]) -> None:
    names = _source_names(
        {key for key in keys if key}
        | {"CON.md", "a/b.md", "a.b.md", "A.B.md", "a/B.md", "日本.md"},
        (),
    )
    assert len({name.casefold() for name in names.values()}) == len(names)
    for name in names.values():
        assert checked("source", name) == name


def test_two_banks_under_one_root_do_not_take_in_each_other(tmp_path: Path) -> None:
    first = project(tmp_path, {"docs/a.md": "# A\n\nTides.\n"})
    second = tmp_path / "further" / "bank"
    second.mkdir(parents=True)
    for _ in range(3):
        for bank in (first, second):
            done = index([tmp_path], bank, root=tmp_path)
            assert done.documents == 1
    why = {one.path: one.why for one in done.skipped}
    made = f"{first.name}/chunks", f"{first.name}/catalog.yml"
    assert all("kedgeline made it" in why[path] for path in made)
