"""Inertial parameters of an arm of three joints from measured motions and torques, with their confidence.

Thirty parameters (mass, first moments, inertias of three bodies) act in fifteen combinations only (Gautier 1991).
"""

import numpy as np

import dalembert as da

NOISE = 0.05  # N m

s = da.System("arm")
end = s.ground
for k, axis in enumerate(("z", "y", "y")):
    link = s.body(f"link{k + 1}", da.rod(0.4, 3.0 - k, axis="x"))
    s.connect(f"j{k + 1}", da.Revolute(axis), end, link)
    end = link.at(0.4, 0, 0)

t = np.linspace(0.0, 6.0, 241)
angles = {f"j{k}": 0.8 * np.sin((0.9 + 0.6 * k) * t + k) + 0.4 * np.sin(3.1 * t * (1 + 0.2 * k)) for k in (1, 2, 3)}
motion = da.measured_motion(s, t, angles)
tau = da.inverse_dynamics(s, motion).tau + NOISE * np.random.default_rng(0).standard_normal((len(t), 3))
Y = np.array([da.regressor(s, *row) for row in zip(motion.q, motion.v, motion.a, strict=True)])
found = da.identify(Y, tau, da.inertial_parameter_names(s))
truth = found.combination @ da.inertial_parameters(s)

if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(f"{len(found.names)} of {Y.shape[2]} can be told; noise {found.noise:.4f} N m")
    for name, value, error, true in zip(found.names, found.values, found.errors, truth, strict=True):
        print(f"{name:18s} {value:9.5f} +- {error:.5f}   true {true:9.5f}")
    picture, axes = plt.subplots(figsize=(7, 3.8))
    place = np.arange(len(truth))
    axes.errorbar(
        place, (found.values - truth) / found.errors, np.diff(found.interval())[:, 0] / 2 / found.errors, fmt="o"
    )
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(place, found.names, rotation=60, ha="right")
    axes.set_ylabel("off, in standard errors, and 95 %")
    picture.tight_layout()
    picture.savefig("arm_identification.png", dpi=120)
