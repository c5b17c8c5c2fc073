"""Stored results: files, tables and datasets."""
