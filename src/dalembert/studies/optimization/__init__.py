"""Design optimization, parameter fits, linkage synthesis and trajectory optimization."""
