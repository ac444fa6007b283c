"""What each problem asks: parameters, cases, inputs, float64 reference, check, bytes of an ideal solution."""

from __future__ import annotations

import functools
import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import ml_dtypes
import numpy as np

from harness.check import Check, check_bitwise, check_softmax, in_parts
from harness.errors import UsageError
from harness.layout import Layout
from harness.signature import PARAMETERS, Parameter

Sizes = Mapping[str, int | float]  # of a challenge also its scalars that are no sizes
Shape = tuple[int, ...]  # (N,), or (rows, columns): what a user names with --sizes
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """One call of `solve`.

    The contents of the inputs follow from (seed, `contents`) alone, so that a case can be replayed by itself. `poison`
    selects the pattern (0 or 1) that outputs are filled with beforehand; `shift` moves every buffer by so many times
    256 bytes. Groups: "main" and "random" decide the verdict, and so does "gpu", which the CPU backend is too slow for
    and leaves out; "special" only with --strict; "large" runs on request; "timing" is the size that is timed.
    """

    name: str
    group: str
    sizes: Sizes
    kind: str
    contents: str
    poison: int
    shift: int = 0


@dataclass(frozen=True)
class Challenge:
    """What a problem that was loaded from a directory has beside others: see challenge.py.

    Outputs start as its test cases have them, and Python solves get tensors in the shapes that these have.
    """

    directory: Path
    unsupported: Mapping[str, str]  # by language: why no file in it can be judged
    objects: Callable[[Sizes], dict[str, str]]  # files that hold the arguments which are neither buffers nor scalars


@dataclass(frozen=True)
class Problem:
    """A problem as data and functions. `cases(seed)` gives the full list in a fixed order; the judge shuffles it."""

    name: str
    summary: str
    version: int
    parameters: tuple[Parameter, ...]
    cases: Callable[[int], list[Case]]
    dimensions: tuple[str, ...]  # names of the sizes that make the shape
    timing_shapes: tuple[Shape, ...]  # of the leaderboard, and
    emulated_shapes: tuple[Shape, ...]  # of the CPU backend
    timing_case: Callable[..., Case]  # of a shape's numbers; rows without gaps
    layouts: Callable[[Sizes], dict[str, Layout]]  # how the elements of each buffer lie in it
    fill: Callable[[Case, np.random.Generator], Arrays]
    reference: Callable[[Arrays, Sizes], Arrays]
    check: Callable[[Arrays, Arrays, Arrays, Arrays], Check]  # payloads: inputs, outputs, reference, poison -> Check
    ideal_bytes: Callable[[Sizes], int]
    reference_solve: Path  # the contestant of the reference row, and
    reference_label: str  # what that row is called
    copy_solve: Path  # moves ideal_bytes and does nothing else: the ceiling
    challenge: Challenge | None = None

    def timing_cases(self, shapes: tuple[Shape, ...] | None, backend: str) -> list[Case]:
        """The cases to time: those of `shapes`, or the problem's own. Raises UsageError for shapes of another kind."""
        for shape in shapes or ():
            if len(shape) != len(self.dimensions):
                wanted = "x".join(name.upper() for name in self.dimensions)
                example = "x".join(map(str, self.timing_shapes[0]))
                raise UsageError(
                    f"--sizes {'x'.join(map(str, shape))} is no size of {self.name}: it takes {wanted}, as in {example}"
                )
        own = self.emulated_shapes if backend == "cpu" else self.timing_shapes
        return [self.timing_case(*shape) for shape in shapes or own]

    def shape(self, case: Case) -> dict[str, int]:
        """The sizes that make the case's shape, by name: of a timing case they say all."""
        return {name: case.sizes[name] for name in self.dimensions}

    def lengths(self, sizes: Sizes) -> dict[str, int]:
        """Elements of each buffer."""
        return {name: layout.length for name, layout in self.layouts(sizes).items()}

    def elements(self, sizes: Sizes) -> int:
        """Elements of the largest buffer, without gaps."""
        return max(layout.elements for layout in self.layouts(sizes).values())

    def examine(self, case: Case, inputs: Arrays, outputs: Arrays, reference: Arrays, poison: Arrays) -> Check:
        """`check`, of whole buffers: what lies between their rows has no part in it."""
        layouts = self.layouts(case.sizes)
        buffers = ({name: layouts[name].payload(each) for name, each in group.items()} for group in (inputs, outputs))
        return self.check(*buffers, reference, {name: layouts[name].payload(each) for name, each in poison.items()})

    @property
    def flags(self) -> list[str]:
        """How a command line names the problem."""
        return ["--challenge", str(self.challenge.directory)] if self.challenge else ["--problem", self.name]

    @property
    def buffers(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.is_buffer)

    def inputs(self, case: Case, seed: int) -> Arrays:
        """The inputs of a case; the same for the same seed on every machine. Of a challenge also how outputs start."""
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


