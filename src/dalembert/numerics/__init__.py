"""Numerical methods without mechanics: rank, factorization, least squares, quadratic programs, roots, quadrature."""
