"""Everything but bodies and joints as figures."""

from __future__ import annotations

from ...connections.constraints.chain_reach import is_chain_limit
from ...connections.joints import Joint
from ...model import Model
from .body_extents import axis_of
from .constraint_figures import add_constraint, add_limits
from .coupling_figures import add_coupling, tie
from .element_figures import add_force
from .figure_builder import FigureBuilder

__all__ = ["connection_figures"]


def connection_figures(model: Model) -> FigureBuilder:
    """Return what a picture shows of constraints, elements, couplings and drives of a model."""
    sketch, system = FigureBuilder(model), model.system
    driven = [drive.connection for drive in system.drives.values()]
    for connection in system.connections.values():
        if isinstance(connection.element, Joint):
            add_limits(sketch, connection)
        elif not is_chain_limit(connection, system.connections):
            add_constraint(sketch, connection, connection in driven)
    for force in system.forces.values():
        add_force(sketch, force)
    for coupling in system.couplings.values():
        add_coupling(sketch, coupling)
    for follower, rule in getattr(system, "mimics", {}).items():
        if follower in system.connections and rule.joint in system.connections:
            tie(sketch, f"{follower}.mimic", [system.connections[name] for name in (rule.joint, follower)])
    for drive in system.drives.values():
        if drive.of_joint:
            axis, turning = axis_of(drive.connection.element, getattr(drive, "coordinate", 0))
            sketch.on_joint(drive.name, "drive" if turning else "push", drive.connection, axis)
    return sketch
