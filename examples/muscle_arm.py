"""Biceps and triceps move a forearm: where it comes to rest, against the balance of moments at the elbow."""

import numpy as np
from scipy.optimize import brentq

import dalembert as da

length, mass, load = 0.3, 1.2, 2.0  # m, kg, kg in the hand
biceps = {"strength": 800.0, "optimal_length": 0.12, "slack_length": 0.17}
triceps = {"strength": 700.0, "optimal_length": 0.10, "slack_length": 0.16}
high, low = np.array([0.0, 0, 0.28]), np.array([-0.02, 0, 0.26])  # where they begin at the upper arm, from the elbow
lever, back = 0.045, 0.025  # m, from the elbow along the forearm to their ends; the triceps pulls behind the elbow


def arm(flex, stretch):
    s = da.System("arm")
    forearm = s.body("forearm", da.rod(length=length, mass=mass))
    hand = s.body("hand", da.sphere(0.04, mass=load))
    s.connect("elbow", da.Revolute((0, -1, 0)), s.ground, forearm)  # zero is level, raised is positive
    s.connect("grip", da.Fixed(), forearm.at(length, 0, 0), hand)
    s.connect("biceps", da.HillMuscle(flex, **biceps), s.ground.at(*high), forearm.at(lever, 0, 0))
    s.connect("triceps", da.HillMuscle(stretch, **triceps), s.ground.at(*low), forearm.at(-back, 0, 0))
    s.connect("stops", da.Limits(-1.4, 1.4, stiffness=300.0, damping=5.0), "elbow")
    s.initial("elbow", position=-1.2)
    return s


system = arm("where(t < 0.2, 0.01, 0.28)", 0.02)
result = da.simulate(system, 15.0)


def moment(angle, a_biceps=0.28, a_triceps=0.02):
    """Return the moment N m about the elbow that raises the forearm at rest, by hand."""
    total = -9.81 * (mass * length / 2 + load * length) * np.cos(angle)
    for muscle, start, reach, a in ((biceps, high, lever, a_biceps), (triceps, low, -back, a_triceps)):
        end = reach * np.array([np.cos(angle), 0, np.sin(angle)])
        pull, distance = start - end, np.linalg.norm(start - end)
        l = (distance - muscle["slack_length"]) / muscle["optimal_length"]  # noqa: E741
        passive = np.expm1(5 * max(l - 1, 0) / 0.6) / np.expm1(5)
        tension = muscle["strength"] * (a * np.exp(-((l - 1) ** 2) / 0.45) + passive)
        total += tension * (end[0] * pull[2] - end[2] * pull[0]) / distance
    return total


exact = brentq(moment, -1.2, 1.3)

if __name__ == "__main__":
    print(f"the forearm comes to rest at {np.degrees(result['elbow.position'][-1]):.4f} degrees")
    print(f"moments balance at {np.degrees(exact):.4f} degrees")
    print(f"the biceps pulls with up to {result['biceps.force.norm'].max():.1f} N")
    result.plot("elbow.position", "biceps.force.norm", "triceps.force.norm", path="muscle_arm.png")
