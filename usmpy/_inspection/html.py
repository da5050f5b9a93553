"""Arrays in notebooks: a table of properties, values, and a small picture of two-dimensional data.

A picture reads at most a few kilobytes: a strided view selects the elements on the device.
"""

from __future__ import annotations

import base64
import html
import math
import struct
import zlib
from typing import TYPE_CHECKING, Any

from . import repr as _repr

if TYPE_CHECKING:
    from .._core import USMArray

BYTES = 8192  # bytes that are copied for a picture
SIDE = 64  # pixels
SHOWN = 192  # pixels of the screen along the longer side
# From low to high, distinguishable in grey too; then the colour of NaN.
STOPS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
NAN = (255, 0, 255)


def _colour(share: float) -> tuple[int, int, int]:
    at = share * (len(STOPS) - 1)
    low = min(int(at), len(STOPS) - 2)
    red, green, blue = (
        round(a + (b - a) * (at - low)) for a, b in zip(STOPS[low], STOPS[low + 1], strict=True)
    )
    return red, green, blue


PALETTE = bytes(part for i in range(255) for part in _colour(i / 254)) + bytes(NAN)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows: list[bytes]) -> bytes:
    """A picture of rows of indices into the palette (PNG, colour type 3)."""
    size = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks = ((b"IHDR", size), (b"PLTE", PALETTE), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _number(value: Any) -> float:
    try:
        return float(abs(value) if isinstance(value, complex) else value)
    except OverflowError:
        return math.inf


def _indices(rows: list[list[float]]) -> tuple[list[bytes], float, float]:
    """The palette's indices, and the values at its ends."""
    finite = [value for row in rows for value in row if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    scale = max(abs(low), abs(high)) or 1.0  # the difference of the ends may be more than a float holds
    width = high / scale - low / scale

    def index(value: float) -> int:
        if math.isnan(value):
            return 255
        if not math.isfinite(value):
            return 254 if value > 0 else 0
        return round(254 * (value / scale - low / scale) / width) if width > 0 else 127

    return [bytes(index(value) for value in row) for row in rows], low, high


def _picture(array: USMArray) -> str:
    if array.ndim != 2 or array.size < 4 or min(array.shape) < 2:
        return ""
    side = min(SIDE, math.isqrt(BYTES // array.itemsize))
    steps = [max(1, -(-length // side)) for length in array.shape]
    values = _repr.read(array[:: steps[0], :: steps[1]])
    rows, low, high = _indices([[_number(value) for value in row] for row in values])
    scale = SHOWN / max(array.shape)
    height, width = (max(8, round(length * scale)) for length in array.shape)
    note = f"{low:.4g} to {high:.4g}"
    note += " (magnitude)" if array.dtype.name.startswith("complex") else ""
    note += f", every {steps[0]} x {steps[1]}" if max(steps) > 1 else ""
    source = base64.b64encode(png(rows)).decode("ascii")
    image = f'width="{width}" height="{height}" src="data:image/png;base64,{source}"'
    note = html.escape(note)
    return (
        '<td rowspan="8" style="text-align:center">'
        f'<img alt="{note}" style="image-rendering:pixelated" {image}><br>{note}</td>'
    )


def _safely(function: Any, array: USMArray) -> str:
    try:
        return str(function(array))
    except Exception as error:
        return _repr.error_text(error)


def array_html(array: USMArray) -> str:
    text = _repr.elements(array, 0)  # first, since the error is in it
    try:
        picture = "" if text.startswith("<") else _picture(array)
    except Exception:
        picture = ""
    rows = {
        "shape": lambda x: x.shape,
        "dtype": lambda x: x.dtype,
        "device": lambda x: f"{x.device.filter_string} ({x.device.name})",
        "usm_type": lambda x: x.usm_type,
        "strides": lambda x: x.strides,
        "bytes": lambda x: f"{x.nbytes:,}",
    }
    left = 'style="text-align:left"'
    lines = [
        f"<tr><th {left}>{name}</th><td {left}>{html.escape(_safely(get, array))}</td>"
        f"{picture if name == 'shape' else ''}</tr>"
        for name, get in rows.items()
    ]
    return f"<div><b>USMArray</b><table>{''.join(lines)}</table><pre>{html.escape(text)}</pre></div>"
