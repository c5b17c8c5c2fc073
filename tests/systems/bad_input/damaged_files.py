"""Random damage to files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path


def mutated(blob: bytes, rng: random.Random) -> bytes:
    """Return bytes of which some were changed, swapped, lost or put in."""
    found = bytearray(blob)
    for _ in range(rng.choice((1, 1, 2, 5))):
        kind, at = rng.random(), rng.randrange(len(found) or 1)
        if kind < 0.5 and found:
            found[at] = rng.randrange(256)
        elif kind < 0.7 and found:
            found[at] ^= 1 << rng.randrange(8)
        elif kind < 0.8:
            found[at : at + 8] = rng.randbytes(len(found[at : at + 8]))
        elif kind < 0.9:
            del found[at : at + rng.randrange(1, 40)]
        else:
            found[at:at] = rng.randbytes(rng.randrange(1, 9))
    return bytes(found)


def mutations(path: Path, count: int, rng: random.Random) -> Iterator[None]:
    """Damage a file, or one of a folder, again and again, each time from what it was."""
    files = [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.is_file())
    blobs = [file.read_bytes() for file in files]
    for _ in range(count):
        k = rng.choices(range(len(files)), [len(blob) + 20 for blob in blobs])[0]
        files[k].write_bytes(mutated(blobs[k], rng))
        yield
        files[k].write_bytes(blobs[k])
