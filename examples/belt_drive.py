"""A belt drive under a growing load: creep at first, then slip at the limit of Euler and Eytelwein."""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as da

EA, MU, TENSION, R1, R2, C, W = 3e4, 0.35, 300.0, 0.05, 0.1, 0.35, 150.0  # N, -, N, m, m, m, rad/s
LOAD = 20.0  # N m/s

s = da.System("belt drive", gravity=(0, 0, 0))
motor = s.body("motor", da.cylinder(0.04, R1, mass=1.0))
fan = s.body("fan", da.cylinder(0.04, R2, mass=6.0))
s.connect("M", da.Revolute("z"), s.ground, motor)
s.connect("F", da.Revolute("z"), s.ground.at(C, 0, 0), fan)
pulleys = [da.Pulley(R1, friction=MU), da.Pulley(R2, friction=MU)]
belt = da.BeltDrive(pulleys, EA, tension=TENSION, positions=[(0, 0), (C, 0)], density=0.1, slip_speed=1.0)
s.connect("belt", belt, s.ground, motor, fan)
s.drive("M", speed=W)
s.connect("load", da.Effort(lambda t: -LOAD * t), "F")
s.initial("F", speed=W * R1 / R2)
result = da.simulate(s, 1.42, times=np.linspace(0, 1.42, 711))

t1, t2 = (result[f"belt.tension{k}"] - 0.1 * (R1 * W) ** 2 for k in (1, 2))  # that press on the pulley
ratio = np.maximum(t1, t2) / np.minimum(t1, t2)
limit = np.exp(MU * result["belt.angle1"])
loss = 1 - result["F.speed"] * R2 / (W * R1)
slips = result.t[np.abs(result["belt.slip1"]) > 1e-3]

if __name__ == "__main__":
    print(f"limit of the ratio of tensions {limit[0]:.3f}; reached {ratio.max():.3f}")
    print(f"creep before it slips {100 * loss[result.t < slips[0]].max():.2f} %, with {LOAD * slips[0]:.1f} N m")
    print(f"speed of slip at the end {abs(result['belt.slip1'][-1]):.2f} m/s")
    figure, axes = plt.subplots(layout="constrained")
    axes.plot(LOAD * result.t, 100 * loss)
    axes.set(xlabel="load, N m", ylabel="loss of speed, %", title="Creep and slip of a belt")
    figure.savefig("belt_drive.png", dpi=100)
