"""Reference implementations of the core in readable NumPy, after the papers and in their symbols.

For reading and for tests; in the package only `formulations` imports them, for the same purpose.
"""
