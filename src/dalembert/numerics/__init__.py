"""Numerical methods: rank, factorization, least squares, quadratic programs, roots, quadrature."""
