"""What is right: compares one output with its float64 reference and says where it is worst.

Every comparison is of the form "error <= bound", which NaN fails: NaN <= x is False.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def check_softmax(x: np.ndarray, y: np.ndarray, r: np.ndarray, poison: np.ndarray) -> Check:
    """Checks y (float32, shape (N,)) against r = softmax(x) in float64, both of shape (N,).

    Element i passes iff |y_i - r_i| <= (1e-5 + 2 u sqrt(N) + 4 u |x_i - m|) r_i + 2 FLT_MIN with u = 2^-24, NaN
    matching NaN; and |sum(y) - 1| <= 1e-4 + 2 u sqrt(N) where r has no NaN. The term in |x_i - m| is the condition of
    exp; the term in sqrt(N) the usual growth of the rounding error of a sum (Blanchard, Higham and Higham, 2021,
    "Accurately computing the log-sum-exp and softmax functions", IMA J. Numer. Anal. 41).
    """
    n = len(r)
    growth = 2 * UNIT_ROUNDOFF * np.sqrt(n)
    if np.isnan(r).any():  # the reference is NaN everywhere or nowhere
        # The poison may be a NaN itself: where it still stands nothing was written.
        wrong = ~np.isnan(y) | (y.view(np.uint32) == poison.view(np.uint32))
        return _verdict(y, r, np.where(wrong, np.inf, 0.0), wrong, poison, float("nan"), not wrong.any())

    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        # Where r is 0 its relative term vanishes, even where |x - m| is infinite.
        condition = np.where(r > 0, np.abs(wide - wide.max()), 0.0)
        bound = (1e-5 + growth + 4 * UNIT_ROUNDOFF * condition) * r + 2 * FLT_MIN
        error = np.abs(y.astype(np.float64) - r)
    wrong = ~(error <= bound)
    total = float(y.sum(dtype=np.float64))
    published = bool(np.all(error <= PUBLISHED_ATOL + PUBLISHED_RTOL * r))
    result = _verdict(y, r, error / bound, wrong, poison, total, published)
    if result.passed and not abs(total - 1) <= 1e-4 + growth:
        text = f"the sum of output is {total:.9g}, expected 1 within {1e-4 + growth:.2g}"
        return Check(False, text, 0, total, 1.0, abs(total - 1) / (1e-4 + growth), result.relative_l2, total, published)
    return result


def check_bitwise(y: np.ndarray, r: np.ndarray, poison: np.ndarray) -> Check:
    """Checks that y equals r bit for bit; both of one dtype and shape (N,)."""
    wrong = y.view(np.uint32) != r.view(np.uint32)
    published = bool(np.allclose(y, r, rtol=PUBLISHED_RTOL, atol=PUBLISHED_ATOL))
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.where(wrong, np.abs(y.astype(np.float64) - r), 0.0)
    return _verdict(y, r.astype(np.float64), error, wrong, poison, float(y.sum(dtype=np.float64)), published)


def _verdict(
    y: np.ndarray,
    r: np.ndarray,
    ratio: np.ndarray,
    wrong: np.ndarray,
    poison: np.ndarray,
    total: float,
    published: bool,
) -> Check:
    """A Check from the elementwise ratio of error to tolerance; a NaN ratio counts as infinite."""
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    index = int(np.argmax(np.where(wrong, ratio, -1.0))) if wrong.any() else int(np.argmax(ratio))
    got, expected = float(y[index]), float(r[index])
    with np.errstate(invalid="ignore", over="ignore"):
        norm = float(np.linalg.norm(r))
        relative_l2 = float(np.linalg.norm(y.astype(np.float64) - r)) / norm if norm > 0 else float("nan")
    numbers = (index, got, expected, float(ratio[index]), relative_l2, total, published)
    if not wrong.any():
        return Check(True, "", *numbers)

    unwritten = np.flatnonzero(wrong & (y.view(np.uint32) == poison.view(np.uint32)))
    if len(unwritten):
        first = int(unwritten[0])
        more = f" and {len(unwritten) - 1} more" if len(unwritten) > 1 else ""
        text = f"output not written at index {first}{more}: the poison is still there, expected {r[first]:.9g}"
        return Check(False, text, first, float(y[first]), float(r[first]), *numbers[3:])
    text = (
        f"output[{index}] is {got:.9g}, expected {expected:.9g} (error {ratio[index]:.3g} x the tolerance; "
        f"{int(wrong.sum())} of {len(r)} elements wrong; relative L2 error {relative_l2:.2g}; sum {total:.9g})"
    )
    return Check(False, text, *numbers)