def _near(limit: float) -> Callable[[int, np.random.Generator], np.ndarray]:
    # In float32 x - m overflows to -inf between the signs; equal maxima share the answer.
    return lambda n, rng: rng.choice([-limit, -0.99 * limit, 0.99 * limit, limit], n)


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
    # The uniform vector of the same seed with its inside in another order: for a solve that looks at the ends or at a
    # sum only.
    x = _uniform(n, rng)
    rng.shuffle(x[1:-1])
    return x


def _near_twin(n: int, rng: np.random.Generator) -> np.ndarray:
    # The uniform vector of the same seed but for one element inside: for a solve that looks at a sample only.
    x = _uniform(n, rng)
    x[rng.integers(1, n - 1)] = 12.0
    return x


FLT_MAX = float(np.finfo(np.float32).max)

Contents = Callable[[int, np.random.Generator], np.ndarray]


def contents_of(dtype: str) -> dict[str, Contents]:
    """Every kind of finite contents, within the range of a type."""
    limits = ml_dtypes.finfo(dtype)
    smallest = 0.85 * float(limits.tiny)
    return {
        "uniform": _uniform,
        "normal": lambda n, rng: rng.standard_normal(n),
        "equal": lambda n, rng: np.full(n, rng.choice([-300.0, 0.25, 300.0])),
        "one-hot": _one_hot,
        "ascending": lambda n, rng: np.sort(rng.uniform(-40, 40, n)),
        "descending": lambda n, rng: np.sort(rng.uniform(-40, 40, n))[::-1],
        "huge": _huge,
        "near-limit": _near(float(limits.max)),
        "subnormal": lambda n, rng: rng.uniform(-smallest, smallest, n),
    }


CONTENTS = contents_of("float32")

OTHER_CONTENTS: dict[str, Contents] = {
    "twin": _twin,
    "near-twin": _near_twin,
    "some-minus-infinity": _some_minus_infinity,
    "first-block-minus-infinity": _first_block_minus_infinity,
    "all-minus-infinity": lambda n, rng: np.full(n, -np.inf),
    "plus-infinity": _with(np.inf),
    "nan": _with(np.nan),
}


def _edges(n: int, rng: np.random.Generator) -> np.ndarray:
    # Where a difference to 1 is 0, of which there are two, or rounds, or vanishes beside the other number.
    x = rng.standard_normal(n)
    edges = [1.0, 1 - 2.0**-24, 1 + 2.0**-23, 0.0, -0.0, 2.0**-149, 2.0**24, -(2.0**24), FLT_MAX, -FLT_MAX]
    x[::2] = rng.permutation(np.resize(edges, len(x[::2])))
    return x


def _fill_vector(case: Case, rng: np.random.Generator) -> Arrays:
    contents = {**CONTENTS, **OTHER_CONTENTS, "edges": _edges}[case.kind]
    return {"input": np.ascontiguousarray(contents(case.sizes["N"], rng), dtype=np.float32)}


def _vector_case(group: str, n: int, kind: str, poison: int) -> Case:
    name = f"N={n}/{kind}"
    return Case(name, group, {"N": n}, kind, name, poison)


def again(case: Case) -> Case:
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
    add("special", list(SPECIAL_SIZES), [kind for kind in OTHER_CONTENTS if "twin" not in kind])
    repeated = [c for c in cases if c.name in ("N=1025/uniform", f"N={MEDIUM_SIZES[0]}/uniform")]
    cases += [again(c) for c in repeated]
    # In the smaller size another order, in the larger, of which a sample is a small part, another element.
    cases += [
        replace(c, name=f"{c.name}/twin", kind=kind, poison=1 - c.poison)
        for c, kind in zip(repeated, ("twin", "near-twin"), strict=True)
    ]
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


# ---- softmax of rows --------------------------------------------------------------------------------------------

