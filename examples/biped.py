"""A biped shifts its weight, is pushed while it stands on one leg, and squats: joint servos, rigid contact by steps."""

import numpy as np

import dalembert as da

LEG, SOLE, WIDTH = 0.35, 0.03, 0.16  # m: of thigh and shank, height of the ankle, between the legs
BEND, LIFT = 0.35, 0.30  # rad: thigh and shank lean by this; more of the lifted leg
SHIFT = 0.115  # rad: roll of the legs that brings the weight over one foot
PUSH = 6.0  # N, sideways, while it stands on one leg


def ramp(begin: float, end: float) -> str:
    """Return a formula that rises from 0 to 1 between two times, s, with zero rates at both ends."""
    return f"(0.5 - 0.5*cos(pi*min(max((t - {begin})/{end - begin}, 0), 1)))"


s = da.System("biped")
pelvis = s.body("pelvis", da.box(0.14, 0.22, 0.12, mass=8.0))
trunk = s.body("trunk", da.box(0.12, 0.20, 0.3, mass=6.0), color="orange")
s.connect("waist", da.Fixed(), pelvis.at(0, 0, 0.06), trunk.at(0, 0, -0.15))
s.connect("base", da.Free(), s.ground, pelvis)
s.initial("base", position=[1, 0, 0, 0, 0, 0, SOLE + 2 * LEG * np.cos(BEND) + 0.06])
roll = f"{SHIFT}*({ramp(0.5, 1.5)} - {ramp(3.0, 4.0)})"  # over the left foot, and back
lift = f"{LIFT}*({ramp(1.6, 2.1)} - {ramp(2.4, 2.9)})"
squat = f"{BEND}*(1 + {ramp(4.2, 4.8)} - {ramp(4.8, 5.4)})"
feet = []
for side, y, bend in (("left", 0.5 * WIDTH, squat), ("right", -0.5 * WIDTH, f"({squat} + {lift})")):
    hip = s.body(f"{side} hip", da.sphere(0.03, mass=0.4))
    thigh, shank = (s.body(f"{side} {n}", da.capsule(LEG - 0.08, 0.03, mass=1.6, axis="z")) for n in ("thigh", "shank"))
    ankle = s.body(f"{side} ankle", da.sphere(0.02, mass=0.2))
    foot = s.body(f"{side} foot", da.box(0.2, 0.1, SOLE, mass=0.5))
    for joint, axis, first, second, target, start in (
        ("hip roll", "x", pelvis.at(0, y, -0.06), hip, f"-{roll}", 0.0),
        ("hip pitch", "y", hip, thigh.at(0, 0, 0.5 * LEG), f"-{bend}", -BEND),
        ("knee", "y", thigh.at(0, 0, -0.5 * LEG), shank.at(0, 0, 0.5 * LEG), f"2*{bend}", 2 * BEND),
        ("ankle pitch", "y", shank.at(0, 0, -0.5 * LEG), ankle, f"-{bend}", -BEND),
        ("ankle roll", "x", ankle, foot.at(-0.02, 0, 0.5 * SOLE), roll, 0.0),
    ):
        s.connect(f"{side} {joint}", da.Revolute(axis, armature=0.1), first, second)
        s.connect(f"{side} {joint} servo", da.PositionServo(target, 4000.0, 60.0), f"{side} {joint}")
        s.initial(f"{side} {joint}", position=start)
    feet.append(foot)
s.connect("push", da.Load(force=(0, lambda t: PUSH * max(0.0, 1.0 - abs(t - 2.25) / 0.1), 0)), trunk)
s.contact("floor", da.plane(), feet, friction=0.8)

result = da.simulate(s, 6.0, contact="steps:1e-3")
one_leg = result.at(np.linspace(2.12, 2.38, 27))
weight = 9.81 * sum(body.mass for body in s.bodies.values())
pressure = abs(one_leg["floor/left foot.point"] - one_leg["left foot.position"])[:, 1].max()
lean = np.degrees(abs(result["trunk.bryant"][:, :2]).max())
if __name__ == "__main__":
    print(f"weight {weight:.1f} N, at the end {result['floor.normal'][-1]:.1f} N on the floor")
    print(f"on one leg the centre of pressure is {1e3 * pressure:.0f} mm off, the sole 50 mm wide to either side")
    print(f"the foot slips at {one_leg['floor/left foot.slip'].max():.1e} m/s, the trunk leans by {lean:.2f} degrees")
    result.draw(path="biped.png", labels=False)
