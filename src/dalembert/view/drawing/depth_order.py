"""Faces and lines of 3-D axes that are drawn before or after all else."""

from __future__ import annotations

from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

__all__ = ["BackgroundFaces", "ForegroundFaces", "ForegroundLines"]


class BackgroundFaces(Poly3DCollection):  # type: ignore[misc]
    """Faces that are drawn before those of all other collections."""

    def do_3d_projection(self) -> float:
        """Project, and tell that nothing is farther from the reader."""
        super().do_3d_projection()
        return float("inf")


class ForegroundFaces(Poly3DCollection):  # type: ignore[misc]
    """Faces that are drawn after those of all other collections."""

    def do_3d_projection(self) -> float:
        """Project, and tell that nothing is nearer to the reader."""
        super().do_3d_projection()
        return float("-inf")


class ForegroundLines(Line3DCollection):  # type: ignore[misc]
    """Lines that are drawn after all other collections."""

    def do_3d_projection(self) -> float:
        """Project, and tell that nothing is nearer to the reader."""
        super().do_3d_projection()
        return float("-inf")
