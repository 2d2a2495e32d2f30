"""A small PNG, byte for byte the same wherever it is made."""

from __future__ import annotations

import base64
import struct
import zlib

Colour = tuple[int, int, int]


def png(rows: list[list[Colour]]) -> bytes:
    """An image out of rows of pixels, not compressed: compressors differ between machines."""
    height, width = len(rows), len(rows[0])
    data = b"".join(b"\0" + bytes(part for pixel in row for part in pixel) for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (_chunk(b"IHDR", header), _chunk(b"IDAT", _stored(data)), _chunk(b"IEND", b""))
    )


def bars(width: int, height: int, spans: list[tuple[int, int, int, Colour]]) -> bytes:
    """White paper with bars on it, each from one column to another in one row of squares."""
    white, square = (255, 255, 255), 4
    rows = [[white] * (width * square) for _ in range(height * square)]
    for row, first, last, colour in spans:
        for y in range(row * square + 1, (row + 1) * square):
            for x in range(first * square, last * square):
                rows[y][x] = colour
    return png(rows)


def image_block(picture: bytes) -> dict[str, object]:
    """As a content block of a message."""
    data = base64.b64encode(picture).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def _stored(data: bytes) -> bytes:
    """A zlib stream with one block that is stored as it is."""
    length = len(data)
    block = b"\x01" + struct.pack("<HH", length, length ^ 0xFFFF) + data
    return b"\x78\x01" + block + struct.pack(">I", zlib.adler32(data))
