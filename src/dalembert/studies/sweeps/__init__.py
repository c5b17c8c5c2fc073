"""Parameter sweeps: cases, jobs, executors, stores."""
