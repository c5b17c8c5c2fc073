"""A double pendulum with a torque at each joint is swung up in least time."""

import numpy as np

import dalembert as da

s = da.System("double pendulum")
upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(1.0, 1.0))
s.connect("A", da.Revolute("y"), s.ground, upper)
s.connect("B", da.Revolute("y"), upper.at(1, 0, 0), lower)

hanging = {"A": np.pi / 2}
up = {"A": -np.pi / 2, "B": 0.0, "A.speed": 0.0, "B.speed": 0.0}
found = da.optimal_motion(s, up, {"A": (-8, 8), "B": (-8, 8)}, (0.5, 6.0), state=hanging, steps=30)

if __name__ == "__main__":
    print(found)
    found.plot(path="swing_up.png")