# (rows, columns, input stride - columns, output stride - columns). Columns one below, at and above powers of two, where
# row-wise kernels change their block; prime sizes; one row, one column; rows that follow one another, padded to whole
# lines, and slices whose rows begin at no alignment. At most 64 rows: Triton's interpreter takes 2 ms for each.
ROW_SHAPES = (
    (1, 1, 0, 0),
    (1, 1000, 0, 0),
    (1, 1025, 24, 7),
    (64, 1, 0, 0),
    (7, 1, 2, 4),
    (5, 2, 0, 1),
    (4, 3, 5, 0),
    (3, 31, 1, 33),
    (3, 32, 0, 0),
    (3, 33, 31, 0),
    (7, 13, 0, 3),
    (3, 127, 1, 5),
    (3, 128, 128, 0),
    (3, 129, 0, 31),
    (3, 255, 0, 0),
    (3, 256, 64, 32),
    (3, 257, 3, 1),
    (61, 31, 0, 0),
    (3, 997, 27, 0),
    (3, 1023, 1, 9),
    (3, 1024, 0, 0),
    (3, 1025, 7, 31),
    (2, 2047, 0, 1),
    (2, 2048, 2048, 64),
    (2, 2049, 0, 0),
    (2, 4096, 0, 32),
    (2, 4097, 5, 0),
    (64, 40, 0, 24),
    (64, 1000, 24, 3),
    (3, 12_672, 0, 0),
    (2, 16_384, 1, 128),
)
GPU_ROW_SHAPES = ((4096, 1000, 0, 0), (4096, 1025, 31, 7), (70_001, 3, 1, 0), (1000, 12_672, 0, 128))
# Wider than 16,384 columns a kernel that keeps a row on the chip may refuse: asked for with --large only.
LARGE_ROW_SHAPES = ((3, 32_768, 0, 0), (2, 262_144, 0, 64), (1, 10_000_019, 0, 0), (131_073, 16_384, 0, 0))
SPECIAL_ROW_SHAPES = ((5, 33, 7, 3), (3, 2500, 0, 0))


def _rows_case(group: str, shape: Shape, kind: str, poison: int) -> Case:
    rows, columns, input_gap, output_gap = shape
    sizes = {
        "n_rows": rows,
        "n_cols": columns,
        "input_row_stride": columns + input_gap,
        "output_row_stride": columns + output_gap,
    }
    strides = f"/strides={columns + input_gap},{columns + output_gap}" if input_gap or output_gap else ""
    name = f"{rows}x{columns}{strides}/{kind}"
    return Case(name, group, sizes, kind, name, poison)


def _rows_cases(seed: int) -> list[Case]:
    """Every shape twice in a worker, with contents of two kinds: others from one shape to the next, and by the seed."""
    chance = random.Random(seed)
    kinds = list(CONTENTS)
    chance.shuffle(kinds)
    cases: list[Case] = []

    def add(group: str, shapes: list[Shape], count: int = 2) -> None:
        for shape in shapes:
            for poison in range(count):
                cases.append(_rows_case(group, shape, kinds[len(cases) % len(kinds)], poison))

    add("main", list(ROW_SHAPES))
    known = {shape[:2] for shape in ROW_SHAPES}
    random_shapes: list[Shape] = []
    for most_rows, most_columns in ((9, 4097), (9, 300), (40, 300)):
        shape = (chance.randint(2, most_rows), chance.randint(4, most_columns))
        if shape not in known and shape not in {other[:2] for other in random_shapes}:
            random_shapes.append((*shape, chance.randint(1, 70), chance.randint(0, 70)))
    add("random", random_shapes)
    cases += [
        _rows_case("special", shape, kind, i % 2)
        for shape in SPECIAL_ROW_SHAPES
        for i, kind in enumerate(kind for kind in OTHER_CONTENTS if "twin" not in kind)
    ]
    repeated = [_rows_case("main", shape, "uniform", 0) for shape in ((4, 1025, 7, 31), (5, 250, 0, 0))]
    cases += repeated + [again(case) for case in repeated]
    cases += [replace(c, name=f"{c.name}/twin", kind="twin", poison=1) for c in repeated]
    cases += [_rows_case("gpu", shape, "uniform", i % 2) for i, shape in enumerate(GPU_ROW_SHAPES)]
    cases += [_rows_case("large", shape, "uniform", i % 2) for i, shape in enumerate(LARGE_ROW_SHAPES)]
    return cases


def _rows_timing_case(rows: int, columns: int) -> Case:
    case = _rows_case("timing", (rows, columns, 0, 0), "uniform", 0)
    return replace(case, name=f"{case.name}/timing", contents=f"{case.contents}/timing")


def _rows_layouts(sizes: Sizes) -> dict[str, Layout]:
    shape = (sizes["n_rows"], sizes["n_cols"])
    return {name: Layout(shape, sizes[f"{name}_row_stride"]) for name in ("input", "output")}


def _fill_rows(dtype: str, case: Case, rng: np.random.Generator) -> Arrays:
    """Each row has contents of the case's kind; of another than the finite kinds every second one, beside uniform ones.

    The gaps are full of NaN and of the largest number in turns: the one spoils a sum and what is multiplied by 0, the
    other a maximum that passes over NaN, so that no use of them goes unnoticed. A value that is read and thrown away
    does no harm.
    """
    layout = _rows_layouts(case.sizes)["input"]
    rows, columns = layout.shape
    finite = contents_of(dtype).get(case.kind)
    if case.kind in ("uniform", "twin"):
        matrix = _uniform(rows * columns, rng).reshape(rows, columns)
        if case.kind == "twin":
            matrix[:, 1:-1] = rng.permuted(matrix[:, 1:-1], axis=1)
    elif finite:
        matrix = np.stack([finite(columns, rng) for _ in range(rows)])
    else:
        matrix = _uniform(rows * columns, rng).reshape(rows, columns)
        for row in range(1, rows, 2):
            matrix[row] = OTHER_CONTENTS[case.kind](columns, rng)
    buffer = np.empty(layout.length, dtype=dtype)
    buffer[0::2], buffer[1::2] = np.nan, float(ml_dtypes.finfo(dtype).max)
    layout.payload(buffer)[:] = matrix
    return {"input": buffer}


