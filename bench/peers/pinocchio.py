"""Pinocchio's model of a system, built joint by joint."""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin

from dalembert.system import System

from .coordinates import Convention, Coordinates
from .links import Array, Joint
from .peer import Kernels, Peer

__all__ = ["Pinocchio"]

_ALIGNED = {
    "revolute": (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
    "prismatic": (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
}


class Pinocchio(Peer):
    """Pinocchio through its Python bindings.

    Joints are added in the forest's order, which is depth-first: in any other Pinocchio's mass
    matrix is silently wrong. Axes along x, y or z get the specialised joints, several joints in a
    row become a composite one, bodies without a joint are merged into their parents. With `loop_connections`,
    the model is that of the tree under the closed loops.
    """

    name = "Pinocchio"
    version = str(pin.__version__)

    def __init__(self, system: System, *, loops: bool = False) -> None:
        super().__init__(system, loops=loops)
        self.model = model = pin.Model()
        model.gravity = pin.Motion(system.gravity, np.zeros(3))
        carriers = [(0, pin.SE3.Identity())]  # for each link: the joint that moves it, and the link's frame there
        joints, starts = [], []
        for link in self.links:
            joint, frame = carriers[link.parent]
            place = frame * pin.SE3(link.R, link.p)
            if link.joints:
                joint = model.addJoint(joint, _joint_model(link.joints), place, link.joints[0].name)
                place = pin.SE3.Identity()
                q, v = model.joints[joint].idx_q, model.joints[joint].idx_v
                for part in link.joints:
                    joints.append(part)
                    starts.append((q, v))
                    q, v = q + part.q.stop - part.q.start, v + part.v.stop - part.v.start
            model.appendBodyToJoint(joint, pin.Inertia(link.mass, link.com, link.inertia), place)
            body = place * pin.SE3(link.body_R, link.body_p)
            model.addFrame(pin.Frame(link.name, joint, body, pin.FrameType.OP_FRAME), False)
            carriers.append((joint, place))
        self.data = model.createData()
        convention = Convention(scalar_last=True, position_first=True, linear_first=True)
        self.coordinates = Coordinates(joints, starts, convention)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        at = self.coordinates
        a = pin.aba(self.model, self.data, at.configuration(q), at.speeds(q, v), at.efforts(q, tau))
        return at.accelerations_back(q, v, np.array(a))

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        at = self.coordinates
        tau = pin.rnea(self.model, self.data, at.configuration(q), at.speeds(q, v), at.accelerations(q, v, a))
        return at.efforts_back(q, np.array(tau))

    def mass_matrix(self, q: Array) -> Array:
        M = np.array(pin.crba(self.model, self.data, self.coordinates.configuration(q)))
        return self.coordinates.mass_matrix_back(q, M)

    def d_forward_dynamics(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives (nv, nv) of the accelerations along q, v and tau."""
        at = self.coordinates
        arguments = at.configuration(q), at.speeds(q, v), at.efforts(q, tau)
        da_dq, da_dv, inverse = (np.array(A) for A in pin.computeABADerivatives(self.model, self.data, *arguments))
        # T is constant and orthogonal here, so the inverse mass matrix maps like the other two
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        return at.sensitivity_back(q, da_dq), at.sensitivity_back(q, da_dv), at.sensitivity_back(q, inverse)

    def energy(self, q: Array, v: Array) -> tuple[float, float]:
        at = self.coordinates.configuration(q)
        kinetic = pin.computeKineticEnergy(self.model, self.data, at, self.coordinates.speeds(q, v))
        return float(kinetic), float(pin.computePotentialEnergy(self.model, self.data, at))

    def poses(self, q: Array) -> tuple[Array, Array]:
        pin.framesForwardKinematics(self.model, self.data, self.coordinates.configuration(q))
        frames = self.data.oMf[1:]
        return np.array([X.rotation for X in frames]), np.array([X.translation for X in frames])

    def jacobian(self, body: int, q: Array) -> Array:
        at = self.coordinates.configuration(q)
        J = pin.computeFrameJacobian(self.model, self.data, at, int(body) + 1, pin.LOCAL_WORLD_ALIGNED)
        J = J.reshape(6, -1)  # comes as (6,) when nv is 1
        return self.coordinates.columns_back(q, np.vstack([J[3:], J[:3]]))

    def calls(self, q: Array, v: Array, tau: Array, a: Array) -> Kernels:
        at, model, data = self.coordinates, self.model, self.data
        position, speed = at.configuration(q), at.speeds(q, v)
        effort, acceleration = at.efforts(q, tau), at.accelerations(q, v, a)
        world = pin.Convention.WORLD
        return {
            "forward": {
                "aba": partial(pin.aba, model, data, position, speed, effort),
                "aba, world": partial(pin.aba, model, data, position, speed, effort, world),
            },
            "inverse": {"rnea": partial(pin.rnea, model, data, position, speed, acceleration)},
            "mass": {
                "crba": partial(pin.crba, model, data, position),
                "crba, world": partial(pin.crba, model, data, position, world),
            },
            "derivatives": {
                "computeABADerivatives": partial(pin.computeABADerivatives, model, data, position, speed, effort)
            },
        }

    def batch_calls(self, q: Array, v: Array, tau: Array, a: Array, threads: int) -> Kernels:
        at = self.coordinates
        pool = pin.ModelPool(self.model, threads)
        position, speed, effort, acceleration = (
            np.asfortranarray(x.T)
            for x in (at.configuration(q), at.speeds(q, v), at.efforts(q, tau), at.accelerations(q, v, a))
        )
        # with one degree of freedom the bindings take `out` for a vector and write beyond its end
        out = [] if self.model.nv == 1 else [np.empty_like(speed)]
        forward = partial(pin.abaInParallel, threads, pool, position, speed, effort, *out)
        inverse = partial(pin.rneaInParallel, threads, pool, position, speed, acceleration, *out)
        return {"forward": {"abaInParallel": forward}, "inverse": {"rneaInParallel": inverse}}


def _joint_model(joints: tuple[Joint, ...]) -> pin.JointModel:
    if len(joints) == 1:
        return _single(joints[0])
    composite = pin.JointModelComposite()
    for joint in joints:
        composite.addJoint(_single(joint))
    return composite


def _single(joint: Joint) -> pin.JointModel:
    match joint.kind:
        case "free":
            return pin.JointModelFreeFlyer()
        case "spherical":
            return pin.JointModelSpherical()
        case "helical":
            return pin.JointModelHelicalUnaligned(joint.axis, joint.pitch)
    for axis, aligned in zip(np.eye(3), _ALIGNED[joint.kind], strict=True):
        if (joint.axis == axis).all():
            return aligned()
    unaligned = pin.JointModelRevoluteUnaligned if joint.kind == "revolute" else pin.JointModelPrismaticUnaligned
    return unaligned(joint.axis)
