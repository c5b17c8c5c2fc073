"""Files on disk: atomic replacement, checksums and locks."""
