"""The buffers every solve gets: one arena per submission, owned by the judge, with a guard band around each buffer.

Two forms with the same functions. HostArena is a memfd that workers map; it serves the CPU backend, and the gpu backend
where CUDA IPC is refused (the worker then copies it to a device mirror and back, guards included). DeviceArena is one
allocation on the GPU that workers open through CUDA IPC.

Layout, the same in both: guard, buffer, guard, buffer, guard. A buffer's address does not depend on the case, so that a
solve that remembers addresses meets new contents there; what a case leaves unused of a buffer is guard.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness import gpu
from harness.layout import Layout
from harness.problems import Arrays, Case, Problem

if TYPE_CHECKING:
    import torch

PAGE = mmap.PAGESIZE
ALIGNMENT = 256  # bytes, as LeetGPU's buffers have it

# Outputs are full of one of these before a call. The first is two NaNs. The second alternates in sign, so that neither
# a maximum nor a minimum with what was there before goes unnoticed.
POISONS = (np.uint64(0x7FE1DEAD_7FE1DEAD), np.uint64(0xF1717171_71717171))

HOST_GUARD = PAGE  # followed by pages that fault, see worker.py
DEVICE_GUARD = 64 << 20


@dataclass(frozen=True)
class Segment:
    """Where a buffer lies: it begins at byte `begin` of the arena and may grow to `capacity` bytes."""

    name: str
    dtype: str
    begin: int
    capacity: int


@dataclass(frozen=True)
class Damage:
    """Guard bytes that changed: `elements` elements, the nearest at index `index` of a buffer of `length` elements."""

    buffer: str
    index: int
    elements: int
    length: int

    def __str__(self) -> str:
        more = f" ({self.elements} elements of the guard band changed)" if self.elements > 1 else ""
        return f"wrote {outside(self.buffer, self.index, self.length)}{more}"


@dataclass(frozen=True)
class GapDamage:
    """Poison between the rows of an output that is gone: `elements` elements, the first at `index` of the buffer."""

    buffer: str
    index: int
    elements: int
    layout: Layout

    def __str__(self) -> str:
        more = f" ({self.elements} elements between rows changed)" if self.elements > 1 else ""
        return f"wrote {self.buffer}{self.layout.place_in_buffer(self.index)}{more}"


def outside(buffer: str, index: int, length: int) -> str:
    """ "output[1025], 1 past the end of its 1025 elements"."""
    distance, side = (-index, "before the start") if index < 0 else (index - length + 1, "past the end")
    return f"{buffer}[{index}], {distance} {side} of its {length} elements"


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _segments(problem: Problem, cases: list[Case], guard: int) -> tuple[list[Segment], int]:
    offset = guard
    segments = []
    for parameter in problem.buffers:
        size = np.dtype(parameter.dtype).itemsize
        capacity = max(problem.lengths(c.sizes)[parameter.name] * size + c.shift * ALIGNMENT for c in cases)
        capacity = _round_up(capacity, PAGE)
        segments.append(Segment(parameter.name, parameter.dtype, offset, capacity))
        offset += capacity + guard
    return segments, offset


def poison(case: Case, count: int, dtype: str, flip: bool = False) -> np.ndarray:
    """What an output of `count` elements holds before the call of `case` (with `flip`: of its second call)."""
    size = count * np.dtype(dtype).itemsize
    return np.full(_round_up(size, 8) // 8, POISONS[case.poison ^ flip]).view(np.uint8)[:size].view(dtype)


def shared_memory(name: str, size: int) -> int:
    """A memfd of `size` bytes that nobody can shrink: the judge would fault on what a submission had cut off."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return descriptor


class _Ranges:
    """The byte ranges of one case: each buffer's payload, and the guards between them, in order of address."""

    def __init__(self, problem: Problem, segments: list[Segment], total: int, case: Case) -> None:
        lengths = problem.lengths(case.sizes)
        self.payloads: dict[str, tuple[int, int]] = {}
        self.guards: list[tuple[int, int]] = []
        edge = 0
        for segment in segments:
            begin = segment.begin + case.shift * ALIGNMENT
            end = begin + lengths[segment.name] * np.dtype(segment.dtype).itemsize
            self.payloads[segment.name] = (begin, end)
            self.guards.append((edge, begin))
            edge = end
        self.guards.append((edge, total))


