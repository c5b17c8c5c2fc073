"""The fuel injection pump of Sol (1983): films of oil carry the plunger and drive the roller on its cam."""

import numpy as np

import dalembert as da

kinematic = da.library.fuel_injection_pump(films=False)  # the roller rolls without slip
rolling = da.simulate(kinematic, 0.0267)
spin = rolling["pin.speed"] - rolling["shaft.speed"]  # relative to the cam

system = da.library.fuel_injection_pump()  # the roller floats in its bearing and slips on the cam
result = da.simulate(system, 0.09, method="radau", rtol=1e-6, atol=1e-10)  # films are microns thick
films = da.library.pump_films(result)
angle = -np.degrees(films.angle)
settled, shown = angle > 280, (angle > 460) & (angle < 620)
mean = np.average(films.film[shown], weights=np.gradient(films.t[shown]))
under_pressure = films.stress[(angle > 508) & (angle < 515)].max()

if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(f"rolling: {spin[0]:.1f} rad/s on the basic circle, at most {spin.max():.1f} (printed 245, 360)")
    ratio, least = films.eccentricity[settled], films.film[settled].min()
    print(f"bearing: eccentricity ratio {ratio.min():.2f} to {ratio.max():.2f} (printed 0.10 to 0.50)")
    print(f"film on the cam: {mean * 1e6:.2f} um in the mean, {least * 1e6:.3f} at least (0.26, 0.06)")
    print(f"stress of Hertz: {under_pressure / 1e6:.0f} N/mm2 under fuel pressure (975)")
    print(f"slip: up to {100 * np.abs(films.slip_ratio[settled]).max():.0f} % of the film's speed (33)")
    print(f"the shaft needs {films.torque[settled].min():.1f} to {films.torque[settled].max():.1f} N m")
    figure, axes = plt.subplots(5, 1, figsize=(7, 10), sharex=True, layout="constrained")
    names = ("guide.position", "bearing.ratio", "traction.slip", "traction.least", "traction.pressure")
    labels = ("lift [m]", "eccentricity ratio", "slip on the cam [m/s]", "film on the cam [m]", "stress of Hertz [Pa]")
    for ax, name, label in zip(axes, names, labels, strict=True):
        result.plot(name, ax=ax)
        ax.set(ylabel=label)
        ax.label_outer()
    axes[3].set_ylim(0, 6e-7)  # at the start nothing presses
    figure.savefig("fuel_injection_pump.png")
