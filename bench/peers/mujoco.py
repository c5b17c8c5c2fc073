"""MuJoCo's model of a system, built through its MjSpec (XML stops at a depth of 500 elements)."""

from __future__ import annotations

import mujoco
import mujoco.batch
import numpy as np
from mujoco import (
    mj_comPos,
    mj_comVel,
    mj_forward,
    mj_fullM,
    mj_inverse,
    mj_kinematics,
    mj_makeM,
    mj_rne,
)

from dalembert.rotation import to_quaternion
from dalembert.system import System

from .coordinates import Convention, Coordinates
from .links import Array, Link
from .peer import Kernels, Peer

__all__ = ["Mujoco", "add_link"]

_JOINTS = {
    "revolute": mujoco.mjtJoint.mjJNT_HINGE,
    "prismatic": mujoco.mjtJoint.mjJNT_SLIDE,
    "spherical": mujoco.mjtJoint.mjJNT_BALL,
}
# what plain mechanics does not need; without it mj_forward is at its fastest
_DISABLED = ("CONSTRAINT", "CONTACT", "SPRING", "DAMPER", "ACTUATION", "SENSOR", "ISLAND", "WARMSTART")


class Mujoco(Peer):
    """MuJoCo through its Python bindings, with contacts, constraints, actuation and sensors switched off.

    A joint with several degrees of freedom becomes several joints of one body. A free joint on ground's
    origin is a free joint; elsewhere it is three slides and a ball, with the same coordinates.
    MuJoCo has no helical joint. Needs MuJoCo 4.
    """

    name = "MuJoCo"
    version = str(mujoco.__version__)

    def __init__(self, system: System) -> None:
        super().__init__(system)
        spec = mujoco.MjSpec()
        spec.option.gravity = system.gravity
        for flag in _DISABLED:
            spec.option.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
        bodies = [spec.worldbody]
        for k, link in enumerate(self.links, start=1):
            bodies.append(add_link(bodies[link.parent], k, link))
        self.model = model = spec.compile()
        self.data = mujoco.MjData(model)
        joints = [joint for link in self.links for joint in link.joints]
        addresses = [model.joint(_first_name(joint.kind, joint.name)).id for joint in joints]
        starts = [(int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])) for j in addresses]
        convention = Convention(position_first=True, linear_first=True, linear_in_parent=True)
        self.coordinates = Coordinates(joints, starts, convention)
        self._bodies = [model.body(f"{k}").id for k in range(1, len(self.links) + 1)]

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        self._load(q, v, tau, np.zeros_like(v))
        mj_forward(self.model, self.data)
        return self.coordinates.accelerations_back(q, v, np.array(self.data.qacc))

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        self._load(q, v, np.zeros_like(v), a)
        mj_inverse(self.model, self.data)
        return self.coordinates.efforts_back(q, np.array(self.data.qfrc_inverse))

    def mass_matrix(self, q: Array) -> Array:
        nv = self.model.nv
        self._load(q, *np.zeros((3, nv)))
        mujoco.mj_fwdPosition(self.model, self.data)
        M = np.zeros((nv, nv))
        mj_fullM(self.model, self.data, M)
        return self.coordinates.mass_matrix_back(q, M)

    def energy(self, q: Array, v: Array) -> tuple[float, float]:
        self._load(q, v, np.zeros_like(v), np.zeros_like(v))
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        mujoco.mj_energyPos(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        potential, kinetic = self.data.energy
        return float(kinetic), float(potential)

    def poses(self, q: Array) -> tuple[Array, Array]:
        self._load(q, *np.zeros((3, self.model.nv)))
        mj_kinematics(self.model, self.data)
        R = self.data.xmat[self._bodies].reshape(-1, 3, 3)
        p = self.data.xpos[self._bodies]
        body_R = np.array([link.body_R for link in self.links])
        body_p = np.array([link.body_p for link in self.links])
        return R @ body_R, p + np.einsum("kij,kj->ki", R, body_p)

    def jacobian(self, body: int, q: Array) -> Array:
        position = self.poses(q)[1][body]
        mj_comPos(self.model, self.data)
        linear, angular = np.zeros((2, 3, self.model.nv))
        mujoco.mj_jac(self.model, self.data, linear, angular, position, self._bodies[body])
        return self.coordinates.columns_back(q, np.vstack([angular, linear]))

    def calls(self, q: Array, v: Array, tau: Array, a: Array) -> Kernels:
        at, model, data = self.coordinates, self.model, self.data
        position, speed = at.configuration(q), at.speeds(q, v)
        effort, acceleration = at.efforts(q, tau), at.accelerations(q, v, a)
        qpos, qvel, qacc, qfrc = data.qpos, data.qvel, data.qacc, data.qfrc_applied
        out, M = np.zeros(model.nv), np.zeros((model.nv, model.nv))

        def forward() -> None:
            qpos[:] = position
            qvel[:] = speed
            qfrc[:] = effort
            mj_forward(model, data)

        def inverse() -> None:
            qpos[:] = position
            qvel[:] = speed
            qacc[:] = acceleration
            mj_inverse(model, data)

        def staged_inverse() -> None:
            qpos[:] = position
            qvel[:] = speed
            qacc[:] = acceleration
            mj_kinematics(model, data)
            mj_comPos(model, data)
            mj_comVel(model, data)
            mj_rne(model, data, 1, out)

        def mass() -> None:
            qpos[:] = position
            mj_kinematics(model, data)
            mj_comPos(model, data)
            mj_makeM(model, data)

        def dense_mass() -> None:
            mass()
            mj_fullM(model, data, M)

        # forward dynamics in stages is slower from Python at every size, so mj_forward is alone
        return {
            "forward": {"mj_forward": forward},
            "inverse": {"mj_inverse": inverse, "mj_kinematics, comPos, comVel, rne": staged_inverse},
            "mass": {"mj_kinematics, comPos, makeM: sparse": mass},
            "mass, dense": {"mj_kinematics, comPos, makeM, fullM": dense_mass},
        }

    def batch_calls(self, q: Array, v: Array, tau: Array, a: Array, threads: int) -> Kernels:
        at = self.coordinates

        def load(output: str) -> mujoco.batch.Batch:
            states = mujoco.batch.Batch(self.model, nsim=len(q), nthread=threads)
            states.qpos, states.qvel, states.qfrc_applied = at.configuration(q), at.speeds(q, v), at.efforts(q, tau)
            states.bind(output)
            return states

        forward, position = load("qacc"), load("M")
        stage = int(mujoco.mjtStage.mjSTAGE_POS)
        return {
            "forward": {"batch.forward": forward.forward},
            "mass": {"batch.forward, position stage: sparse, factorised": lambda: position.forward(stage=stage)},
        }

    def _load(self, q: Array, v: Array, tau: Array, a: Array) -> None:
        at, data = self.coordinates, self.data
        data.qpos[:], data.qvel[:] = at.configuration(q), at.speeds(q, v)
        data.qfrc_applied[:], data.qacc[:] = at.efforts(q, tau), at.accelerations(q, v, a)


def add_link(parent: mujoco.MjsBody, number: int, link: Link) -> mujoco.MjsBody:
    """Add a link and its joints to the specification of its parent."""
    # principal axes from LAPACK: MuJoCo's own diagonalisation stops earlier; it refuses rods without thickness
    moments, axes = np.linalg.eigh(link.inertia)
    moments = np.maximum(moments, 1e-12)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    body = parent.add_body(
        name=f"{number}",
        pos=link.p,
        quat=to_quaternion(link.R),
        mass=link.mass,
        ipos=link.com,
        inertia=moments,
        iquat=to_quaternion(axes),
        explicitinertial=True,
    )
    for joint in link.joints:
        if joint.kind == "helical":
            raise ValueError(f"joint {joint.name!r}: MuJoCo has no helical joint")
        if joint.kind != "free":
            axis = joint.axis if joint.axis.any() else (0.0, 0.0, 1.0)  # a ball has none, but zero is refused
            body.add_joint(name=joint.name, type=_JOINTS[joint.kind], axis=axis)
        elif link.parent == 0 and not link.p.any() and np.array_equal(link.R, np.eye(3)):
            body.add_freejoint(name=_first_name(joint.kind, joint.name))
        else:
            for axis, letter in zip(np.eye(3), "xyz", strict=True):
                body.add_joint(name=f"{joint.name}.{letter}", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
            body.add_joint(name=f"{joint.name}.turn", type=mujoco.mjtJoint.mjJNT_BALL)
    return body


def _first_name(kind: str, name: str) -> str:
    """Return the name of the first MuJoCo joint that stands for an elementary joint."""
    return f"{name}.x" if kind == "free" else name
