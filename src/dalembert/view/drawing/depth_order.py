"""Collections of 3-D axes that are drawn before or after all others."""

from __future__ import annotations

from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

__all__ = ["BackgroundFaces", "ForegroundFaces", "ForegroundLines"]


class BackgroundFaces(Poly3DCollection):  # type: ignore[misc]
    """Faces that are drawn before those of all other collections."""

    def do_3d_projection(self) -> float:
        """Project, and return the largest depth."""
        super().do_3d_projection()
        return float("inf")


class ForegroundFaces(Poly3DCollection):  # type: ignore[misc]
    """Faces that are drawn after those of all other collections."""

    def do_3d_projection(self) -> float:
        """Project, and return the smallest depth."""
        super().do_3d_projection()
        return float("-inf")


class ForegroundLines(Line3DCollection):  # type: ignore[misc]
    """Lines that are drawn after all other collections."""

    def do_3d_projection(self) -> float:
        """Project, and return the smallest depth."""
        super().do_3d_projection()
        return float("-inf")
