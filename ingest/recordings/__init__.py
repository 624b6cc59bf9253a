"""Recordings and captions to segments with times."""
