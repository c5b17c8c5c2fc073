"""A ball is thrown into a hoop over a bounce: the throw by Newton's method with derivatives across the impact."""

import numpy as np

import dalembert as da

RADIUS, END = 0.12, 1.3  # m; s: time at which it shall pass the hoop
HOOP, DRIFT = np.array([2.6, 1.1]), 1.0  # place, m, and horizontal velocity there, m/s: the spin decides it

s = da.System("throw")
ball = s.body("ball", da.sphere(RADIUS, mass=0.6))
s.connect("flight", da.Free(), s.ground, ball)
s.initial("flight", position=[1, 0, 0, 0, 0, 0, 1.8])
s.contact("floor", da.plane(), ball, friction=0.5, restitution=0.8)
hoop = s.body("hoop", da.tube(0.02, 0.23, 0.21, mass=0.5), color="orange")  # it is not touched
s.connect("post", da.Fixed(), s.ground.at(HOOP[0], 0, HOOP[1]), hoop)
model = s.compile()

OUTPUTS = {name: (f"ball.{name}", "final") for name in ("position.x", "position.z", "velocity.x")}
throw = {"flight.vx.speed": 2.0, "flight.vz.speed": -3.0, "flight.wy.speed": 0.0}
misses = []
for _ in range(12):
    found = da.sensitivity(model, OUTPUTS, list(throw), END, state=throw)
    miss = np.array([float(found.values[name]) for name in OUTPUTS]) - [*HOOP, DRIFT]
    misses.append(float(np.abs(miss).max()))
    if misses[-1] < 1e-9:
        break
    step = np.linalg.solve(np.array([found[name] for name in OUTPUTS]), -miss)
    step *= min(1.0, 1.0 / np.abs(step / [1.0, 1.0, 20.0]).max())  # at most 1 m/s and 20 rad/s at once
    throw = {name: value + float(change) for (name, value), change in zip(throw.items(), step, strict=True)}
result = da.simulate(model, END, state=throw, rtol=1e-10, atol=1e-12)
bounces = [event for event in result.events if "impact" in event.name]

if __name__ == "__main__":
    print("largest miss:", ", ".join(f"{miss:.1e}" for miss in misses))
    print(", ".join(f"{name} {value:.6f}" for name, value in throw.items()))
    print(found)
    for event in bounces:
        print(f"{event.name} at {event.t:.4f} s, {event.message}")
    result.draw(path="bounce_throw.png", labels=False)
