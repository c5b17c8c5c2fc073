"""Finite-element models of flexible bodies: beams and frames, reduction to modes, stresses, import."""

from .members import Member, beam, frame, frame_structure
from .mode_sets import CantileverModes, CraigBampton, FreeModes, GivenModes, Guyan, ModeSet
from .recovery import BeamStresses, beam_stresses, section_forces
from .report import ModeReport
from .sections import Material, Section
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
    "Section",
    "Structure",
    "beam",
    "beam_stresses",
    "frame",
    "frame_structure",
    "section_forces",
]
