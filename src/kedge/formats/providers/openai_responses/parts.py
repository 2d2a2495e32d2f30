"""Message items of the Responses API as pieces, and pieces as message items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedge.formats.content.blocks import media_of
from kedge.formats.content.wrappers import said_by_user
from kedge.formats.intake.fields import mappings, string
from kedge.formats.intake.lines import Record
from kedge.formats.providers.messages import as_notes
from kedge.formats.providers.wire import blocks_of, kept, own, restored, same_pieces, seal, sealed
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Note, Role, Text, Thinking, Wire

PROVIDER = "openai-responses"
ROLES = ("user", "assistant", "system", "developer")
TEXTS = ("input_text", "output_text", "text")


def is_message(item: Record) -> bool:
    """A message item, or an easy message without a type."""
    return item.get("type") == "message" or ("type" not in item and "role" in item)


def pieces_of(item: Record) -> tuple[Piece, ...]:
    """What a message holds."""
    role, content = string(item.get("role")), item.get("content")
    if isinstance(content, str):
        content = [{"type": _text_type(role), "text": content}]
    if not isinstance(content, list):
        return ()
    pieces = tuple(piece for part in content for piece in _read(role, part))
    return pieces if role in ROLES else as_notes(pieces)


def wire_of(item: Record, pieces: Sequence[Piece], number: int) -> Wire:
    """What it takes to write the message again out of its pieces."""
    marks: Wire = {"item": number}
    if isinstance(item.get("content"), list):
        marks["shape"] = "list"
    role = turn_role(string(item.get("role")))
    return seal(PROVIDER, item, _plain_message(role, pieces, marks), **marks) or {}


def message_of(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    """One message, as it was read where the wire says how."""
    return restored(
        wire,
        _plain_message(role, pieces, wire),
        lambda item: same_pieces(pieces_of(item), pieces),
    )


def turn_role(role: str) -> Role:
    """The role of a message in its turn."""
    if role in ("system", "developer"):
        return "system"
    return "assistant" if role == "assistant" else "user"


def thought_of(item: Record) -> Thinking:
    """A reasoning item; its seal is what the provider wants back."""
    texts = [
        text
        for name in ("summary", "content")
        for part in mappings(item.get(name))
        if (text := string(part.get("text")))
    ]
    return Thinking(text="\n\n".join(texts), signature=string(item.get("encrypted_content")))


def plain_thought(piece: Piece) -> Record | None:
    if not isinstance(piece, Thinking):
        return None
    summary = [{"type": "summary_text", "text": piece.text}] if piece.text else []
    item: Record = {"type": "reasoning", "summary": summary}
    return {**item, "encrypted_content": piece.signature} if piece.signature else item


def plain_media(media: Media) -> Record | None:
    url = f"data:{media.mime};base64,{media.data}" if media.data else media.url
    if not url or media.kind in ("audio", "video"):
        return None
    if media.kind == "image":
        return {"type": "input_image", "image_url": url}
    if not media.data:
        return {"type": "input_file", "file_url": url}
    name = f"file.{media.mime.rpartition('/')[2] or 'bin'}"
    return {"type": "input_file", "filename": name, "file_data": url}


def _read(role: str, part: Any) -> tuple[Piece, ...]:
    kind = part.get("type") if isinstance(part, dict) else type(part).__name__

    def plain(piece: Piece) -> Record | None:
        return _plain(role, piece)

    if kind in TEXTS and isinstance(part.get("text"), str):
        said = said_by_user(part["text"]) if role == "user" else (Text(text=part["text"]),)
        return sealed(PROVIDER, part, said, plain)
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return sealed(PROVIDER, part, (Text(text=part["refusal"]),), plain, type="refusal")
    if isinstance(part, dict) and (media := media_of(part)) is not None:
        return sealed(PROVIDER, part, (media,), plain)
    return (kept(PROVIDER, kind, part),)


def _plain(role: str, piece: Piece) -> Record | None:
    if isinstance(piece, (Text, Note)):
        if own(piece.wire, PROVIDER).get("type") == "refusal":
            return {"type": "refusal", "refusal": piece.text}
        return {"type": _text_type(role), "text": piece.text}
    return plain_media(piece) if isinstance(piece, Media) else None


def _text_type(role: str) -> str:
    return "output_text" if role == "assistant" else "input_text"


def _plain_message(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    parts = blocks_of(
        PROVIDER, pieces, lambda piece: _plain(role, piece), lambda part, _: _read(role, part)
    )
    return {"role": role, "content": _shaped(role, parts, wire)}


def _shaped(role: Role, parts: list[Any], wire: Wire) -> Any:
    """The content: a list where it was one or where the user's side holds several things."""
    if wire.get("shape") == "list":
        return parts
    texts = [part["text"] for part in parts if list(part) == ["type", "text"]]
    if len(texts) < len(parts) or (role == "user" and len(parts) > 1):
        return parts
    return "\n\n".join(texts)
