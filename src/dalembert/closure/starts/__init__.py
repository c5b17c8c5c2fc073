"""Start values of joints, chains and bodies."""
