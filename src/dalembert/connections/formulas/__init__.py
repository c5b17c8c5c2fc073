"""Formulas as text, SymPy or Python, translated to programs that the core evaluates and differentiates."""