def _gap_damage(arena: HostArena | DeviceArena) -> GapDamage | None:
    """The first gap between rows of an output in which the poison of the last `prepare` is not intact.

    Gaps of an input need no look of their own: inputs are compared whole.
    """
    problem, case, flip = arena.problem, arena.case, arena.flip
    for parameter in problem.buffers:
        layout = problem.layouts(case.sizes)[parameter.name]
        if parameter.role != "out" or not layout.gap:
            continue
        before = layout.gaps(poison(case, layout.length, parameter.dtype, flip))
        unsigned = f"u{before.itemsize}"
        changed = layout.gaps(arena.read(parameter.name)).view(unsigned) != before.view(unsigned)
        if changed.any():
            row, column = divmod(int(np.argmax(changed)), layout.gap)
            index = row * layout.stride + layout.shape[1] + column
            return GapDamage(parameter.name, index, int(np.count_nonzero(changed)), layout)
    return None


def _contents(segment: Segment, case: Case, inputs: Arrays, flip: bool, size: int) -> np.ndarray:
    """The bytes that a buffer of `size` bytes holds before a call: the input, or poison."""
    if segment.name in inputs:
        return inputs[segment.name].view(np.uint8)
    return poison(case, size // np.dtype(segment.dtype).itemsize, segment.dtype, flip).view(np.uint8)


def _describe_damage(segments: list[Segment], ranges: _Ranges, guard: int, wrong: np.ndarray) -> Damage:
    """The damage in guard number `guard`, whose wrong bytes are at offsets `wrong`: blamed on the nearer buffer."""
    begin, end = ranges.guards[guard]
    after = segments[guard - 1] if guard > 0 else None
    before = segments[guard] if guard < len(segments) else None
    first, last = int(wrong[0]), int(wrong[-1])
    if after and (before is None or first <= end - begin - 1 - last):
        buffer, position = after, ranges.payloads[after.name][1] - ranges.payloads[after.name][0] + first
    else:
        assert before is not None
        buffer, position = before, last - (end - begin)
    size = np.dtype(buffer.dtype).itemsize
    payload = ranges.payloads[buffer.name]
    elements = len(np.unique((wrong + begin - payload[0]) // size))
    return Damage(buffer.name, position // size, elements, (payload[1] - payload[0]) // size)


class HostArena:
    """The arena in a memfd. Use as a context manager."""

    kind = "host"

    def __init__(self, problem: Problem, cases: list[Case], guard: int = HOST_GUARD) -> None:
        self.problem = problem
        self.segments, self.total = _segments(problem, cases, guard)
        self.guard = guard
        self.descriptor = shared_memory("arena", self.total)
        self._mapping = mmap.mmap(self.descriptor, self.total)
        self._bytes = np.frombuffer(self._mapping, dtype=np.uint8)
        self._pattern = 0x80 | secrets.randbelow(0x7F)  # unknown to the submission

    def __enter__(self) -> HostArena:
        return self

    def __exit__(self, *_: object) -> None:
        del self._bytes
        self._mapping.close()
        os.close(self.descriptor)

    def prepare(self, case: Case, inputs: Arrays, flip: bool) -> None:
        """Writes guards, the inputs and poison for one call."""
        self.case, self.flip = case, flip
        self._ranges = _Ranges(self.problem, self.segments, self.total, case)
        for begin, end in self._ranges.guards:
            self._bytes[begin:end] = self._pattern
        for segment in self.segments:
            begin, end = self._ranges.payloads[segment.name]
            self._bytes[begin:end] = _contents(segment, case, inputs, flip, end - begin)

    def read(self, name: str) -> np.ndarray:
        """A copy of a buffer's payload, 1-D."""
        segment = next(s for s in self.segments if s.name == name)
        begin, end = self._ranges.payloads[name]
        return self._bytes[begin:end].copy().view(segment.dtype)

    def snapshot(self, name: str) -> np.ndarray:
        """What a buffer holds now, for `holds` to compare with."""
        begin, end = self._ranges.payloads[name]
        return self._bytes[begin:end].copy()

    def holds(self, name: str, snapshot: np.ndarray) -> bool:
        """Whether a buffer holds, bit for bit, what it held then."""
        begin, end = self._ranges.payloads[name]
        return np.array_equal(self._bytes[begin:end], snapshot)

    def damage(self) -> Damage | GapDamage | None:
        """The first guard, or gap between an output's rows, that is not as `prepare` left it."""
        for index, (begin, end) in enumerate(self._ranges.guards):
            wrong = np.flatnonzero(self._bytes[begin:end] != self._pattern)
            if len(wrong):
                return _describe_damage(self.segments, self._ranges, index, wrong)
        return _gap_damage(self)

    def for_worker(self) -> dict:
        """What a worker needs to open the arena (beside the descriptor), as JSON values."""
        return {"kind": self.kind, "total": self.total, "segments": [asdict(s) for s in self.segments]}


class DeviceArena:
    """The arena in device memory of the judge's process, opened by workers through CUDA IPC. A context manager.

    Raises gpu.GpuError where memory or IPC is refused.
    """

    kind = "device"
    descriptor = None

    def __init__(self, problem: Problem, cases: list[Case], guard: int = DEVICE_GUARD) -> None:
        import torch  # only here: importing it costs seconds, and judging on the CPU does without

        self._torch = torch
        self.problem = problem
        self.segments, self.total = _segments(problem, cases, guard)
        torch.cuda.init()
        gpu.open_context()
        self._address = gpu.allocate(self.total)
        try:
            self._handle = gpu.export(self._address)
        except gpu.GpuError:
            gpu.free(self._address)
            raise
        self._bytes = torch.as_tensor(gpu.DeviceArray(self._address, self.total, "|u1"), device="cuda")
        self._pattern = 0x80 | secrets.randbelow(0x7F)

    def __enter__(self) -> DeviceArena:
        return self

    def __exit__(self, *_: object) -> None:
        del self._bytes
        gpu.free(self._address)

    def prepare(self, case: Case, inputs: Arrays, flip: bool) -> None:
        torch = self._torch
        self.case, self.flip = case, flip
        self._ranges = _Ranges(self.problem, self.segments, self.total, case)
        for begin, end in self._ranges.guards:
            self._bytes[begin:end] = self._pattern
        for segment in self.segments:
            begin, end = self._ranges.payloads[segment.name]
            contents = _contents(segment, case, inputs, flip, end - begin)
            self._bytes[begin:end].copy_(torch.from_numpy(contents))
        torch.cuda.synchronize()

    def read(self, name: str) -> np.ndarray:
        segment = next(s for s in self.segments if s.name == name)
        begin, end = self._ranges.payloads[name]
        return self._bytes[begin:end].cpu().numpy().view(segment.dtype)

    def snapshot(self, name: str) -> torch.Tensor:
        """In memory of the judge's own, which workers cannot reach, on the device: comparing costs no copy."""
        begin, end = self._ranges.payloads[name]
        return self._bytes[begin:end].clone()

    def holds(self, name: str, snapshot: torch.Tensor) -> bool:
        begin, end = self._ranges.payloads[name]
        return self._torch.equal(self._bytes[begin:end], snapshot)

    def damage(self) -> Damage | GapDamage | None:
        for index, (begin, end) in enumerate(self._ranges.guards):
            wrong = self._bytes[begin:end] != self._pattern
            if bool(wrong.any()):
                offsets = self._torch.nonzero(wrong).flatten().cpu().numpy()
                return _describe_damage(self.segments, self._ranges, index, offsets)
        return _gap_damage(self)

    def for_worker(self) -> dict:
        return {
            "kind": self.kind,
            "total": self.total,
            "segments": [asdict(s) for s in self.segments],
            "handle": self._handle.hex(),
        }
