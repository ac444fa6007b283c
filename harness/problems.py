"""What each problem asks: parameters, cases, inputs, float64 reference, check, bytes of an ideal solution."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.check import Check, check_bitwise, check_softmax, in_parts
from harness.errors import UsageError
from harness.signature import PARAMETERS, Parameter

Sizes = Mapping[str, int]
Arrays = dict[str, np.ndarray]

FLT_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Case:
    """One call of `solve`.

    The contents of the inputs follow from (seed, `contents`) alone, so that a case can be replayed by itself. `poison`
    selects the pattern (0 or 1) that outputs are filled with beforehand; `shift` moves every buffer by so many times
    256 bytes. Groups: "main" and "random" decide the verdict, "special" only with --strict, "large" runs on request,
    "timing" is the size that is timed.
    """

    name: str
    group: str
    sizes: Sizes
    kind: str
    contents: str
    poison: int
    shift: int = 0

    @property
    def elements(self) -> int:
        return max(self.sizes.values())


@dataclass(frozen=True)
class Problem:
    """A problem as data and functions. `cases(seed)` gives the full list in a fixed order; the judge shuffles it."""

    name: str
    summary: str
    version: int
    parameters: tuple[Parameter, ...]
    cases: Callable[[int], list[Case]]
    timing_sizes: tuple[int, ...]  # of the leaderboard
    timing_case: Callable[[int], Case]
    lengths: Callable[[Sizes], dict[str, int]]  # elements of each buffer
    fill: Callable[[Case, np.random.Generator], Arrays]
    reference: Callable[[Arrays, Sizes], Arrays]
    check: Callable[[Arrays, Arrays, Arrays, Arrays], Check]  # inputs, outputs, reference, poison -> Check
    ideal_bytes: Callable[[Sizes], int]
    reference_solve: Path  # the contestant of the reference row, and
    reference_label: str  # what that row is called
    copy_solve: Path  # moves ideal_bytes and does nothing else: the ceiling

    def timing_cases(self, sizes: tuple[int, ...] | None) -> list[Case]:
        """The cases to time: those of `sizes`, or of the leaderboard."""
        return [self.timing_case(size) for size in sizes or self.timing_sizes]

    @property
    def buffers(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.is_buffer)

    def inputs(self, case: Case, seed: int) -> Arrays:
        """The inputs of a case; the same for the same seed on every machine."""
        return self.fill(case, np.random.default_rng([seed, zlib.crc32(case.contents.encode())]))


# ---- contents of vectors ----------------------------------------------------------------------------------------


def _uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    # Drawn as float32: exactly the published performance input, and half the memory of a float64 draw.
    return rng.random(n, dtype=np.float32) * np.float32(20) - np.float32(10)


def _one_hot(n: int, rng: np.random.Generator) -> np.ndarray:
    x = rng.uniform(-1, 1, n)
    x[rng.integers(n)] = 1000.0
    return x


def _huge(n: int, rng: np.random.Generator) -> np.ndarray:
    # Several elements near the maximum, so that the answer is more than a single 1.
    return rng.choice([-1e4, 1e4], n) + rng.uniform(-1, 1, n)


def _near_limit(n: int, rng: np.random.Generator) -> np.ndarray:
    # x - m overflows to -inf between the signs; equal maxima share the answer.
    return rng.choice([-FLT_MAX, -0.99 * FLT_MAX, 0.99 * FLT_MAX, FLT_MAX], n)


def _some_minus_infinity(n: int, rng: np.random.Generator) -> np.ndarray:
    x = _uniform(n, rng)
    x[rng.random(n) < 0.3] = -np.inf
    x[rng.integers(n)] = 1.0
    return x


def _first_block_minus_infinity(n: int, rng: np.random.Generator) -> np.ndarray:
    x = _uniform(n, rng)
    x[: min(1024, n - 1)] = -np.inf
    return x


def _with(value: float) -> Callable[[int, np.random.Generator], np.ndarray]:
    def fill(n: int, rng: np.random.Generator) -> np.ndarray:
        x = _uniform(n, rng)
        x[rng.integers(n)] = value
        return x

    return fill


def _twin(n: int, rng: np.random.Generator) -> np.ndarray:
    # The uniform vector of the same seed with its inside in another order: for a solve that looks at the ends only.
    x = _uniform(n, rng)
    rng.shuffle(x[1:-1])
    return x


CONTENTS: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "uniform": _uniform,
    "normal": lambda n, rng: rng.standard_normal(n),
    "equal": lambda n, rng: np.full(n, rng.choice([-300.0, 0.25, 300.0])),
    "one-hot": _one_hot,
    "ascending": lambda n, rng: np.sort(rng.uniform(-40, 40, n)),
    "descending": lambda n, rng: np.sort(rng.uniform(-40, 40, n))[::-1],
    "huge": _huge,
    "near-limit": _near_limit,
    "subnormal": lambda n, rng: rng.uniform(-1e-38, 1e-38, n),
}

OTHER_CONTENTS: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "twin": _twin,
    "some-minus-infinity": _some_minus_infinity,
    "first-block-minus-infinity": _first_block_minus_infinity,
    "all-minus-infinity": lambda n, rng: np.full(n, -np.inf),
    "plus-infinity": _with(np.inf),
    "nan": _with(np.nan),
}


def _fill_vector(case: Case, rng: np.random.Generator) -> Arrays:
    contents = CONTENTS.get(case.kind) or OTHER_CONTENTS[case.kind]
    return {"input": np.ascontiguousarray(contents(case.sizes["N"], rng), dtype=np.float32)}


def _vector_case(group: str, n: int, kind: str, poison: int) -> Case:
    name = f"N={n}/{kind}"
    return Case(name, group, {"N": n}, kind, name, poison)


def _again(case: Case) -> Case:
    """The same contents once more, at other addresses, over the other poison: for a solve that remembers."""
    return Case(f"{case.name}/again", case.group, case.sizes, case.kind, case.contents, 1 - case.poison, shift=1)


def _timing_case(n: int) -> Case:
    return Case(f"N={n}/uniform/timing", "timing", {"N": n}, "uniform", f"N={n}/uniform/timing", 0)


# ---- softmax ----------------------------------------------------------------------------------------------------

SMALL_SIZES = (1, 2, 3, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4095, 4097)
MEDIUM_SIZES = (65_537, 500_000)
LARGEST_RANDOM_SIZE = 500_000
LARGE_SIZES = (2**24 + 1, 2**28, 2**31 - 9)
SPECIAL_SIZES = (33, 2500)


def _softmax_cases(seed: int) -> list[Case]:
    chance = random.Random(seed)
    cases = []

    def add(group: str, sizes: list[int], kinds: list[str]) -> None:
        for n in sizes:
            cases.extend(_vector_case(group, n, kind, i % 2) for i, kind in enumerate(kinds))

    def two_kinds() -> list[str]:
        return ["uniform", chance.choice([kind for kind in CONTENTS if kind != "uniform"])]

    fixed = {*SMALL_SIZES, *MEDIUM_SIZES}
    small_random = [n for n in chance.sample(range(4, SMALL_SIZES[-1]), 8) if n not in fixed][:2]
    medium_random = int(4098 * (LARGEST_RANDOM_SIZE / 4098) ** chance.random())  # uniform in its logarithm
    add("main", list(SMALL_SIZES), list(CONTENTS))
    for n in MEDIUM_SIZES:
        add("main", [n], two_kinds())
    add("random", small_random, list(CONTENTS))
    add("random", [] if medium_random in fixed else [medium_random], two_kinds())
    add("special", list(SPECIAL_SIZES), [kind for kind in OTHER_CONTENTS if kind != "twin"])
    repeated = [c for c in cases if c.name in ("N=1025/uniform", f"N={MEDIUM_SIZES[0]}/uniform")]
    cases += [_again(c) for c in repeated]
    cases += [replace(c, name=f"{c.name}/twin", kind="twin", poison=1 - c.poison) for c in repeated]
    add("large", list(LARGE_SIZES), ["uniform"])
    return cases


def _softmax_reference(inputs: Arrays, sizes: Sizes) -> Arrays:
    """float64 softmax of the float32 input, shape (N,): all NaN where an input is NaN or +inf, or all are -inf."""
    x = inputs["input"]
    e = np.empty(len(x), dtype=np.float64)
    maximum = np.float64(x.max())

    def exponentials(part: slice) -> float:
        with np.errstate(invalid="ignore"):  # inf - inf is the NaN we want
            np.exp(x[part] - maximum, out=e[part])
        return float(e[part].sum())

    total = sum(in_parts(exponentials, len(x)))
    e /= total
    return {"output": e}


def _check_softmax(inputs: Arrays, outputs: Arrays, reference: Arrays, poison: Arrays) -> Check:
    return check_softmax(inputs["input"], outputs["output"], reference["output"], poison["output"])


# ---- subtract_one -----------------------------------------------------------------------------------------------

SUBTRACT_ONE_SIZES = (1, 1023, 1024, 1025, 3072, 100_003)


def _subtract_one_cases(seed: int) -> list[Case]:
    kinds = ("uniform", "normal")
    cases = [_vector_case("main", n, kind, i) for n in SUBTRACT_ONE_SIZES for i, kind in enumerate(kinds)]
    return [*cases, _again(cases[-2])]


def _subtract_one_reference(inputs: Arrays, sizes: Sizes) -> Arrays:
    # float32, since the answer is exact in it.
    return {"output": inputs["input"] - np.float32(1)}


def _check_subtract_one(inputs: Arrays, outputs: Arrays, reference: Arrays, poison: Arrays) -> Check:
    return check_bitwise(outputs["output"], reference["output"], poison["output"])


# ---- the table --------------------------------------------------------------------------------------------------

_SOLVES = Path(__file__).with_name("reference")


def _vector_lengths(sizes: Sizes) -> dict[str, int]:
    return {"input": sizes["N"], "output": sizes["N"]}


def _vector_ideal_bytes(sizes: Sizes) -> int:
    return 2 * 4 * sizes["N"]  # float32: one read, one write


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem(
            name="softmax",
            summary="softmax of one float32 vector",
            version=1,
            parameters=PARAMETERS["softmax"],
            cases=_softmax_cases,
            timing_sizes=(500_000,),
            timing_case=_timing_case,
            lengths=_vector_lengths,
            fill=_fill_vector,
            reference=_softmax_reference,
            check=_check_softmax,
            ideal_bytes=_vector_ideal_bytes,
            reference_solve=_SOLVES / "softmax.py",
            reference_label="torch.softmax",
            copy_solve=_SOLVES / "copy.py",
        ),
        Problem(
            name="subtract_one",
            summary="output = input - 1, bit for bit: the teaching example",
            version=1,
            parameters=PARAMETERS["subtract_one"],
            cases=_subtract_one_cases,
            timing_sizes=(1_000_000,),
            timing_case=_timing_case,
            lengths=_vector_lengths,
            fill=_fill_vector,
            reference=_subtract_one_reference,
            check=_check_subtract_one,
            ideal_bytes=_vector_ideal_bytes,
            reference_solve=_SOLVES / "subtract_one.py",
            reference_label="torch.sub",
            copy_solve=_SOLVES / "copy.py",
        ),
    )
}


def find_problem(name: str) -> Problem:
    if name not in PROBLEMS:
        raise UsageError(f"there is no problem {name!r}: choose one of {', '.join(PROBLEMS)}")
    return PROBLEMS[name]
