"""Every file is read to the byte, whatever people did to it, and every entry in it is found."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from kedgeline.bank.documents import read_document
from kedgeline.errors import BankMalformed
from tests.bank.shapes.made import ANYWHERE, OTHERS, REFERENCE, Made, files, hostile_texts, named

NAMES = ("activeContext.md", "decisionLog.md", "progress.md", "notes.md", "x.jsonl")


@given(files)
def test_a_file_is_its_pieces_to_the_byte_and_all_its_entries_are_found(made: Made) -> None:
    data = made.text.encode()
    document = read_document(made.name, data)
    assert document.text.encode() == data
    found = [named(made, entry) for entry in document.entries()]
    assert found[:-1] == list(made.entries)[:-1]
    # The last one may have lost a newline to an editor.
    assert [one.rstrip("\n") for one in found] == [one.rstrip("\n") for one in made.entries]
    assert sum(1 for _ in document.references()) == made.text.count(REFERENCE.strip())


@given(files)
def test_every_piece_knows_its_first_line(made: Made) -> None:
    document = read_document(made.name, made.text.encode())
    line, expected = 1, []
    for piece in document.pieces:
        expected.append(line)
        line += piece.text.count("\n")
    assert [piece.line for piece in document.pieces] == expected
    assert all(piece.text for piece in document.pieces)


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


@given(st.sampled_from(NAMES), st.binary(max_size=200) | hostile_texts.map(_encoded))
def test_any_file_round_trips_or_is_refused_with_its_line(name: str, data: bytes) -> None:
    assert_round_trip_or_refusal(name, data)


@given(files, st.randoms(use_true_random=False))
def test_person_like_edits_of_whole_pieces_always_round_trip(
    made: Made, chance: random.Random
) -> None:
    """R35: what people write and rearrange survives, and entries stay entries."""
    document = read_document(made.name, made.text.encode())
    texts = [piece.text for piece in document.pieces if piece.text != "\ufeff"]
    for _ in range(chance.randrange(1, 6)):
        edit(texts, made, chance)
    ended = [one if one.endswith("\n") else one + "\n" for one in texts]
    first_lines = {one.partition("\n")[0] for one in ended}
    left = {entry.text.partition("\n")[0] for entry in document.entries()} & first_lines
    text = "".join(ended)
    again = read_document(made.name, text.encode())
    assert again.text == text
    assert {entry.text.partition("\n")[0] for entry in again.entries()} == left


@given(files, st.randoms(use_true_random=False))
def test_edits_of_single_lines_round_trip_or_are_refused(made: Made, chance: random.Random) -> None:
    lines = made.text.split("\n")
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(lines))
        action = chance.choice(("delete", "double", "swap", "insert", "cut"))
        if action == "delete" and len(lines) > 1:
            del lines[place]
        elif action == "double":
            lines.insert(place, lines[place])
        elif action == "swap":
            other = chance.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        elif action == "insert":
            lines.insert(place, chance.choice((*ANYWHERE, *OTHERS)).rstrip("\n"))
        else:
            lines[place] = lines[place][: len(lines[place]) // 2]
    assert_round_trip_or_refusal(made.name, "\n".join(lines).encode())


def edit(texts: list[str], made: Made, chance: random.Random) -> None:
    """One thing a person does: write something between pieces, take one out, move one, rename a
    section."""
    if not texts:
        return
    place = chance.randrange(len(texts))
    action = chance.choice(("comment", "delete", "move", "rename"))
    if action == "comment" and made.name.endswith(".md") and made.name != "progress.md":
        texts.insert(place, chance.choice(("<!-- by hand -->\n\n", "## Mine\n\n", "Prose.\n\n")))
    elif action == "delete" and made.name != "progress.md":
        del texts[place]
    elif action == "move" and made.name != "progress.md":
        texts.insert(chance.randrange(len(texts)), texts.pop(place))
    else:
        texts[place] = texts[place].replace("## A section", "## A better name")


def assert_round_trip_or_refusal(name: str, data: bytes) -> None:
    refusal, document = None, None
    try:
        document = read_document(name, data)
    except BankMalformed as error:
        refusal = error
    if document is None:
        assert refusal is not None
        assert 1 <= refusal.line <= data.count(b"\n") + 1
        assert refusal.name == name
    else:
        assert document.text.encode() == data
        assert all(len(reference.sha256) == 64 for reference in document.references())
