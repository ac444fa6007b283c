"""Whether a problem's cases catch what is wrong: mutants of the right answer, put before the problem's own check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from harness.arena import poison
from harness.layout import Layout
from harness.problems import Arrays, Problem

BLOCK = 256  # elements along the last axis that a block of threads would handle

DECIDING = ("main", "random")


@dataclass(frozen=True)
class Answer:
    """What a call would have left: payloads by name. `outputs` hold the right answer and may be changed.

    `start` is what outputs hold where nobody writes: poison, of a challenge what its case gives. `before` are the right
    outputs of an earlier case of the same sizes, or None.
    """

    inputs: Arrays
    outputs: Arrays
    start: Arrays
    before: Arrays | None


Mutant = Callable[[Answer], None]


@dataclass(frozen=True)
class Outcome:
    """A mutant of a problem: in how many of the `applicable` cases, in which it differs from the answer, it fails.

    In the `flagged` ones a challenge's published rule and the one that knows the size of the answer disagree.
    """

    problem: str
    mutant: str
    caught: int
    applicable: int
    flagged: int = 0


def _zeros(answer: Answer) -> None:
    for output in answer.outputs.values():
        output[...] = 0


def _input_copied(answer: Answer) -> None:
    for output in answer.outputs.values():
        for given in answer.inputs.values():
            if given.shape == output.shape:
                output[...] = given.astype(output.dtype)


def _scaled(answer: Answer) -> None:
    """By 0.9995, or by 8 unit roundoffs of the type where it cannot hold that; of whole numbers a bit."""
    for output in answer.outputs.values():
        if output.dtype.kind in "biu":
            output ^= output.dtype.type(1)
        else:
            roundoff = float(np.nextafter(output.dtype.type(1), output.dtype.type(2))) - 1
            output[...] = (output.astype(np.float64) * (1 - max(5e-4, 4 * roundoff))).astype(output.dtype)


def _tail_dropped(answer: Answer) -> None:
    """What lies behind the last whole block of a vector, or of every row, is not written."""
    for name, output in answer.outputs.items():
        whole = output.shape[-1] // BLOCK * BLOCK if output.ndim else 0
        if whole:
            output[..., whole:] = answer.start[name][..., whole:]


def _first_block_skipped(answer: Answer) -> None:
    for name, output in answer.outputs.items():
        if output.ndim and output.shape[-1] > BLOCK:
            output[..., :BLOCK] = answer.start[name][..., :BLOCK]


def _last_row_skipped(answer: Answer) -> None:
    for name, output in answer.outputs.items():
        if output.ndim > 1 and output.shape[0] > 1:
            output[-1] = answer.start[name][-1]


def _elements_swapped(answer: Answer) -> None:
    """The largest and the smallest."""
    for output in answer.outputs.values():
        if not output.size:
            continue
        values = np.where(np.isnan(output.astype(np.float64)), 0, output.astype(np.float64))
        first = np.unravel_index(np.argmax(values), output.shape)
        second = np.unravel_index(np.argmin(values), output.shape)
        output[first], output[second] = output[second], output[first]


def _stale(answer: Answer) -> None:
    for name, output in answer.outputs.items():
        if answer.before is not None:
            output[...] = answer.before[name]


def _no_maximum(answer: Answer) -> None:
    """Softmax as exp(x) / sum(exp(x)) in float32."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        e = np.exp(answer.inputs["input"].astype(np.float32))
        answer.outputs["output"][...] = (e / e.sum(axis=-1, keepdims=True)).astype(answer.outputs["output"].dtype)


MUTANTS: dict[str, Mutant] = {
    "zeros": _zeros,
    "input copied": _input_copied,
    "scaled": _scaled,
    "tail dropped": _tail_dropped,
    "first block skipped": _first_block_skipped,
    "last row skipped": _last_row_skipped,
    "two elements swapped": _elements_swapped,
    "stale output": _stale,
}


def mutants_of(problem: Problem) -> dict[str, Mutant]:
    own = {"no maximum": _no_maximum} if problem.name.startswith("softmax") else {}
    return {**MUTANTS, **own}


def self_test(problem: Problem, seed: int, mutants: Mapping[str, Mutant] | None = None) -> list[Outcome]:
    """One Outcome for each mutant over the cases that decide; of none that is right everywhere."""
    mutants = mutants_of(problem) if mutants is None else mutants
    caught, applicable, flagged = (dict.fromkeys(mutants, 0) for _ in range(3))
    earlier: dict[tuple, Arrays] = {}
    for case in problem.cases(seed):
        if case.group not in DECIDING:
            continue
        inputs = problem.inputs(case, seed)
        reference = problem.reference(inputs, case.sizes)
        layouts = problem.layouts(case.sizes)
        roles = {p.name: p.role for p in problem.buffers}
        poisons = {p.name: poison(case, layouts[p.name].length, p.dtype) for p in problem.buffers if p.role != "in"}
        start = {name: inputs.get(name, array) for name, array in poisons.items()}
        given = {name: array for name, array in inputs.items() if roles[name] != "out"}

        def payloads(arrays: Arrays, layouts: Mapping[str, Layout] = layouts) -> Arrays:
            return {name: layouts[name].payload(array) for name, array in arrays.items()}

        right = _copied(poisons)
        for name, output in payloads(right).items():
            output[...] = reference[name].astype(output.dtype)
        sizes = tuple(case.sizes.values())
        before = payloads(earlier[sizes]) if sizes in earlier else None
        for name, mutate in mutants.items():
            outputs = _copied(right)
            mutate(Answer(payloads(given), payloads(outputs), payloads(start), before))
            if any(outputs[output].tobytes() != right[output].tobytes() for output in outputs):
                applicable[name] += 1
                check = problem.examine(case, inputs, outputs, reference, poisons)
                caught[name] += not check.passed
                flagged[name] += bool(check.difference)
        earlier[sizes] = right
    return [Outcome(problem.name, n, caught[n], applicable[n], flagged[n]) for n in mutants if applicable[n]]


def _copied(arrays: Arrays) -> Arrays:
    return {name: array.copy() for name, array in arrays.items()}
