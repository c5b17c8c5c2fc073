"""Numerical methods without mechanics: factorization, quadratic programs, quadrature, contours."""
