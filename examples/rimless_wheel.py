"""A rimless wheel, the simplest walker, goes down a slope: impacts of its feet, against the closed form.

Spokes at 2 alpha from each other, length l, slope gamma. While one foot stands, the wheel is an inverted pendulum; the
next foot lands without bounce and the angular velocity falls by the factor eta = (cos 2 alpha + k) / (1 + k), with
k = I / (m l^2) (McGeer 1990). So after each step

    omega+^2 = eta^2 (omega^2 + 4 g sin(alpha) sin(gamma) / (l (1 + k)))
"""

import numpy as np

import dalembert as da

N_SPOKES, LENGTH, SLOPE, FOOT, MASS = 8, 0.5, 0.12, 1e-3, 5.0
START = 2.0  # rad/s

s = da.System("rimless wheel")
wheel = s.body("wheel", da.cylinder(0.05, 0.1, mass=MASS, axis="y"))
s.connect("track", da.Planar("y"), s.ground, wheel)  # z, x and the angle
s.initial("track", position=[LENGTH + FOOT / np.cos(SLOPE), 0, 0], speed=[0, START * LENGTH, START])
feet = []
for angle in 2 * np.pi * np.arange(N_SPOKES) / N_SPOKES:
    tip = LENGTH * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    wheel.decorate(da.box(0.012, 0.03, LENGTH), *(tip / 2), rotation=da.rotation.axis_angle((0, 1, 0), -angle))
    feet.append((da.sphere(FOOT), wheel.at(*tip)))
road = s.ground.marker("road", rotation=da.rotation.axis_angle((0, 1, 0), SLOPE))
s.contact("road", road, feet, friction=0.9)

result = da.simulate(s, 4.0, contact="steps:5e-4")
alpha, k = np.pi / N_SPOKES, wheel.inertia[1, 1] / (MASS * LENGTH**2)
eta = (np.cos(2 * alpha) + k) / (1 + k)
gain = 4 * 9.81 * np.sin(alpha) * np.sin(SLOPE) / (LENGTH * (1 + k))
steady = eta * np.sqrt(gain / (1 - eta**2))  # rad/s, after each impact

landings = [event.t for event in result.events]
landings = np.array([t for t, before in zip(landings, [-1.0, *landings], strict=False) if t - before > 0.05])
after = result.output("track.angle.speed", landings + 2e-3)

if __name__ == "__main__":
    print(f"{len(landings)} steps; 2 ms after impacts it turns at {after[-3:].round(3)} rad/s")
    print(f"closed form right after impacts: {steady:.4f} rad/s")
    print(f"it went {result['wheel.position'][-1, 0]:.2f} m, and lost {result['energy.impacts'][-1]:.2f} J in impacts")
    result.draw(path="rimless_wheel.png")
