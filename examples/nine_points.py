"""A crank-rocker whose coupler point goes through nine points: problem 3 of Wampler, Morgan and Sommese (1992)."""

import numpy as np

import dalembert as da

points = np.array(
    [(0.25, 0), (0.52, 0.1), (0.8, 0.7), (1.2, 1.0), (1.4, 1.3), (1.1, 1.48), (0.7, 1.4), (0.2, 1.0), (0.02, 0.4)]
)
near = {"ax": 0.0, "ay": 0.0, "dx": 2.0, "dy": 0.1, "r1": 0.7, "r2": 2.0, "r3": 1.5, "px": 1.0, "py": 0.5}

s = da.System("four-bar", gravity=(0, 0, 0))
ax, ay, dx, dy, r1, r2, r3, px, py = (s.parameter(name, value) for name, value in near.items())
crank, coupler, rocker = s.body("crank"), s.body("coupler"), s.body("rocker")
s.connect("A", da.Revolute("z"), s.ground.at(ax, ay, 0), crank)
s.connect("B", da.Revolute("z"), crank.at(r1, 0, 0), coupler)
s.connect("D", da.Revolute("z"), s.ground.at(dx, dy, 0), rocker)
s.connect("C", da.Revolute("z"), coupler.at(r2, 0, 0), rocker.at(r3, 0, 0))
coupler.marker("P", px, py, 0)

bounds = {name: (-2, 3) if name[0] in "ad" else (0.1, 3) if name[0] == "r" else (-3, 3) for name in near}
found = da.synthesize(s, bounds, {"coupler.P": points}, drive="A", defects="avoid")

if __name__ == "__main__":
    print(found[0])
    found[0].plot(path="nine_points.png")
