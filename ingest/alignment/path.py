"""The way of a talk through its slides: a hidden Markov model, decoded as Viterbi and weighed forward and backward.

A state is a place in the deck, with the slide on the screen or off it (a greeting, a demonstration, questions). A talk
mostly stays, goes on to the next slide at a price, skips some at a higher one, and now and then goes back.
Sources: Rabiner, "A tutorial on hidden Markov models" (1989); for speech and slides, Kan, "SlideSeer" (2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

# Prices of a step, in nats: tuned on made talks (tests/ingest/made_talks.py), see docs/alignment.md.
_TURN, _SKIP, _BACK = 2.8, 0.8, 1.6  # to the next slide; more for a skip, and for going back
_FAR, _FARTHEST = 0.05, 3.0  # more for each slide between, at most
_LEAVE, _RETURN = 5.0, 1.8  # off the screen, and onto it
_BEFORE = 1.0  # before the first slide
_LATE = 0.2  # for each slide that the talk does not begin with, at most `_FARTHEST`


@dataclass(frozen=True)
class Signs:
    """What speaks for the way at each step, in nats.

    Args:
        on: shape `(steps, slides)`, log-odds that a step is about a slide.
        off: shape `(steps,)`, the same for no slide on the screen.
        turn: shape `(steps,)`, how much cheaper than usual it is to change to what the step shows.
        back: shape `(steps,)`, … to go back to it, on top of that.
    """

    on: Matrix
    off: Vector
    turn: Vector
    back: Vector


@dataclass(frozen=True)
class Way:
    """For each step its slide, counted from 0, or -1 for none, and how sure that is, from 0 to 1."""

    slides: tuple[int, ...]
    confidence: tuple[float, ...]


def decode(signs: Signs) -> Way:
    """The best way; its confidence is the probability of each of its slides, all other ways considered."""
    steps, slides = signs.on.shape
    if not steps or not slides:
        return Way((-1,) * steps, (0.0,) * steps)
    emission = np.hstack([signs.on, np.repeat(signs.off[:, None], slides, axis=1)])
    moves = _Moves(slides)
    best = _viterbi(emission, moves, signs)
    posterior = _posterior(emission, moves, signs)
    sure = np.hstack([posterior[:, :slides], posterior[:, slides:].sum(axis=1, keepdims=True)])
    confidence = sure[np.arange(steps), np.minimum(best, slides)]
    return Way(
        tuple(int(state) if state < slides else -1 for state in best), tuple(min(1.0, float(one)) for one in confidence)
    )


class _Moves:
    """Log weights of the first state and of all changes, `(from, to)`; the first half of the states is on the screen,
    the second off it."""

    def __init__(self, slides: int) -> None:
        ahead = np.arange(slides)[None, :] - np.arange(slides)[:, None]
        far = np.minimum(_FAR * (np.abs(ahead) - 1), _FARTHEST)
        extra = np.where(ahead > 1, _SKIP, 0.0) + np.where(ahead < 0, _BACK, 0.0)
        price = np.where(ahead == 0, 0.0, _TURN + far + extra)
        same = np.where(np.eye(slides, dtype=bool), 0.0, np.inf)
        self.weights: Matrix = -np.block([[price, same + _LEAVE], [price + _RETURN, same]])
        self.leaving = ~np.eye(2 * slides, dtype=bool)
        self.backward = np.block([[ahead < 0, np.zeros_like(ahead, dtype=bool)]] * 2)
        late = np.minimum(_LATE * np.arange(slides), _FARTHEST)
        self.start: Vector = -np.concatenate([late, late + _BEFORE])


def _viterbi(emission: Matrix, moves: _Moves, signs: Signs) -> NDArray[np.intp]:
    score = moves.start + emission[0]
    came = np.zeros(emission.shape, dtype=np.intp)
    for step in range(1, len(emission)):
        through = score[:, None] + moves.weights + signs.turn[step] * moves.leaving + signs.back[step] * moves.backward
        came[step] = through.argmax(axis=0)
        score = through.max(axis=0) + emission[step]
    path = np.zeros(len(emission), dtype=np.intp)
    path[-1] = score.argmax()
    for step in range(len(emission) - 1, 0, -1):
        path[step - 1] = came[step, path[step]]
    return path


def _posterior(emission: Matrix, moves: _Moves, signs: Signs) -> Matrix:
    """Probability of each state at each step."""
    weight = np.exp(emission - emission.max(axis=1, keepdims=True))
    change = np.exp(moves.weights) * moves.leaving
    ahead, back = change * ~moves.backward, change * moves.backward
    turn, more = np.exp(signs.turn), np.exp(signs.turn + signs.back)
    forward, backward = np.zeros_like(weight), np.ones_like(weight)
    forward[0] = _share(np.exp(moves.start) * weight[0])
    for at in range(1, len(weight)):
        last = forward[at - 1]
        forward[at] = _share((last + turn[at] * (last @ ahead) + more[at] * (last @ back)) * weight[at])
    for at in range(len(weight) - 2, -1, -1):
        after = weight[at + 1] * backward[at + 1]
        backward[at] = _share(after + turn[at + 1] * (ahead @ after) + more[at + 1] * (back @ after))
    both = forward * backward
    shares: Matrix = both / both.sum(axis=1, keepdims=True)
    return shares


def _share(values: Vector) -> Vector:
    shares: Vector = np.maximum(values / values.sum(), 1e-30)  # no way is ever ruled out by rounding
    return shares
