"""Parameter studies: cases, jobs, executors, stores."""
