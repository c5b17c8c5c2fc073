"""Drake's model of a system, built through MultibodyPlant."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody import tree
from pydrake.multibody.plant import MultibodyPlant

from dalembert.system import System

from .coordinates import Convention, Coordinates
from .links import Array, Joint
from .peer import Kernels, Peer

__all__ = ["Drake"]


class Drake(Peer):
    """Drake's MultibodyPlant in continuous time, through its Python bindings.

    Drake gives a body one joint, and its ball joint has angles for coordinates: joints with several
    degrees of freedom, but for the free one, are refused.
    """

    name = "Drake"
    version = version("drake")

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.plant = plant = MultibodyPlant(time_step=0.0)
        plant.mutable_gravity_field().set_gravity_vector(system.gravity)
        self._bodies = [plant.world_body()]
        joints, added = [], []
        for k, link in enumerate(self.links, start=1):
            body = plant.AddRigidBody(f"{k}", _spatial_inertia(link.mass, link.com, link.inertia))
            place = RigidTransform(RotationMatrix(link.R), link.p)
            inboard = tree.FixedOffsetFrame(f"in {k}", self._bodies[link.parent].body_frame(), place)
            frames = plant.AddFrame(inboard), body.body_frame()
            if len(link.joints) > 1:
                raise ValueError(f"joint {link.joints[0].name!r}: Drake gives a body one joint only")
            if link.joints:
                joints.append(link.joints[0])
                added.append(plant.AddJoint(_joint(link.joints[0], *frames)))
            else:
                plant.AddJoint(tree.WeldJoint(f"weld {k}", *frames, RigidTransform()))
            self._bodies.append(body)
        plant.Finalize()
        self.context = plant.CreateDefaultContext()
        self._effort_port = plant.get_applied_generalized_force_input_port()
        self._acceleration_port = plant.get_generalized_acceleration_output_port()
        self._forces = tree.MultibodyForces(plant)
        starts = [(joint.position_start(), joint.velocity_start()) for joint in added]
        self.coordinates = Coordinates(joints, starts, Convention(angular_in_parent=True, linear_in_parent=True))

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        self._load(q, v)
        self._effort_port.FixValue(self.context, self.coordinates.efforts(q, tau))
        return self.coordinates.accelerations_back(q, v, np.array(self._acceleration_port.Eval(self.context)))

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        self._load(q, v)
        acceleration = self.coordinates.accelerations(q, v, a)
        tau = self.plant.CalcInverseDynamics(self.context, acceleration, self._gravity())
        return self.coordinates.efforts_back(q, np.array(tau))

    def mass_matrix(self, q: Array) -> Array:
        self._load(q, np.zeros(self.plant.num_velocities()))
        return self.coordinates.mass_matrix_back(q, np.array(self.plant.CalcMassMatrix(self.context)))

    def energy(self, q: Array, v: Array) -> tuple[float, float]:
        self._load(q, v)
        return float(self.plant.CalcKineticEnergy(self.context)), float(self.plant.CalcPotentialEnergy(self.context))

    def poses(self, q: Array) -> tuple[Array, Array]:
        self._load(q, np.zeros(self.plant.num_velocities()))
        offsets = [RigidTransform(RotationMatrix(link.body_R), link.body_p) for link in self.links]
        frames = [
            self.plant.EvalBodyPoseInWorld(self.context, body) @ offset
            for body, offset in zip(self._bodies[1:], offsets, strict=True)
        ]
        return np.array([X.rotation().matrix() for X in frames]), np.array([X.translation() for X in frames])

    def jacobian(self, body: int, q: Array) -> Array:
        self._load(q, np.zeros(self.plant.num_velocities()))
        world = self.plant.world_frame()
        frame = self._bodies[body + 1].body_frame()
        J = self.plant.CalcJacobianSpatialVelocity(
            self.context, tree.JacobianWrtVariable.kV, frame, self.links[body].body_p, world, world
        )
        return self.coordinates.columns_back(q, np.array(J))

    def calls(self, q: Array, v: Array, tau: Array, a: Array) -> Kernels:
        at, plant, context = self.coordinates, self.plant, self.context
        state = np.concatenate([at.configuration(q), at.speeds(q, v)])
        effort, acceleration = at.efforts(q, tau), at.accelerations(q, v, a)
        set_state = partial(plant.SetPositionsAndVelocities, context)
        fixed = self._effort_port.FixValue(context, effort)
        evaluate = self._acceleration_port.Eval
        gravity = self._gravity

        def forward() -> None:
            set_state(state)
            fixed.GetMutableData().get_mutable_value().set_value(effort)
            evaluate(context)

        def inverse() -> None:
            set_state(state)
            plant.CalcInverseDynamics(context, acceleration, gravity())

        def mass() -> None:
            set_state(state)
            plant.CalcMassMatrix(context)

        return {
            "forward": {"generalized_acceleration port": forward},
            "inverse": {"CalcForceElementsContribution, CalcInverseDynamics": inverse},
            "mass": {"CalcMassMatrix": mass},
        }

    def _load(self, q: Array, v: Array) -> None:
        at = self.coordinates
        self.plant.SetPositionsAndVelocities(self.context, np.concatenate([at.configuration(q), at.speeds(q, v)]))

    def _gravity(self) -> Any:
        self._forces.SetZero()
        self.plant.CalcForceElementsContribution(self.context, self._forces)
        return self._forces


def _spatial_inertia(mass: float, com: Array, inertia: Array) -> tree.SpatialInertia:
    xx, yy, zz = inertia.diagonal()
    central = tree.RotationalInertia(xx, yy, zz, inertia[0, 1], inertia[0, 2], inertia[1, 2])
    return tree.SpatialInertia.MakeFromCentralInertia(mass, com, central)


def _joint(joint: Joint, inboard: Any, outboard: Any) -> Any:
    match joint.kind:
        case "revolute":
            return tree.RevoluteJoint(joint.name, inboard, outboard, joint.axis)
        case "prismatic":
            return tree.PrismaticJoint(joint.name, inboard, outboard, joint.axis)
        case "helical":
            return tree.ScrewJoint(joint.name, inboard, outboard, joint.axis, 2 * np.pi * joint.pitch, 0.0)
        case "free":
            return tree.QuaternionFloatingJoint(joint.name, inboard, outboard)
    raise ValueError(f"joint {joint.name!r}: no {joint.kind} joint of Drake has dalembert's coordinates")
