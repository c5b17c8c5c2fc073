"""A human body turns in free fall without anything to push against: its legs circle, and it faces another way."""

import numpy as np
import sympy as sp

import dalembert as da
from dalembert.library import humanoid

T = 0.8  # s, a fall of 3.1 m
t = sp.symbols("t")
swing = sp.Rational(9, 10) * sp.sin(sp.pi * t / T) ** 2  # rad; the legs begin and end straight down


def law(angle):
    """Return a function of time with the value and two derivatives of an expression."""
    f = sp.lambdify(t, [angle, angle.diff(t), angle.diff(t, 2)])
    return lambda time: tuple(f(time))


angles = {"hip_pitch": law(-swing * sp.sin(4 * sp.pi * t / T)), "hip_roll": law(swing * sp.cos(4 * sp.pi * t / T))}


def falling():
    """Return the human with its legs on two circles, about a cone, and all else still."""
    s = humanoid()
    for joint in s.forest().joints[1:]:
        s.drive(joint.name, position=angles.get(joint.name.partition("_")[2], 0.0))
    return s


result = da.simulate(falling(), T, times=np.linspace(0.0, T, 81), rtol=1e-8, atol=1e-9)
turn = np.degrees(np.unwrap(result["pelvis.bryant"], axis=0))
momentum = np.abs(result["momentum.angular"]).max()  # about the mass centre

if __name__ == "__main__":
    print(f"it fell {-result['center_of_mass'][-1, 2] + result['center_of_mass'][0, 2]:.3f} m")
    print(f"and turned by {turn[-1].round(2)} degrees about x, y and z; its joints are as at the start")
    print(f"angular momentum stayed below {momentum:.1e} kg m2/s")
    axes = result.plot("pelvis.bryant", "left_hip_pitch.position", "left_hip_roll.position")
    np.ravel(axes)[0].figure.savefig("free_fall.png")
