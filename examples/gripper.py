"""A gripper closes on a crate and lifts it: friction of two fingers, servos, rigid contact by steps."""

import numpy as np

import dalembert as da

MASS, GRIP, FRICTION = 0.8, 12.0, 0.5  # kg; closing force of either finger, N: more than m g / (2 mu) = 7.8 N
RISE = 0.15  # m

s = da.System("gripper")
crate = s.body("crate", da.box(0.06, 0.05, 0.08, mass=MASS), color="orange")
s.place(crate, position=(0.004, 0, 0.04))  # not quite in the middle
hand = s.body("hand", da.box(0.2, 0.06, 0.03, mass=1.0))
s.connect("lift", da.Prismatic("z"), s.ground.at(0, 0, 0.19), hand)
s.connect("lift servo", da.PositionServo(f"{RISE}*min(max((t - 0.5)/0.5, 0), 1)", 4e4, 800.0), "lift")
fingers = []
for name, side in (("left", -1), ("right", 1)):
    finger = s.body(f"{name} finger", da.box(0.015, 0.04, 0.12, mass=0.1))
    s.connect(f"{name} slide", da.Prismatic("x"), hand.at(0.06 * side, 0, -0.08), finger)
    far = -side * 1.0  # the setpoint is out of reach: the servo presses with its largest force
    s.connect(f"{name} servo", da.PositionServo(far, 1e3, 30.0, limit=GRIP), f"{name} slide")
    fingers.append(finger)
s.contact("grip", fingers, crate, friction=FRICTION)
s.contact("table", da.plane(), crate, friction=0.3)

result = da.simulate(s, 1.5, contact="steps:1e-3")
height = result["crate.position"][:, 2] - 0.04
held = result.at(np.linspace(1.2, 1.5, 31))

if __name__ == "__main__":
    print(f"the crate is lifted by {height[-1]:.4f} m, the hand by {result['lift.position'][-1]:.4f} m")
    print(f"left finger {np.linalg.norm(held['grip/left finger/crate.normal'][-1]):.3f} N, grip {GRIP} N")
    print(f"friction of both carries {held['grip.force'][:, 2].mean():.4f} N, weight {MASS * 9.81:.4f} N")
    print(f"largest slip while it is held {held['grip.slip'].max():.1e} m/s")
    result.draw(path="gripper.png")
