"""A Geneva drive indexes a table by quarters of a turn; its pin strikes the slots across their play."""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as da
from dalembert.library import geneva_angle

SLOTS, DISTANCE, SPEED, INERTIA = 4, 0.1, 10.0, 2e-3  # -, m, rad/s, kg m2

s = da.System("indexing table", gravity=(0, 0, 0))
driver = s.body("driver", da.rod(DISTANCE * np.sin(np.pi / SLOTS), mass=0.2))
table = s.body("table", da.cylinder(0.01, 0.07, mass=0.8), inertia=(INERTIA, INERTIA, INERTIA))
s.connect("crank", da.Revolute("z"), s.ground, driver)
s.connect("axle", da.Revolute("z"), s.ground.at(DISTANCE, 0, 0), table)
drive = da.GenevaContact(SLOTS, DISTANCE, 1e6, play=4e-5, dissipation=10.0)
s.connect("geneva", drive, table.at(rotation=("z", np.pi)), driver)  # at angle zero a slot points at the driver
s.connect("bearing", da.CoulombFriction(0.02, slip_speed=0.01), "axle")
s.initial("crank", position=-np.pi)
s.initial("axle", position=np.pi / SLOTS)
s.drive("crank", speed=SPEED)
result = da.simulate(s, 4 * np.pi / SPEED, times=np.linspace(0, 4 * np.pi / SPEED, 2001))
ideal = geneva_angle(SLOTS, result["crank.position"])
error = result["axle.position"] - ideal

if __name__ == "__main__":
    print(f"two turns of the crank turn the table by {np.degrees(np.ptp(result['axle.position'])):.3f} degrees")
    print(f"off the ideal drive by {1e3 * np.abs(error).max():.2f} mrad")
    print(f"largest force of the pin {result['geneva.pin_force'].max():.0f} N")
    figure, (top, bottom) = plt.subplots(2, sharex=True, layout="constrained")
    top.plot(result.t, np.degrees(result["axle.position"]))
    top.set(ylabel="table, degrees", title="Geneva drive")
    bottom.plot(result.t, result["geneva.pin_force"], lw=0.5)
    bottom.set(xlabel="time, s", ylabel="force of the pin, N")
    figure.savefig("geneva_drive.png", dpi=100)
