"""An anchor escapement: a wheel under a steady torque keeps a pendulum swinging, one tooth for each of its periods."""

import numpy as np

import dalembert as da

TEETH, R, DEPTH, PIN, TORQUE = 15, 0.03, 0.0018, 0.0012, 5e-4  # -, m, m, m, N m
SPAN, REACH = 7 * np.pi / TEETH, R + 1.8 * PIN  # pins are 3.5 teeth apart; their distance from the arbor at rest
HEIGHT = REACH / np.cos(SPAN / 2)  # of the pivot: the arms of the anchor are tangents
LENGTH, MASS, G, END = 0.25, 0.5, 9.81, 8.0  # m, kg, m/s2, s


def tooth(angle):
    wave = DEPTH * np.exp(1j * TEETH * angle)
    return R + wave.real, -TEETH * wave.imag, -(TEETH**2) * wave.real


s = da.System("escapement", gravity=(0, -G, 0))
wheel = s.body("wheel", da.cylinder(0.002, R, mass=0.01))
anchor = s.body("anchor", mass=MASS, com=(0, -LENGTH, 0), inertia=(1e-4, 1e-4, 1e-4))
s.connect("arbor", da.Revolute("z"), s.ground, wheel)
s.connect("pivot", da.Revolute("z"), s.ground.at(0, HEIGHT, 0), anchor)
contact = da.CamContact(da.Curve.polar([(2 * np.pi, tooth)]), "roller", 1e5, radius=PIN, restitution=0.2, at_speed=0.05)
for name, side in (("entry", -1), ("exit", 1)):
    x, y = side * np.sin(SPAN / 2), np.cos(SPAN / 2)
    s.connect(name, contact, wheel, anchor.at(REACH * x, REACH * y - HEIGHT, 0))
s.connect("spring", da.Effort(TORQUE), "arbor")
s.connect("air", da.JointSpring(0.0, 5e-4), "pivot")
s.initial("pivot", position=0.04)
s.initial("arbor", position=np.pi / 2 / TEETH)
result = da.simulate(s, END, times=np.linspace(0, END, 4001), rtol=1e-6)
swing, turned = result["pivot.position"], result["arbor.position"]
down = np.flatnonzero((swing[:-1] > 0) & (swing[1:] <= 0))
teeth, period = np.diff(turned[down]) * TEETH / (2 * np.pi), np.diff(result.t[down])
free = 2 * np.pi * np.sqrt((MASS * LENGTH**2 + 1e-4) / (MASS * G * LENGTH))
if __name__ == "__main__":
    print(f"teeth for each period: {teeth.round(4)}\nlargest force of a pin {result['exit.force'].max():.2f} N")
    print(f"period {period[-3:].mean():.4f} s, of the free pendulum {free:.4f} s")
    result.plot("pivot.position", "arbor.position", "exit.force", path="escapement.png")
