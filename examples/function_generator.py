"""A four-bar that computes a logarithm, exact at five pairs of angles, from random starts (Freudenstein 1955)."""

import numpy as np

import dalembert as da

s = da.System("function generator", gravity=(0, 0, 0))
b, beta, c, d, delta = (s.parameter(name, 1.0) for name in ("b", "beta", "c", "d", "delta"))
crank, coupler, rocker = s.body("crank"), s.body("coupler"), s.body("rocker")
s.connect("A", da.Revolute("z"), s.ground, crank)
s.connect("B", da.Revolute("z"), crank.at(b * np.cos(beta), b * np.sin(beta), 0), coupler)
s.connect("D", da.Revolute("z"), s.ground.at(1, 0, 0), rocker)
s.connect("C", da.Revolute("z"), coupler.at(c, 0, 0), rocker.at(d * np.cos(delta), d * np.sin(delta), 0))

span = np.radians(60)  # of each link, while x goes from 1 to 2
x = 1.5 - 0.5 * np.cos(np.pi * (2 * np.arange(5) + 1) / 10)  # Chebyshev's points
angles = {"crank.angle": span * (x - 1), "rocker.angle": span * np.log2(x)}
bounds = {"b": (0.1, 10), "c": (0.1, 10), "d": (0.1, 10), "beta": (-np.pi, np.pi), "delta": (-np.pi, np.pi)}
found = da.synthesize(s, bounds, angles, drive="A", defects="avoid")

every = np.linspace(1, 2, 101)
motion = da.kinematics(found[0].model, drive="A", values=span * (every - 1), state=found[0].q[0])
error = np.degrees(motion["D.position"] - span * np.log2(every))

if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(found[0])
    print(f"between the five angles the rocker is off by {np.abs(error).max():.2g} degrees of 60")
    picture, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    found[0].plot(ax=left)
    right.plot(every, error)
    right.plot(x, 0 * x, "o", color="black")
    right.set(xlabel="x", ylabel="error of the rocker [degrees]")
    picture.tight_layout()
    picture.savefig("function_generator.png", dpi=120)
