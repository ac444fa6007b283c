"""What is right: compares one output with its float64 reference and says where it is worst.

Every comparison is of the form "error <= bound", which NaN fails: NaN <= x is False.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import ml_dtypes  # makes bfloat16 known to NumPy by its name
import numpy as np

from harness.layout import Layout

UNIT_ROUNDOFF = 2.0**-24  # of float32
FLT_MIN = float(np.finfo(np.float32).tiny)

PUBLISHED_ATOL = PUBLISHED_RTOL = 1e-5


@dataclass(frozen=True)
class Check:
    """The outcome for one output.

    `message` is "" if passed. `index` is that of the worst element, row by row without gaps, and `ratio` its error in
    units of its tolerance; `relative_l2` is ||got - expected|| / ||expected|| in float64, where a number is expected;
    `total` the sum of the worst element's row. `published_passed` is whether atol = rtol = 1e-5 would have passed it:
    for types that cannot hold such a result, for which nothing like it is published, the same as `passed`. Of a
    challenge, whose published rule is the one that decides, it is the same, too: `difference` says where the rule of
    `check_published` that knows the size of the answer would have decided otherwise.
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
    difference: str = ""


# Vectors of gigabytes are worked on in parts, by several threads: no whole float64 copies, no minutes of waiting.
PART = 1 << 22

Result = TypeVar("Result")


def in_parts(function: Callable[[slice], Result], n: int, width: int = 1) -> list[Result]:
    """function(slice) for consecutive slices that cover range(n), whose items have `width` elements each, in order."""
    step = max(1, PART // width)
    parts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    if len(parts) == 1:
        return [function(parts[0])]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, parts))


@dataclass(frozen=True)
class Rounding:
    """What rounding a float32 result to a type may add: `relative` to it, and `absolute` where it is subnormal."""

    relative: float
    absolute: float


# By type of the output. That of float32 itself is in the other terms of the bound. Half the distance of two subnormals
# would do; a whole one lets converters pass that cut instead of rounding there.
ROUNDINGS = {
    "float32": Rounding(0.0, 0.0),
    "float16": Rounding(2.0**-11, float(ml_dtypes.finfo("float16").smallest_subnormal)),
    "bfloat16": Rounding(2.0**-8, float(ml_dtypes.finfo("bfloat16").smallest_subnormal)),
}


