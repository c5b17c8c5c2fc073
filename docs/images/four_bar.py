"""Draw docs/images/four_bar.png, the picture of the README: python docs/images/four_bar.py."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import dalembert as da

s = da.System("four-bar", gravity=(0, 0, -9.81))
crank = s.body("crank", da.rod(length=0.1, mass=0.5))
coupler = s.body("coupler", da.rod(length=0.4, mass=1.0))
rocker = s.body("rocker", da.rod(length=0.3, mass=0.8))
s.connect("A", da.Revolute("y"), s.ground, crank)
s.connect("B", da.Revolute("y"), crank.at(0.1, 0, 0), coupler)
s.connect("C", da.Revolute("y"), coupler.at(0.4, 0, 0), rocker.at(0.3, 0, 0))
s.connect("D", da.Revolute("y"), s.ground.at(0.35, 0, 0), rocker)
s.connect("k", da.SpringDamper(stiffness=100, damping=1, length=0.3), coupler.at(0.2, 0, 0), s.ground.at(0, 0, 0.5))
s.drive("A", speed=10.0)
result = da.simulate(s, 0.68)

figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.4), width_ratios=(1.25, 1))
s.draw(result.q, trace=["coupler.at(0.2, 0, 0.05)"], labels=False, ax=left)
left.set_title("s.draw(result.q, trace=...)", fontsize=9)
result.plot("A.effort", ax=right)
right.set_title('result.plot("A.effort")', fontsize=9)
figure.tight_layout()
figure.savefig(Path(__file__).with_suffix(".png"), dpi=100)
