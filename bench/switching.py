"""Cost of monitoring switching functions: contacts that stay open, beside smooth forces of the same size.

    python bench/switching.py [--rounds 9]

A chain of 7 links swings above a floor that it does not reach, with 0, 1, 10 and 100 contacts between its links and
the floor. Each contact is one switching function, ``k*max(r - z, 0)``; beside it the same forces without one, ``max``
replaced by a smooth formula. What the monitor adds is the difference of the two per step. In batches, eight runs at
once.
"""

from __future__ import annotations

import argparse

import numpy as np
from timing import race

import dalembert as da
from dalembert.library import chain

COUNTS = (0, 1, 10, 100)
LAWS = {"switching": "k*max(r - z, 0)", "smooth": "k*0.5*(r - z + sqrt((r - z)*(r - z) + 1e-12))"}


def swinging(contacts: int, law: str) -> da.Model:
    """Return the chain with forces between its links and the floor, 20 m below."""
    s = chain(7)
    links = list(s.bodies.values())
    for k in range(contacts):
        element = da.Element("place", (0.0, 0.0, law), {"k": 1e5, "r": 0.05})
        s.connect(f"contact_{k}", element, s.ground.at(0, 0, -20.0), links[k % 7].at(0.05 * (k // 7 % 10), 0, 0))
    s.initial(next(iter(s.connections)), position=0.7)
    return s.compile()


def print_switching(rounds: int) -> None:
    """Print times of runs, and ratios."""
    print(f"1 s of a chain of 7 with contacts that stay open, one thread, {da.isa}")
    columns = (("contacts", 8), ("steps", 7), ("us per step", 13), ("smooth", 9), ("ratio", 8), ("batch of 8", 12))
    print("".join(f"{title:>{width}s}" for title, width in (*columns, *columns[3:5])))
    for count in COUNTS:
        models = {name: swinging(count, law) for name, law in LAWS.items()}
        steps = {name: da.simulate(model, 1.0, method="dop853").stats.steps for name, model in models.items()}
        runs = {}
        for name, model in models.items():
            begin = da.simulate(model, 1e-3, method="dop853").final_state
            state = da.State(q=np.tile(begin.q, (8, 1)), v=np.tile(begin.v, (8, 1)))
            runs[name] = lambda model=model: da.simulate(model, 1.0, method="dop853", times=[0.0, 1.0])
            runs[f"{name}, batch"] = lambda model=model, state=state: da.simulate(
                model, 1.0, state=state, method="dop853", times=[0.0, 1.0]
            )
        times = {name: 1e6 * timing.minimum for name, timing in race(runs, rounds=rounds).items()}
        single = [times[name] / steps[name] for name in LAWS]
        many = [times[f"{name}, batch"] / 8 / steps[name] for name in LAWS]
        print(
            f"{count:8d}{steps['switching']:7d}{single[0]:13.2f}{single[1]:9.2f}{single[0] / single[1]:7.2f}x"
            f"{many[0]:12.2f}{many[1]:9.2f}{many[0] / many[1]:7.2f}x"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    print_switching(parser.parse_args().rounds)
