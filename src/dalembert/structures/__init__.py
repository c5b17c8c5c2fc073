"""Finite-element models of flexible bodies: beams and frames, reduction to modes, stresses, import."""

from . import materials
from .cables import SlenderBody, cable
from .files import read_structure
from .members import Member, beam, frame, frame_structure
from .mode_sets import CantileverModes, CraigBampton, FreeModes, GivenModes, Guyan, ModeSet
from .nastran import read_nastran
from .plates import plate_structure
from .recovery import BeamStresses, NodalStresses, beam_stresses, nodal_mises, nodal_stresses, section_forces
from .report import ModeReport
from .sections import Material, Section
from .segmented import SegmentedBeam
from .segments import beam_segment
from .solids import solid_structure
from .spread_loads import SpreadLoad, line_load, pressure_load
from .structure import Structure

__all__ = [
    "BeamStresses",
    "CantileverModes",
    "CraigBampton",
    "FreeModes",
    "GivenModes",
    "Guyan",
    "Material",
    "Member",
    "ModeReport",
    "ModeSet",
    "NodalStresses",
    "Section",
    "SegmentedBeam",
    "SlenderBody",
    "SpreadLoad",
    "Structure",
    "beam",
    "beam_segment",
    "beam_stresses",
    "cable",
    "frame",
    "frame_structure",
    "line_load",
    "materials",
    "nodal_mises",
    "nodal_stresses",
    "plate_structure",
    "pressure_load",
    "read_nastran",
    "read_structure",
    "section_forces",
    "solid_structure",
]
