"""Segments to chunks."""
