"""Things that mean the same, grouped by their vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def group(vectors: NDArray[np.float32], least: float) -> list[list[int]]:
    """Average-linkage agglomerative clustering: the two groups whose members are nearest on average become one, until
    none are as near as `least`.

    Args:
        vectors: shape `(count, dimension)`, rows of length 1.
        least: cosine, on average, of the members of two groups that are joined.

    Returns:
        Row numbers, each group ascending, groups by their first one. The same for the same rows in the same order.
    """
    near = (vectors @ vectors.T).astype(np.float64)
    np.fill_diagonal(near, -np.inf)
    groups = [[row] for row in range(len(vectors))]
    while len(near) > 1:
        left, right = sorted(divmod(int(np.argmax(near)), len(near)))
        if near[left, right] < least:
            break
        sizes = len(groups[left]), len(groups[right])
        joined = (sizes[0] * near[left] + sizes[1] * near[right]) / sum(sizes)
        near[left], near[:, left] = joined, joined
        near[left, left] = -np.inf
        near = np.delete(np.delete(near, right, axis=0), right, axis=1)
        groups[left] = sorted(groups[left] + groups.pop(right))
    return sorted(groups)
