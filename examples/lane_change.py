"""A double lane change at 90 km/h on Magic Formula tyres, beside the linear single-track model."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lsim

import dalembert as da

MASS, YAW, SPEED = 1200.0, 1900.0, 25.0  # of the body, kg and kg m2; m/s
FRONT, REAR, SIDE, RADIUS = 1.2, 1.4, 0.75, 0.313  # axles and wheels from the centre of mass, m
TYRE = {
    "FNOMIN": 4000.0, "UNLOADED_RADIUS": RADIUS, "VERTICAL_STIFFNESS": 2e5, "VERTICAL_DAMPING": 2000.0,
    "PCX1": 1.685, "PDX1": 1.21, "PEX1": 0.344, "PKX1": 21.51, "RBX1": 12.35, "RBX2": -10.77, "RCX1": 1.092,
    "PCY1": 1.193, "PDY1": -0.99, "PEY1": -1.003, "PKY1": -14.95, "PKY2": 2.13, "RBY1": 6.461, "RBY2": 4.196,
    "RCY1": 1.081, "QBZ1": 8.964, "QBZ9": 18.47, "QCZ1": 1.18, "QDZ1": 0.1, "QEZ1": -1.609,
}  # fmt: skip
t = np.linspace(0.0, 9.0, 901)
steer = 0.015 * (
    np.where((t > 1) & (t < 3), np.sin(np.pi * (t - 1)), 0) - np.where((t > 4) & (t < 6), np.sin(np.pi * t), 0)
)

s = da.System("lane change")
car = s.body("car", da.box(4.0, 1.4, 0.4, mass=MASS), inertia=(500.0, 1700.0, YAW))
s.place(car, position=(0, 0, 0.5), velocity=(SPEED, 0, 0))
tyre = da.MagicFormulaTyre(TYRE, relaxation=(0.3, 0.5))
for name, x, y in (("fl", FRONT, SIDE), ("fr", FRONT, -SIDE), ("rl", -REAR, SIDE), ("rr", -REAR, -SIDE)):
    hub = s.body(f"hub_{name}", mass=15.0, inertia=(0.3, 0.3, 0.3))
    wheel = s.body(f"wheel_{name}", da.cylinder(0.2, RADIUS, mass=20.0, axis="y"))
    s.connect(f"travel_{name}", da.Prismatic("z"), car.at(x, y, RADIUS - 0.52), hub)
    load = MASS * 9.81 / 2 * (REAR if x > 0 else FRONT) / (FRONT + REAR)
    s.connect(f"spring_{name}", da.JointSpring(stiffness=4e4, damping=3e3, rest=-load / 4e4), f"travel_{name}")
    if x > 0:
        knuckle = s.body(f"knuckle_{name}", mass=5.0, inertia=(0.1, 0.1, 0.1))
        s.connect(f"steer_{name}", da.Revolute("z"), hub, knuckle)
        s.drive(f"steer_{name}", position=da.Spline(t, steer))
    s.connect(f"spin_{name}", da.Revolute("y"), knuckle if x > 0 else hub, wheel)
    s.initial(f"spin_{name}", speed=SPEED / 0.295)
    s.connect(f"tyre_{name}", tyre, s.ground, wheel)
result = da.simulate(s, t[-1], times=t, rtol=1e-6)
rate = result["car.angular_velocity.z"]

mass, yaw = MASS + 150.0, YAW + 160.0 * (1.3**2 + SIDE**2)  # with wheels
loads = np.array([REAR, FRONT]) * mass * 9.81 / (FRONT + REAR) / 2
front, rear = 2 * 14.95 * 4e3 * np.sin(2 * np.arctan(loads / (2.13 * 4e3)))  # N/rad of an axle
turning = (FRONT * front - REAR * rear) / SPEED
damping = (FRONT**2 * front + REAR**2 * rear) / SPEED
A = [[-(front + rear) / SPEED / mass, -turning / mass - SPEED], [-turning / yaw, -damping / yaw]]
linear = lsim((A, [[front / mass], [FRONT * front / yaw]], [[0, 1]], 0), steer, t)[1]

print(f"largest yaw rate {abs(rate).max():.4f} rad/s, of the linear model {abs(linear).max():.4f} rad/s")
print(f"largest lateral acceleration {abs(rate).max() * SPEED / 9.81:.2f} g")
print(f"the car moves by {result['car.position.y'].max():.2f} m to the left; {result.stats.steps} steps")
_, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
axes[0].plot(t, rate, t, linear, "--")
axes[0].legend(["Magic Formula", "linear single-track model"], title="yaw rate, rad/s")
axes[1].plot(t, np.stack([result[f"tyre_{name}.Fy"] for name in ("fl", "fr", "rl", "rr")], axis=1) / 1e3)
axes[1].legend(["front left", "front right", "rear left", "rear right"])
axes[1].set(xlabel="t, s", ylabel="lateral force, kN")
plt.savefig("lane_change.png")
