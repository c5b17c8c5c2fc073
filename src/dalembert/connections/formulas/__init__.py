"""Formulas: what users write as text, SymPy or Python, as programs that the core evaluates and differentiates."""
