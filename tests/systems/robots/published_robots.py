"""The same URDF file here and in Pinocchio: poses, mass matrix, bias forces and accelerations at random states."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dalembert as da
from dalembert.errors import ModelWarning
from dalembert.io import load_urdf
from dalembert.system import System

Array = NDArray[np.float64]


@dataclass
class Differences:
    """Largest differences relative to the largest number of each kind, and how many DOF without inertia were
    held.

        `accelerations`: of M a + b from tau, relative to the largest of these forces, which does not depend on the
        conditioning of M.
    """

    pose: float = 0.0
    mass: float = 0.0
    bias: float = 0.0
    accelerations: float = 0.0
    held: int = 0

    @property
    def worst(self) -> float:
        return max(self.pose, self.mass, self.bias, self.accelerations)


def loaded(document: Any, base: str) -> tuple[System, list[str]]:
    """Return the open tree of a robot, and its notes: Pinocchio does not obey mimic joints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        system = load_urdf(document, base=base, damping=False, friction=False)
    system.mimics.clear()
    return system, system.notes


def compared(document: str, base: str, *, states: int = 5, seed: int = 0) -> Differences:
    """Return how far the numbers of a robot, as text, are from Pinocchio's."""
    import pinocchio as pin

    system, _ = loaded(document, base)
    root = (pin.JointModelFreeFlyer(),) if base == "free" else ()
    theirs = pin.buildModelFromXML(document, *root)
    model, data, rng = system.compile(), theirs.createData(), np.random.default_rng(seed)
    found = Differences()
    joints = [joint for joint in model.forest.joints if joint.element.nv]
    assert theirs.nv == model.nv
    weight = 1e-3 * 9.81 * sum(body.mass for body in system.bodies.values())  # N m: bias forces of wheels are zero
    for _ in range(states):
        state, tau = model.random_state(rng), rng.normal(size=model.nv)
        q, order = pin.neutral(theirs), np.zeros(model.nv, dtype=int)  # ours for each of their speeds
        for joint in joints:
            name = joint.name if theirs.existJointName(joint.name) else joint.name.removesuffix("_joint")
            entry = theirs.joints[theirs.getJointId("root_joint" if joint.name.endswith(".free") else name)]
            at = np.arange(model.nv)[model.v_slice(joint.name)]
            own = state.q[model.q_slice(joint.name)]
            if joint.element.kind == "Free":
                own, at = np.concatenate([own[4:], own[1:4], own[:1]]), np.roll(at, 3)
            elif entry.nq == 2:
                own = np.array([math.cos(own[0]), math.sin(own[0])])
            q[entry.idx_q : entry.idx_q + entry.nq] = own
            order[entry.idx_v : entry.idx_v + entry.nv] = at
        v = state.v[order]
        pin.framesForwardKinematics(theirs, data, q)
        poses = model.poses(state.q)
        for k, name in enumerate(model.body_names):
            frame = data.oMf[theirs.getFrameId(name, pin.FrameType.BODY)]
            size = 1.0 + np.abs(frame.translation).max()
            found.pose = max(found.pose, np.abs(frame.rotation - poses.rotation[k]).max())
            found.pose = max(found.pose, np.abs(frame.translation - poses.position[k]).max() / size)
        M = pin.crba(theirs, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        found.mass = max(found.mass, _relative(model.mass_matrix(state.q)[np.ix_(order, order)], M))
        bias = pin.nonLinearEffects(theirs, data, q, v)
        found.bias = max(found.bias, _relative(model.bias_forces(state.q, state.v)[order], bias, least=weight))
        free, held = np.ones(model.nv, dtype=bool), None
        idle = model.massless_dof(state.q)
        found.held = max(found.held, len(idle))
        if idle:  # there are no accelerations, unless what has no inertia is held
            assert np.linalg.matrix_rank(M) < model.nv
            with pytest.raises(da.SingularityError, match=repr(idle[0])):
                model.forward_dynamics(state.q, state.v, tau)
            held = model.conditions(locked=idle)
            free[[model.speed_names.index(name) for name in idle]] = False
        a = model.forward_dynamics(state.q, state.v, tau, conditions=held)
        missing = pin.rnea(theirs, data, q, v, a[order])[np.argsort(order)] - tau
        size = np.abs(np.concatenate([tau, bias, M @ a[order]])).max(initial=1e-300)
        found.accelerations = max(found.accelerations, float(np.abs(missing[free]).max(initial=0.0)) / size)
    return found


def _relative(ours: Array, theirs: Array, least: float = 0.0) -> float:
    size = max(least, float(np.abs(theirs).max(initial=0.0)))
    return float(np.abs(ours - theirs).max(initial=0.0)) / (size or 1.0)
