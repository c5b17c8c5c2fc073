"""Counterweights on crank and rod of a slider-crank take all force from its ground (Berkof and Lowen 1969)."""

import numpy as np

import dalembert as da

RADIUS, LENGTH, PISTON, ROD = 0.1, 0.4, 0.5, 1.0

s = da.System("slider-crank", gravity=(0, 0, 0))
crank, rod = s.body("crank", da.rod(RADIUS, 2.0)), s.body("rod", da.rod(LENGTH, ROD))
piston = s.body("piston", da.box(0.05, 0.05, 0.05, mass=PISTON))
s.connect("A", da.Revolute("z"), s.ground, crank)
s.connect("B", da.Revolute("z"), crank.at(RADIUS, 0, 0), rod)
s.connect("C", da.Revolute("z"), rod.at(LENGTH, 0, 0), piston)
s.connect("D", da.Prismatic("x"), s.ground, piston)
s.drive("A", position=da.Polynomial((0.0, 2 * np.pi * 10)))  # ten turns a second

turn = {"t_end": 0.1, "times": np.linspace(0, 0.1, 73)}


def shaking(model: da.Model) -> np.ndarray:
    """Return the force of the ground on the mechanism, (n, 2) N, through bearing and slide."""
    run = da.simulate(model, **turn)
    return (run["A.force"] + run["D.force"])[:, :2]


found = da.optimize(
    s,
    {"crank.com.x": (-0.2, 0.1), "rod.com.x": (-0.3, 0.3)},
    minimize=lambda o: (o["centre"] - o["centre"][0]).ravel(),
    outputs={"centre": "center_of_mass"},
    **turn,
)
exact = {"rod.com.x": -PISTON * LENGTH / ROD, "crank.com.x": -(ROD + PISTON) * RADIUS / 2.0}
before, after = shaking(s.compile()), shaking(found.best_model())

if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(found)
    print("by hand:", exact)
    print(f"shaking force up to {np.abs(before).max():.0f} N before, {np.abs(after).max():.2g} N after")
    picture, axes = plt.subplots(figsize=(7, 3.6))
    axes.plot(*before.T, label="before")
    axes.plot(*after.T, "o", label="balanced")
    axes.set(xlabel="force along the slide [N]", ylabel="force across it [N]", aspect="equal")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
    picture.tight_layout()
    picture.savefig("balancing.png", dpi=120)