def _rows_reference(inputs: Arrays, sizes: Sizes) -> Arrays:
    """float64 softmax of each row of the input as its type gives it, shape (rows, columns)."""
    layout = _rows_layouts(sizes)["input"]
    x = layout.payload(inputs["input"])
    result = np.empty(layout.shape, dtype=np.float64)

    def rows(part: slice) -> None:
        wide = x[part].astype(np.float64)
        with np.errstate(invalid="ignore"):  # inf - inf is the NaN we want
            e = np.exp(wide - wide.max(axis=1, keepdims=True))
            np.divide(e, e.sum(axis=1, keepdims=True), out=result[part])

    in_parts(rows, *layout.shape)
    return {"output": result}


def _rows_ideal_bytes(dtype: str, sizes: Sizes) -> int:
    return 2 * np.dtype(dtype).itemsize * sizes["n_rows"] * sizes["n_cols"]  # one read, one write


# ---- subtract_one -----------------------------------------------------------------------------------------------

SUBTRACT_ONE_SIZES = (1, 1023, 1024, 1025, 3072, 100_003)


def _subtract_one_cases(seed: int) -> list[Case]:
    kinds = ("uniform", "edges")
    cases = [_vector_case("main", n, kind, i) for n in SUBTRACT_ONE_SIZES for i, kind in enumerate(kinds)]
    return [*cases, again(cases[-2])]


def _subtract_one_reference(inputs: Arrays, sizes: Sizes) -> Arrays:
    # float32, since the answer is exact in it.
    return {"output": inputs["input"] - np.float32(1)}


def _check_subtract_one(inputs: Arrays, outputs: Arrays, reference: Arrays, poison: Arrays) -> Check:
    return check_bitwise(outputs["output"], reference["output"], poison["output"])


# ---- the table --------------------------------------------------------------------------------------------------

_SOLVES = Path(__file__).with_name("reference")


def _vector_layouts(sizes: Sizes) -> dict[str, Layout]:
    return {"input": Layout((sizes["N"],)), "output": Layout((sizes["N"],))}


def _vector_ideal_bytes(sizes: Sizes) -> int:
    return 2 * 4 * sizes["N"]  # float32: one read, one write


def _softmax_rows(name: str, dtype: str) -> Problem:
    return Problem(
        name=name,
        summary=f"softmax of each row of a {dtype} matrix, rows a stride apart",
        version=1,
        parameters=PARAMETERS[name],
        cases=_rows_cases,
        dimensions=("n_rows", "n_cols"),
        timing_shapes=((4096, 1000),),
        emulated_shapes=((64, 1000),),
        timing_case=_rows_timing_case,
        layouts=_rows_layouts,
        fill=functools.partial(_fill_rows, dtype),
        reference=_rows_reference,
        check=_check_softmax,
        ideal_bytes=functools.partial(_rows_ideal_bytes, dtype),
        reference_solve=_SOLVES / "softmax_rows.py",
        reference_label="torch.softmax",
        copy_solve=_SOLVES / "copy.py",
    )


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem(
            name="softmax",
            summary="softmax of one float32 vector",
            version=1,
            parameters=PARAMETERS["softmax"],
            cases=_softmax_cases,
            dimensions=("N",),
            timing_shapes=((500_000,),),
            emulated_shapes=((500_000,),),
            timing_case=_timing_case,
            layouts=_vector_layouts,
            fill=_fill_vector,
            reference=_softmax_reference,
            check=_check_softmax,
            ideal_bytes=_vector_ideal_bytes,
            reference_solve=_SOLVES / "softmax.py",
            reference_label="torch.softmax",
            copy_solve=_SOLVES / "copy.py",
        ),
        _softmax_rows("softmax_rows", "float32"),
        _softmax_rows("softmax_rows_f16", "float16"),
        _softmax_rows("softmax_rows_bf16", "bfloat16"),
        Problem(
            name="subtract_one",
            summary="output = input - 1, bit for bit: the teaching example",
            version=1,
            parameters=PARAMETERS["subtract_one"],
            cases=_subtract_one_cases,
            dimensions=("N",),
            timing_shapes=((1_000_000,),),
            emulated_shapes=((1_000_000,),),
            timing_case=_timing_case,
            layouts=_vector_layouts,
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
