"""Balls roll down a hilly slope and meet each other: contact with a height field, by steps."""

import numpy as np

import dalembert as da

RADIUS, N_BALLS = 0.06, 6


def height(x, y):
    """Return the height of the land, m."""
    return -0.25 * x + 0.05 * np.cos(4.0 * x) * np.cos(5.0 * y) + 0.25 * y**2


x, y = np.meshgrid(np.linspace(-2.0, 2.0, 81), np.linspace(-1.0, 1.0, 41), indexing="ij")
s = da.System("ball run")
balls = [s.body(f"ball {k}", da.sphere(RADIUS, mass=0.5)) for k in range(N_BALLS)]
for k, ball in enumerate(balls):
    at = -1.8 + 0.05 * k, 0.25 * (k - (N_BALLS - 1) / 2)
    s.place(ball, position=(*at, height(*at) + 2 * RADIUS))
s.contact("land", da.height_field(height(x, y), size=(4.0, 2.0)), balls, friction=0.5, restitution=0.3)
s.contact("balls", balls, balls, friction=0.3, restitution=0.6)

result = da.simulate(s, 2.0, contact="steps:2e-3")
ends = np.array([result[f"{ball.name}.position"][-1] for ball in balls])
travelled = [np.linalg.norm(np.diff(result[f"{ball.name}.position"], axis=0), axis=1).sum() for ball in balls]

if __name__ == "__main__":
    for ball, end, way in zip(balls, ends, travelled, strict=True):
        print(f"{ball.name}: {way:.2f} m to x = {end[0]:+.2f}, y = {end[1]:+.2f} m")
    lost, rubbed = result["energy.impacts"][-1], result["energy.friction"][-1]
    print(f"{len(result.events)} impacts, {lost:.3f} J lost, {rubbed:.3f} J by friction")
    print(result.touching(2.0))
    result.draw(path="ball_run.png")
