"""The picture in the README: small, and the program that makes it small keeps every pixel."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SIGNATURE = b"\x89PNG\r\n\x1a\n"
PIXELS = [[(10 * x, 40 * y, (x * y) % 7) for x in range(9)] for y in range(5)]


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def filtered(kind: int, row: bytes, above: bytes, step: int) -> bytes:
    """A row as each of the format's five filters writes it."""
    out = bytearray()
    for i, value in enumerate(row):
        left, up = (row[i - step] if i >= step else 0), above[i]
        corner = above[i - step] if i >= step else 0
        nearest = min((left, up, corner), key=lambda one, a=left, b=up, c=corner: abs(a + b - c - one))
        out.append((value - (0, left, up, (left + up) // 2, nearest)[kind]) & 255)
    return bytes(out)


@pytest.mark.parametrize("channels", [3, 4])
def test_a_picture_of_few_colours_keeps_every_pixel(monkeypatch: pytest.MonkeyPatch, channels: int) -> None:
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    from small_png import smaller

    raw, above = b"", bytes(9 * channels)
    for kind, pixels in enumerate(PIXELS):
        row = b"".join(bytes((*colour, 255)[:channels]) for colour in pixels)
        raw += bytes([kind]) + filtered(kind, row, above, channels)
        above = row
    head = struct.pack(">IIBBBBB", 9, 5, 8, 2 if channels == 3 else 6, 0, 0, 0)
    data = zlib.compress(raw)
    png = SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", data[:20]) + chunk(b"IDAT", data[20:]) + chunk(b"IEND", b"")
    small = smaller(png)
    palette_at = small.index(b"PLTE") + 4
    (size,) = struct.unpack(">I", small[palette_at - 8 : palette_at - 4])
    palette = [tuple(small[palette_at + i : palette_at + i + 3]) for i in range(0, size, 3)]
    data_at = small.index(b"IDAT") + 4
    (size,) = struct.unpack(">I", small[data_at - 8 : data_at - 4])
    rows = zlib.decompress(small[data_at : data_at + size])
    assert [[palette[i] for i in rows[y * 10 + 1 : y * 10 + 10]] for y in range(5)] == PIXELS


def test_the_picture_is_there_and_small() -> None:
    png = (DOCS / "report.png").read_bytes()
    assert png.startswith(SIGNATURE)
    assert len(png) < 200_000
