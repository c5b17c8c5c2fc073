"""Valve float: above a speed the spring does not hold the tappet on its cam; it flies, and lands again."""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as da
from dalembert.library import Cam, FollowerMotion

MASS, STIFFNESS, PRELOAD, LIFT = 0.12, 3e4, 200.0, 0.009  # kg, N/m, N, m
rise = FollowerMotion([(1.1, LIFT, "polynomial345"), (1.1, 0.0, "polynomial345"), (2 * np.pi - 2.2, 0.0)])
cam = Cam(rise, base_radius=0.04, follower="flat")


def valve(speed):
    s = da.System("valve", gravity=(0, 0, 0))
    shaft = s.body("shaft", da.prism(cam.outline, 0.01, density=7850.0))
    tappet = s.body("tappet", da.cylinder(0.03, 0.015, mass=MASS, axis="y"))
    s.connect("cam", da.Revolute("z"), s.ground, shaft)
    s.connect("guide", da.Prismatic("y"), s.ground.at(0, cam.rest, 0), tappet)
    s.connect("spring", da.JointSpring(STIFFNESS, 0.0, -PRELOAD / STIFFNESS), "guide")
    s.connect("contact", da.CamContact(cam.profile, "flat", 5e7, restitution=0.4), shaft, tappet)
    s.drive("cam", speed=speed)
    return da.simulate(s, 2 * np.pi / speed, times=np.linspace(0, 2 * np.pi / speed, 1001), rtol=1e-7)


angle = np.linspace(0, 2.2, 2001)
pull, slowing = STIFFNESS * rise.lift(angle) + PRELOAD, -MASS * rise.lift(angle, 2)
limit = np.sqrt((pull[slowing > 0] / slowing[slowing > 0]).min())  # rad/s
speeds = limit * np.array([0.9, 0.95, 1.05, 1.2])
results = [valve(speed) for speed in speeds]
flight = np.array([result["contact.gap"].max() for result in results])
holds, floats = speeds[flight < 2e-5], speeds[flight >= 2e-5]

if __name__ == "__main__":
    print(f"by the lift and the spring the valve floats above {limit * 30 / np.pi:.0f} turns a minute")
    print("turns a minute", (speeds * 30 / np.pi).round(), "\nmm off the cam", (1e3 * flight).round(3))
    turn = results[-1]["cam.position"]
    plt.plot(np.degrees(turn), 1e3 * np.stack([results[-1]["guide.position"], rise.lift(turn)]).T)
    plt.gca().set(xlabel="cam, degrees", ylabel="lift, mm", title="Valve float")
    plt.savefig("valve_float.png", dpi=100)