def check_softmax(x: np.ndarray, y: np.ndarray, r: np.ndarray, poison: np.ndarray) -> Check:
    """Checks y against r = softmax(x) in float64, of vectors of shape (N,) or of the rows of matrices (rows, N).

    Element i passes iff |y_i - r_i| <= (1e-5 + 2 u sqrt(N) + 4 u |x_i - m| + v) r_i + 2 FLT_MIN + w with u = 2^-24, m
    the maximum of its row, v and w the output's Rounding (0 of float32), NaN matching NaN. The term in |x_i - m| is the
    condition of exp; the term in sqrt(N) the usual growth of the rounding error of a sum (Blanchard, Higham and Higham,
    2021, "Accurately computing the log-sum-exp and softmax functions", IMA J. Numer. Anal. 41). The sum needs no rule
    of its own: sum_i |x_i - m| r_i <= log N, so the elements' bounds keep it within 1e-5 + 2 u sqrt(N) + 4 u log N (and
    v, and N w) of 1. A half type is held to float32 arithmetic and one rounding at the end.
    """
    columns = r.shape[-1]
    rounding = ROUNDINGS[str(y.dtype)]
    relative = 1e-5 + 2 * UNIT_ROUNDOFF * np.sqrt(columns) + rounding.relative
    absolute = 2 * FLT_MIN + rounding.absolute
    with np.errstate(invalid="ignore"):  # ml_dtypes warns of NaN
        maxima = x.reshape(-1, columns).max(axis=1).astype(np.float64)
    flat_x, flat_y, flat_r = x.reshape(-1), y.reshape(-1), r.reshape(-1)

    def ratio(part: slice) -> np.ndarray:
        expected = flat_r[part]
        maximum = maxima[0] if len(maxima) == 1 else maxima[np.arange(part.start, part.stop) // columns]
        # Where r is 0 its relative term vanishes, even where |x - m| is infinite.
        condition = np.where(expected > 0, np.abs(flat_x[part].astype(np.float64) - maximum), 0.0)
        bound = (relative + 4 * UNIT_ROUNDOFF * condition) * expected + absolute
        ratios = np.abs(flat_y[part].astype(np.float64) - expected) / bound
        missing = np.isnan(expected)  # a row's reference is NaN everywhere or nowhere
        if missing.any():
            ratios[missing] = np.where(np.isnan(flat_y[part][missing]), 0.0, np.inf)
        return ratios

    return _compare(y, r, poison, ratio)


def check_bitwise(y: np.ndarray, r: np.ndarray, poison: np.ndarray) -> Check:
    """Checks that y equals r bit for bit; both float32, shape (N,)."""
    return _compare(y, r, poison, lambda part: np.where(_bits(y[part]) == _bits(r[part]), 0.0, np.inf))


# The largest error that an answer may have, as a share of the largest expected value, by its type: what arithmetic in
# float32 (in another order, with fast functions) leaves, and one rounding to the type.
SHARES = {"float64": 1e-9, "float32": 1e-4, "float16": 2.0**-9, "bfloat16": 2.0**-6}
REFERENCE_FACTOR = 16  # or so many times the error of the challenge's own reference


@dataclass(frozen=True)
class Published:
    """A published tolerance: |y - r| <= atol + rtol |r|."""

    atol: float
    rtol: float


def check_published(
    name: str, y: np.ndarray, r: np.ndarray, wide: np.ndarray | None, poison: np.ndarray, rule: Published
) -> Check:
    """Checks the buffer `name` against r, what the challenge's reference gave in its own types, all of one shape.

    The published rule decides; NaN matches NaN, an infinity itself, and what is no floating type must be equal. It is
    blind where the answers are smaller than atol, and asks too much where r itself is further from the truth. So with
    `wide`, the reference's answer in float64, the error is also held against the largest expected value (SHARES).
    """
    if not y.size:
        return Check(True)
    is_exact = y.dtype.kind in "biu"
    flat_y, flat_r = y.reshape(-1), r.reshape(-1)

    def ratio(part: slice) -> np.ndarray:
        equal = flat_y[part] == flat_r[part]
        if is_exact:
            return np.where(equal, 0.0, np.inf)
        got, expected = flat_y[part].astype(np.float64), flat_r[part].astype(np.float64)
        error, bound = np.abs(got - expected), rule.atol + rule.rtol * np.abs(expected)
        with np.errstate(divide="ignore"):
            ratios = error / bound
        ratios[~np.isfinite(expected)] = np.inf
        ratios[equal | (np.isnan(got) & np.isnan(expected))] = 0.0
        return ratios

    check = _compare(y, r, poison, ratio, name)
    check = replace(check, published_passed=check.passed)
    if wide is None or is_exact:
        return check
    return replace(check, difference=_difference(name, y, flat_r, wide.reshape(-1), check.passed, rule))


def _difference(
    name: str, y: np.ndarray, native: np.ndarray, wide: np.ndarray, published: bool, rule: Published
) -> str:
    """Where the rule that knows the size of the answer disagrees with the published one, or ""."""
    flat = y.reshape(-1).astype(np.float64)
    native = native.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        known = np.isfinite(wide) & np.isfinite(native)
        if not known.any():
            return ""
        size = float(np.abs(wide[known]).max())
        if size == 0:
            return ""
        error = float(np.abs(flat[known] - wide[known]).max()) / size  # NaN where an answer is
        of_reference = float(np.abs(native[known] - wide[known]).max()) / size
    allowed = max(SHARES[str(y.dtype)], REFERENCE_FACTOR * of_reference)
    if (error <= allowed) == published:
        return ""
    share = (
        f"the largest error of {name} is {error:.3g} of the largest expected value, {size:.3g} (allowed: {allowed:.2g})"
    )
    tolerance = f"atol = {rule.atol:g}, rtol = {rule.rtol:g}"
    return f"passed by {tolerance}, yet {share}" if published else f"failed by {tolerance}, yet {share}"


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


def _shown(value: np.generic) -> str:
    """An element for a message: nine digits, of whole numbers all."""
    return str(int(value)) if value.dtype.kind in "biu" else f"{float(value):.9g}"


@dataclass(frozen=True)
class _Part:
    """What `_compare` saw in one part of an output: sums, counts, the worst element and the first unwritten one."""

    worst: float
    worst_index: int
    wrong: int
    unwritten: int
    first_unwritten: int
    error_squares: float
    squares: float
    published: bool


def _compare(
    y: np.ndarray, r: np.ndarray, poison: np.ndarray, ratio: Callable[[slice], np.ndarray], name: str = "output"
) -> Check:
    """A Check from the ratio of error to tolerance of each element; what is not <= 1 is wrong, NaN included.

    All of one shape; `ratio` takes slices of it row by row.
    """
    shape = y.shape
    is_published = str(y.dtype) == "float32"
    columns = shape[-1] if shape else 1
    matrix = y.reshape(-1, columns)
    y, r, poison = y.reshape(-1), r.reshape(-1), poison.reshape(-1)

    def look(part: slice) -> _Part:
        with np.errstate(invalid="ignore", over="ignore"):
            ratios = ratio(part)
            # The poison may be a NaN itself: where it still stands nothing was written, whatever is expected there.
            still_poison = (_bits(y[part]) == _bits(poison[part])) & ~(y[part] == r[part])
            ratios[np.isnan(ratios) | still_poison] = np.inf
            wide = y[part].astype(np.float64)
            expected = r[part].astype(np.float64, copy=False)
            known = ~np.isnan(expected)
            if not known.all():
                wide, expected = wide[known], expected[known]
            error = wide - expected
            worst = int(np.argmax(ratios))
            return _Part(
                worst=float(ratios[worst]),
                worst_index=part.start + worst,
                wrong=int(np.count_nonzero(~(ratios <= 1))),
                unwritten=int(np.count_nonzero(still_poison)),
                first_unwritten=part.start + int(np.argmax(still_poison)),
                error_squares=float(error @ error),
                squares=float(expected @ expected),
                published=not is_published
                or np.allclose(y[part], r[part], rtol=PUBLISHED_RTOL, atol=PUBLISHED_ATOL, equal_nan=True),
            )

    parts = in_parts(look, len(r))
    worst = max(parts, key=lambda part: part.worst)
    wrong = sum(part.wrong for part in parts)
    unwritten = sum(part.unwritten for part in parts)
    squares = sum(part.squares for part in parts)
    relative_l2 = math.sqrt(sum(part.error_squares for part in parts) / squares) if squares > 0 else math.nan

    index = next((part.first_unwritten for part in parts if part.unwritten), worst.worst_index)
    row = index // columns
    with np.errstate(invalid="ignore", over="ignore"):
        total = sum(in_parts(lambda part: float(matrix[row, part].astype(np.float64).sum()), columns))
    place = Layout(shape).place(index)
    got, expected = float(y[index]), float(r[index])
    message = ""
    if unwritten:
        more = f" and {unwritten - 1} more" if unwritten > 1 else ""
        where = f"index {index}" if len(shape) < 2 else place[1:-1]
        message = f"{name} not written at {where}{more}: the poison is still there, expected {_shown(r[index])}"
    elif wrong:
        message = (
            f"{name}{place} is {_shown(y[index])}, expected {_shown(r[index])} "
            f"(error {worst.worst:.3g} x the tolerance; {wrong} of {len(r)} elements wrong; "
            f"relative L2 error {relative_l2:.2g}; sum{f' of row {row}' if len(shape) > 1 else ''} {total:.9g})"
        )
    published = all(part.published for part in parts) if is_published else not message
    return Check(not message, message, index, got, expected, worst.worst, relative_l2, total, published)
