"""What is right: compares one output with its float64 reference and says where it is worst.

Every comparison is of the form "error <= bound", which NaN fails: NaN <= x is False.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

UNIT_ROUNDOFF = 2.0**-24  # of float32
FLT_MIN = float(np.finfo(np.float32).tiny)

PUBLISHED_ATOL = PUBLISHED_RTOL = 1e-5


@dataclass(frozen=True)
class Check:
    """The outcome for one output.

    `message` is "" if passed. `ratio` is the worst element's error in units of its tolerance, `relative_l2` is
    ||got - expected|| / ||expected|| in float64, `published_passed` whether atol = rtol = 1e-5 would have passed it.
    """

    passed: bool
    message: str = ""
    index: int = -1
    got: float = 0.0
    expected: float = 0.0
    ratio: float = 0.0
    relative_l2: float = 0.0
    total: float = 0.0
    published_passed: bool = True


# Vectors of gigabytes are worked on in parts, by several threads: no whole float64 copies, no minutes of waiting.
PART = 1 << 22

Result = TypeVar("Result")


def in_parts(function: Callable[[slice], Result], n: int) -> list[Result]:
    """function(slice) for consecutive slices that cover range(n), the results in order."""
    parts = [slice(start, min(start + PART, n)) for start in range(0, n, PART)]
    if len(parts) == 1:
        return [function(parts[0])]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, parts))


def check_softmax(x: np.ndarray, y: np.ndarray, r: np.ndarray, poison: np.ndarray) -> Check:
    """Checks y (float32, shape (N,)) against r = softmax(x) in float64, both of shape (N,).

    Element i passes iff |y_i - r_i| <= (1e-5 + 2 u sqrt(N) + 4 u |x_i - m|) r_i + 2 FLT_MIN with u = 2^-24, NaN
    matching NaN. The term in |x_i - m| is the condition of exp; the term in sqrt(N) the usual growth of the rounding
    error of a sum (Blanchard, Higham and Higham, 2021, "Accurately computing the log-sum-exp and softmax functions",
    IMA J. Numer. Anal. 41). The sum needs no rule of its own: sum_i |x_i - m| r_i <= log N, so the elements' bounds
    keep it within 1e-5 + 2 u sqrt(N) + 4 u log N of 1.
    """
    if np.isnan(r[0]):  # the reference is NaN everywhere or nowhere
        return _compare(y, r, poison, lambda part: np.where(np.isnan(y[part]), 0.0, np.inf))

    growth = 2 * UNIT_ROUNDOFF * np.sqrt(len(r))
    maximum = float(x.max())

    def ratio(part: slice) -> np.ndarray:
        # Where r is 0 its relative term vanishes, even where |x - m| is infinite.
        condition = np.where(r[part] > 0, np.abs(x[part].astype(np.float64) - maximum), 0.0)
        bound = (1e-5 + growth + 4 * UNIT_ROUNDOFF * condition) * r[part] + 2 * FLT_MIN
        return np.abs(y[part].astype(np.float64) - r[part]) / bound

    return _compare(y, r, poison, ratio)


def check_bitwise(y: np.ndarray, r: np.ndarray, poison: np.ndarray) -> Check:
    """Checks that y equals r bit for bit; both float32, shape (N,)."""
    return _compare(y, r, poison, lambda part: np.where(_bits(y[part]) == _bits(r[part]), 0.0, np.inf))


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint32)


@dataclass(frozen=True)
class _Part:
    """What `_compare` saw in one part of an output: sums, counts, the worst element and the first unwritten one."""

    worst: float
    worst_index: int
    wrong: int
    unwritten: int
    first_unwritten: int
    total: float
    error_squares: float
    squares: float
    published: bool


def _compare(y: np.ndarray, r: np.ndarray, poison: np.ndarray, ratio: Callable[[slice], np.ndarray]) -> Check:
    """A Check from the ratio of error to tolerance of each element; what is not <= 1 is wrong, NaN included."""

    def look(part: slice) -> _Part:
        with np.errstate(invalid="ignore", over="ignore"):
            ratios = ratio(part)
            # The poison may be a NaN itself: where it still stands nothing was written, whatever is expected there.
            still_poison = (_bits(y[part]) == _bits(poison[part])) & ~(y[part] == r[part])
            ratios[np.isnan(ratios) | still_poison] = np.inf
            wide = y[part].astype(np.float64)
            error = wide - r[part]
            worst = int(np.argmax(ratios))
            return _Part(
                worst=float(ratios[worst]),
                worst_index=part.start + worst,
                wrong=int(np.count_nonzero(~(ratios <= 1))),
                unwritten=int(np.count_nonzero(still_poison)),
                first_unwritten=part.start + int(np.argmax(still_poison)),
                total=float(wide.sum()),
                error_squares=float(error @ error),
                squares=float(r[part] @ r[part]),
                published=np.allclose(wide, r[part], rtol=PUBLISHED_RTOL, atol=PUBLISHED_ATOL, equal_nan=True),
            )

    parts = in_parts(look, len(r))
    worst = max(parts, key=lambda part: part.worst)
    wrong = sum(part.wrong for part in parts)
    unwritten = sum(part.unwritten for part in parts)
    total = sum(part.total for part in parts)
    squares = sum(part.squares for part in parts)
    relative_l2 = math.sqrt(sum(part.error_squares for part in parts) / squares) if squares > 0 else math.nan
    published = all(part.published for part in parts)

    index = next((part.first_unwritten for part in parts if part.unwritten), worst.worst_index)
    got, expected = float(y[index]), float(r[index])
    message = ""
    if unwritten:
        more = f" and {unwritten - 1} more" if unwritten > 1 else ""
        message = f"output not written at index {index}{more}: the poison is still there, expected {expected:.9g}"
    elif wrong:
        message = (
            f"output[{index}] is {got:.9g}, expected {expected:.9g} (error {worst.worst:.3g} x the tolerance; "
            f"{wrong} of {len(r)} elements wrong; relative L2 error {relative_l2:.2g}; sum {total:.9g})"
        )
    return Check(not message, message, index, got, expected, worst.worst, relative_l2, total, published)
