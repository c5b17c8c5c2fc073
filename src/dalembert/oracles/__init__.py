"""Readable mechanics: slow, obvious NumPy versions of what the core does, after the papers and in their symbols.

They are for reading and for tests; nothing else in the package imports them but `formulations`, for the same purpose.
"""
