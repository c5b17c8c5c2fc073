"""Model files: how long a large one takes to be read and written, beside the same system in Python.

python bench/model_files.py [--bodies 5000] [--json out.json]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dalembert as da


def text(count: int) -> str:
    """Return a chain of bodies as somebody would write it by hand, with units."""
    lines = ["dalembert: 1", "name: chain", "bodies:"]
    shape = "{shape: {type: rod, length: 0.1, mass: 500 g}, markers: {tip: [0.1, 0, 0]}}"
    lines += [f"  b{k}: {shape}" for k in range(count)]
    lines.append("connections:")
    ends = ["ground", *(f"b{k}.tip" for k in range(count - 1))]
    joint = "type: Revolute, axis: y, damping: 0.01"
    lines += [f"  J{k}: {{{joint}, between: [{end}, b{k}]}}" for k, end in enumerate(ends)]
    return "\n".join(lines) + "\n"


def described(count: int) -> da.System:
    """Return the same chain, described in Python."""
    s = da.System("chain")
    end: Any = s.ground
    for k in range(count):
        body = s.body(f"b{k}", da.rod(length=0.1, mass=0.5))
        s.connect(f"J{k}", da.Revolute("y", damping=0.01), end, body)
        end = body.marker("tip", 0.1, 0, 0)
    return s


def least(call: Callable[[], Any], repeat: int = 3) -> float:
    """Return the least processor time of some calls, s."""
    times = []
    for _ in range(repeat):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=5000)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        by_hand, saved = Path(folder) / "by_hand.yaml", Path(folder) / "saved.yaml"
        by_hand.write_text(text(chosen.bodies))
        system = da.load(by_hand)
        found = {
            "described in Python": least(lambda: described(chosen.bodies)),
            "read": least(lambda: da.load(by_hand)),
            "written": least(lambda: da.save(system, saved)),
            "read as written": least(lambda: da.load(saved)),
        }
    print(f"{chosen.bodies} bodies, {by_hand.name}, s of processor time")
    for name, seconds in found.items():
        print(f"  {name:<20} {seconds:.2f}")
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({"bodies": chosen.bodies, **found}, indent=2))


if __name__ == "__main__":
    main()
