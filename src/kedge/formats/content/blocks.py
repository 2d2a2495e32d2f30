"""Content in the shapes providers share: text, images, lists of both."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from kedge.model import Media

Kind = Literal["image", "document", "audio", "video", "file"]


def text_of(content: Any) -> str:
    """The text of a string or of a list of text blocks."""
    return text_and_media(content)[0]


def text_and_media(content: Any) -> tuple[str, tuple[Media, ...]]:
    """A tool result's content as text, and the media in it; other values as JSON."""
    if isinstance(content, str):
        return content, ()
    if content is None:
        return "", ()
    if not isinstance(content, list):
        return as_json(content), ()
    texts: list[str] = []
    media: list[Media] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif isinstance(block, dict) and (found := media_of(block)) is not None:
            media.append(found)
        else:
            texts.append(as_json(block))
    return "\n".join(texts), tuple(media)


def media_of(block: dict[str, Any]) -> Media | None:
    """An image, document or audio block of any provider; None when it is none."""
    kind = block.get("type")
    if kind in ("image", "document") and isinstance(source := block.get("source"), dict):
        return Media(
            kind="image" if kind == "image" else "document",
            mime=_str(source.get("media_type")),
            data=_str(source.get("data")),
            url=_str(source.get("url")),
        )
    if kind == "image" and isinstance(data := block.get("data"), str):  # MCP and pi
        return Media(kind="image", mime=_str(block.get("mimeType")), data=data)
    if kind in ("image_url", "input_image") and (url := _image_url(block)):
        return media_from_url(url, "image")
    if kind == "input_audio" and isinstance(audio := block.get("input_audio"), dict):
        return Media(
            kind="audio", mime=f"audio/{_str(audio.get('format'))}", data=_str(audio.get("data"))
        )
    if kind in ("file", "input_file"):
        file = block["file"] if isinstance(block.get("file"), dict) else block
        return media_from_url(_str(file.get("file_data")) or _str(file.get("file_url")), "file")
    return None


def media_from_url(url: str, kind: Kind) -> Media:
    """Media behind a URL; a `data:` URL holds the bytes itself."""
    if not url.startswith("data:"):
        return Media(kind=kind, url=url)
    head, _, data = url.partition(",")
    return Media(kind=kind, mime=head.removeprefix("data:").partition(";")[0], data=data)


def parsed_arguments(arguments: Any) -> dict[str, Any]:
    """A call's arguments as an object, also when they were written as a JSON string."""
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str) or not arguments.strip():
        return {}
    try:
        value = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return {"input": arguments}
    return value if isinstance(value, dict) else {"input": value}


def time_of(value: Any) -> datetime | None:
    """An ISO 8601 string, or seconds or milliseconds since 1970, as a time in UTC."""
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
            return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        except (ValueError, OverflowError, OSError):
            return None
    return None


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _image_url(block: dict[str, Any]) -> str:
    url = block.get("image_url")
    return _str(url.get("url")) if isinstance(url, dict) else _str(url)


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
