"""Files on disk: atomic replacement, checksums and locks, for every room that writes them."""
