"""Images and files: tokens from their size, never from the text of their base64."""

from __future__ import annotations

import base64
import binascii
import re
import struct

from kedge.model import Media

PIXELS_PER_TOKEN = 750
"""Anthropic's published rule: tokens = width × height / 750."""
IMAGE_MOST = 1_600
"""Larger images are scaled down before they are read; also what an image of unknown size counts."""
BYTES_PER_PAGE = 50_000
"""A usual PDF page; pages cannot be counted without decompressing."""
TOKENS_PER_PAGE = 2_000
"""Anthropic's documentation gives 1,500 to 3,000 a page."""
BYTES_PER_SECOND_OF_SOUND = 16_000
"""Compressed speech at 128 kbit/s."""
TOKENS_PER_SECOND_OF_SOUND = 32
"""Google's published rate for audio."""
HEADER = 65_536
"""Base64 characters looked at for an image's size; a JPEG's is behind its thumbnails."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,([A-Za-z0-9+/]{64,}={0,2})")
"""Up to the first character that is not base64: a line end could be followed by prose, which must
not be taken for data."""


def media_tokens(media: Media) -> int:
    """An estimate of what a model is charged for an image, document or sound."""
    size = len(media.data) * 3 // 4
    if media.kind == "image" or media.mime.startswith("image/"):
        return image_tokens(media.data)
    if media.kind in ("audio", "video"):
        return max(1, size // BYTES_PER_SECOND_OF_SOUND) * TOKENS_PER_SECOND_OF_SOUND
    return max(1, size // BYTES_PER_PAGE) * TOKENS_PER_PAGE


def image_tokens(data: str) -> int:
    width, height = image_size(data)
    if not width or not height:
        return IMAGE_MOST
    return max(1, min(IMAGE_MOST, width * height // PIXELS_PER_TOKEN))


def image_size(data: str) -> tuple[int, int]:
    """Width and height from the head of a base64 image; zeros when it does not say."""
    head = data[:HEADER]
    try:
        raw = base64.b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return 0, 0
    if raw.startswith(b"\x89PNG") and len(raw) >= 24:
        width, height = struct.unpack(">II", raw[16:24])
        return width, height
    if raw.startswith(b"GIF8") and len(raw) >= 10:
        width, height = struct.unpack("<HH", raw[6:10])
        return width, height
    return _jpeg_size(raw) if raw.startswith(b"\xff\xd8") else (0, 0)


def split_data_urls(text: str) -> tuple[str, tuple[Media, ...]]:
    """Text without the `data:` URLs in it, and these as media.

    Base64 without a `data:` URL around it stays: to the model it is text.
    """
    if ";base64," not in text:
        return text, ()
    found = tuple(
        Media(kind="image" if mime.startswith("image/") else "file", mime=mime, data=data)
        for mime, data in _DATA_URL.findall(text)
    )
    return _DATA_URL.sub("", text), found


def _jpeg_size(raw: bytes) -> tuple[int, int]:
    """Walk a JPEG's segments to the frame header."""
    position = 2
    while position + 9 < len(raw) and raw[position] == 0xFF:
        marker = raw[position + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[position + 5 : position + 9])
            return width, height
        position += 2 + int.from_bytes(raw[position + 2 : position + 4])
    return 0, 0
