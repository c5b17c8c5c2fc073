"""A quadruped stands, then trots: feet that stick to the floor, joint servos, rigid contact by steps."""

import numpy as np

import dalembert as da

LENGTH, FREQUENCY = 0.2, 2.5  # of thigh and calf, m; of the gait, 1/s
HIP, KNEE = 0.8, -1.6  # rad, standing
SWING, LIFT = 0.25, 0.7  # rad: of the hip, of the knee

s = da.System("quadruped")
trunk = s.body("trunk", da.box(0.5, 0.2, 0.1, mass=9.0))
s.connect("base", da.Free(), s.ground, trunk)
s.initial("base", position=[1, 0, 0, 0, 0, 0, 2 * LENGTH * np.cos(HIP) + 0.02])
feet = []
for leg, (x, y, phase) in {"FL": (1, 1, 0.0), "FR": (1, -1, 0.5), "RL": (-1, 1, 0.5), "RR": (-1, -1, 0.0)}.items():
    thigh = s.body(f"{leg} thigh", da.box(0.03, 0.03, LENGTH, mass=0.8))
    calf = s.body(f"{leg} calf", da.box(0.02, 0.02, LENGTH, mass=0.2))
    foot = s.body(f"{leg} foot", da.sphere(0.02, mass=0.05))
    s.connect(f"{leg} hip", da.Revolute("y", armature=0.01), trunk.at(0.2 * x, 0.13 * y, 0), thigh.at(0, 0, LENGTH / 2))
    s.connect(f"{leg} knee", da.Revolute("y", armature=0.01), thigh.at(0, 0, -LENGTH / 2), calf.at(0, 0, LENGTH / 2))
    s.connect(f"{leg} ankle", da.Fixed(), calf.at(0, 0, -LENGTH / 2), foot)
    turn, ramp = f"2*pi*({FREQUENCY}*t + {phase})", "min(max((t - 0.5)/0.4, 0), 1)"
    hip = f"{HIP} + {SWING}*{ramp}*sin({turn})"
    knee = f"{KNEE} - {LIFT}*{ramp}*max(0, -cos({turn}))"  # lifted while the hip swings forward
    s.connect(f"{leg} hip servo", da.PositionServo(hip, 150.0, 4.0), f"{leg} hip")
    s.connect(f"{leg} knee servo", da.PositionServo(knee, 150.0, 4.0), f"{leg} knee")
    s.initial(f"{leg} hip", position=HIP)
    s.initial(f"{leg} knee", position=KNEE)
    feet.append(foot)
s.contact("floor", da.plane(), feet, friction=0.8)

result = da.simulate(s, 3.0, contact="steps:1e-3")
standing = result.at(np.linspace(0.3, 0.5, 21))
slip = standing["floor.slip"].max()
way = result["trunk.position"][:, 0]
weight = 9.81 * sum(body.mass for body in s.bodies.values())

if __name__ == "__main__":
    print(f"standing: {standing['floor.normal'].mean():.1f} N on the floor, weight {weight:.1f} N")
    print(f"feet slip at {slip:.0e} m/s")
    print(f"trotting: {(way[-1] - result.at([1.5])['trunk.position'][0, 0]) / 1.5:.2f} m/s, {way[-1]:.2f} m in all")
    height = result["trunk.position"][:, 2]
    print(f"height of the trunk {height.min():.3f} to {height.max():.3f} m")
    print(result.touching(2.5))
    result.draw(path="quadruped.png", labels=False)
