"""The three problems of Passerello & Huston (1972): arms of a spacecraft bring two plates together while its body flies
free, or is held, and a blow on it. Results in pounds and inches, as there; see the guide."""

import numpy as np

import dalembert as da
from dalembert.library import space_manipulator

RIGHT = np.pi / 2
shut = da.Ramp(0.0, -RIGHT, 1.0)  # (5.1): from 0 to -90 degrees in a second, at rest at both ends
times = np.linspace(0.0, 1.0, 101)


def moving_arms():
    """Return the manipulator with its arms driven: ball joints by Bryant angles, elbows by theirs."""
    s = space_manipulator()
    s.drive("shoulder_a", rotation=da.BryantAngles(RIGHT, 0.0, 0.0))
    s.drive("elbow_a", position=shut)
    s.drive("shoulder_b", rotation=da.BryantAngles(0.0, -RIGHT, shut))
    s.drive("elbow_b", position=RIGHT)
    return s


# 1: motion of the arms given, forces on the main body given (none)
flight = da.simulate(moving_arms(), 1.0, times=times)

# 2: motion of everything given; what holds the main body
described = moving_arms()
described.drive("base", position=(0.0, 0.0, 0.0), rotation=da.BryantAngles(0.0, 0.0, 0.0))
held = da.kinematics(described, times=times)
holding = np.hstack([held["base.force [lbf]"], held["base.moment [lbf in]"]])

# 3: all joints free, at rest; 100 lb s on the main body, along x through its mass centre
start = flight.at(0.0)
blow = da.impulse(space_manipulator(), start.q, start.v, {"main": (da.units.si(100.0, "lbf s"), 0.0, 0.0)})
model = space_manipulator().compile()
after = {name: model.velocity(name, start.q, blow.v) for name in ("main", "upper_a", "lower_a", "upper_b", "lower_b")}
after = {name: np.hstack([v[:3], da.units.of_si(v[3:], "in/s")]) for name, v in after.items()}  # rad/s and in/s

if __name__ == "__main__":
    import matplotlib.pyplot as plt

    curves = {
        "displacement of the free main body, in": flight["main.position [in]"],
        "rotation of the free main body, deg": np.degrees(flight["main.bryant"]),
        "force that holds the main body, lb": holding[:, :3],
        "moment that holds the main body, in lb": holding[:, 3:],
    }
    figure, panels = plt.subplots(2, 2, figsize=(10, 7), constrained_layout=True)
    for ax, (title, values) in zip(panels.flat, curves.items(), strict=True):
        print(f"{title}: from {values.min(axis=0).round(3)} to {values.max(axis=0).round(3)}")
        ax.plot(times, values, label=("1", "2", "3"))
        ax.set(title=title, xlabel="t [s]")
        ax.legend()
    for name, v in after.items():
        print(f"after the blow {name:8s} turns with {v[:3].round(4)} rad/s, moves with {v[3:].round(3)} in/s")
    figure.savefig("space_manipulator.png")
