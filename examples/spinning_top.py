"""A heavy top in steady precession, at the rate that Euler's equations ask for: it keeps its tilt."""

import numpy as np

import dalembert as da

mass, arm, tilt, spin = 0.5, 0.05, np.radians(35), 150.0  # kg, m, rad, rad/s about its own axis

system = da.System("top")
top = system.body("top", da.cylinder(length=0.02, radius=0.05, mass=mass))
system.connect("tip", da.Spherical(), system.ground, top.at(0, 0, -arm))
axial, across = top.inertia[2, 2], top.inertia[0, 0] + mass * arm**2  # moments of inertia about the tip, kg m2

# across cos(tilt) rate^2 - axial spin rate + mass g arm = 0; the slow one of the two
a, b, c = across * np.cos(tilt), -axial * spin, mass * 9.81 * arm
rate = (-b - np.sqrt(b * b - 4 * a * c)) / (2 * a)
leaning = (np.cos(tilt / 2), 0.0, -np.sin(tilt / 2), 0.0)
system.initial("tip", position=leaning, speed=(rate * np.sin(tilt), 0.0, spin))

result = da.simulate(system, 2.0)
center = result["top.position"]
angle = np.arccos(center[:, 2] / arm)
turned = np.unwrap(np.arctan2(center[:, 1], center[:, 0]))

if __name__ == "__main__":
    print(f"precession {np.ptp(turned) / 2.0:.8f} rad/s, by Euler {rate:.8f} rad/s")
    print(f"the tilt stays at {np.degrees(angle.mean()):.6f} degrees to {np.degrees(np.ptp(angle)):.1e}")
    print(
        f"spin kept to {np.ptp(result['tip.wz']):.1e} rad/s, energy to {np.abs(result['energy.balance']).max():.1e} J"
    )
    result.animate("spinning_top.gif", fps=20, trace=["top.at(0, 0, 0.05)"], size=(4, 4))
