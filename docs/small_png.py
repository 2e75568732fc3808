"""A PNG with 256 colours: a screenshot has few more, and is a third of the size then."""

from __future__ import annotations

import struct
import zlib
from collections import Counter

__all__ = ["smaller"]

Colour = tuple[int, int, int]


def smaller(png: bytes) -> bytes:
    """The same picture with its 256 most frequent colours; others become the nearest of them.

    Args:
        png: 8 bits a channel, with or without transparency (which is dropped), not interlaced.
    """
    width, height, channels, data = _read(png)
    rows = _unfiltered(zlib.decompress(data), width * channels, height, channels)
    pixels = [list(zip(row[0::channels], row[1::channels], row[2::channels], strict=True)) for row in rows]
    counted = Counter(colour for row in pixels for colour in row)
    palette: list[Colour] = [colour for colour, _ in counted.most_common(256)]
    index = {colour: i for i, colour in enumerate(palette)}
    for colour in counted:
        if colour not in index:
            index[colour] = min(range(len(palette)), key=lambda i, c=colour: _distance(palette[i], c))  # type: ignore[misc]
    # Filters help photographs; flat areas are best as they are.
    raw = b"".join(b"\0" + bytes(index[colour] for colour in row) for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", bytes(c for colour in palette for c in colour)), (b"IDAT", _packed(raw)))
    return png[:8] + b"".join(_chunk(*one) for one in (*chunks, (b"IEND", b"")))


def _distance(a: Colour, b: Colour) -> int:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def _packed(raw: bytes) -> bytes:
    return zlib.compress(raw, 9)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _read(png: bytes) -> tuple[int, int, int, bytes]:
    at, data = 8, b""
    width = height = channels = 0
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        name, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        if name == b"IHDR":
            width, height, depth, kind, *_, interlaced = struct.unpack(">IIBBBBB", content)
            if depth != 8 or kind not in (2, 6) or interlaced:
                raise ValueError("not a plain 8-bit colour PNG")
            channels = 3 if kind == 2 else 4
        elif name == b"IDAT":
            data += content
        at += size + 12
    return width, height, channels, data


def _unfiltered(raw: bytes, size: int, height: int, step: int) -> list[bytearray]:
    """Rows without the filters that the format puts before compression."""
    rows: list[bytearray] = []
    above = bytearray(size)
    for y in range(height):
        begin = y * (size + 1)
        kind, row = raw[begin], bytearray(raw[begin + 1 : begin + 1 + size])
        for i in range(size) if kind else ():
            left = row[i - step] if i >= step else 0
            if kind == 1:
                add = left
            elif kind == 2:
                add = above[i]
            elif kind == 3:
                add = (left + above[i]) // 2
            else:
                corner = above[i - step] if i >= step else 0
                add = _paeth(left, above[i], corner)
            row[i] = (row[i] + add) & 255
        rows.append(row)
        above = row
    return rows


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
    return left if a <= b and a <= c else up if b <= c else corner
