"""Things that mean the same, grouped by their vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 4000
"""Rows that are grouped: two seconds and 0.3 GB; time and memory grow with their square."""


def group(vectors: NDArray[np.float32], least: float) -> list[list[int]]:
    """Average-linkage agglomerative clustering: the two groups whose members are nearest on average become one, until
    none are as near as `least`.

    Args:
        vectors: shape `(count, dimension)`, rows of length 1. Those beyond the first `MOST` stand alone.
        least: cosine, on average, of the members of two groups that are joined.

    Returns:
        Row numbers, each group ascending, groups by their first one. The same for the same rows in the same order.
    """
    from scipy.cluster.hierarchy import fcluster, linkage  # takes 0.7 s to load

    head = vectors[:MOST]
    alone = [[row] for row in range(len(head), len(vectors))]
    if len(head) < 2:
        return [[row] for row in range(len(vectors))]
    apart = 1.0 - (head @ head.T)[np.triu_indices(len(head), 1)].astype(np.float64)
    tree = linkage(np.maximum(apart, 0.0), "average")
    groups: dict[int, list[int]] = {}
    for row, label in enumerate(fcluster(tree, 1.0 - least, "distance").tolist()):
        groups.setdefault(label, []).append(row)
    return [*groups.values(), *alone]
