"""The arena: where buffers lie, what they hold before a call, and which writes beside them are found."""

import ctypes
import faulthandler
import mmap
import os
import signal

import numpy as np
import pytest

from harness.arena import ALIGNMENT, HOST_GUARD, PAGE, POISONS, HostArena
from harness.problems import PROBLEMS, Case
from harness.worker import HostMemory

SOFTMAX = PROBLEMS["softmax"]


def case(n, pattern=0, shift=0):
    return Case(f"N={n}", "main", {"N": n}, "uniform", f"N={n}", pattern, shift)


CASES = [case(1), case(1025), case(4097), case(1025, pattern=1, shift=1)]
SMALL, MIDDLE, LARGE, SHIFTED = CASES


class Seen:
    """An arena beside a second mapping of it, through which a test writes as a worker would."""

    def __init__(self, arena, memory):
        self.arena = arena
        self.memory = memory
        self.segments = {segment.name: segment for segment in arena.segments}

    def prepare(self, chosen, flip=False):
        self.inputs = SOFTMAX.inputs(chosen, 1)
        self.arena.prepare(chosen, self.inputs, flip)
        self.begins = {name: segment.begin + chosen.shift * ALIGNMENT for name, segment in self.segments.items()}

    def elements(self, name, first, count):
        """Elements of a buffer, counted from the begin of its payload, which may lie outside of it."""
        offset = self.begins[name] + 4 * first
        return self.memory[offset : offset + 4 * count].view(np.float32)


@pytest.fixture
def seen():
    with HostArena(SOFTMAX, CASES) as arena, mmap.mmap(arena.descriptor, arena.total) as mapping:
        memory = np.frombuffer(mapping, dtype=np.uint8)
        result = Seen(arena, memory)
        yield result
        del memory, result.memory


# ---- snapshots ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["input", "output"])
def test_a_buffer_holds_what_it_held_until_a_bit_of_it_changes(seen, name):
    seen.prepare(SHIFTED)  # poison, which is NaN, is in the output
    snapshot = seen.arena.snapshot(name)
    assert seen.arena.holds(name, snapshot)
    last = seen.elements(name, 1024, 1).view(np.uint32)
    last ^= 1
    assert not seen.arena.holds(name, snapshot)
    last ^= 1
    assert seen.arena.holds(name, snapshot)


# ---- the layout -------------------------------------------------------------------------------------------------


def test_buffers_begin_on_pages_of_their_own_with_a_guard_before_and_behind_each(seen):
    edge = 0
    for segment in seen.arena.segments:
        assert segment.begin % PAGE == segment.capacity % PAGE == 0
        assert segment.begin - edge >= HOST_GUARD
        assert segment.capacity >= 4 * LARGE.sizes["N"]
        edge = segment.begin + segment.capacity
    assert seen.arena.total - edge >= HOST_GUARD


def test_capacity_has_room_for_the_shift_of_a_case():
    # 1024 elements fill a page, so that a shift of 256 bytes needs a second one.
    with HostArena(SOFTMAX, [case(1024)]) as plain, HostArena(SOFTMAX, [case(1024, shift=1)]) as shifted:
        assert [segment.capacity for segment in plain.segments] == [PAGE, PAGE]
        assert [segment.capacity for segment in shifted.segments] == [2 * PAGE, 2 * PAGE]


@pytest.mark.parametrize("chosen", CASES, ids=["small", "middle", "large", "shifted"])
def test_buffers_keep_their_place_in_every_case_and_a_shift_moves_them_by_256_bytes(seen, chosen):
    seen.prepare(chosen)
    for segment in seen.arena.segments:
        payload = segment.begin + (256 if chosen is SHIFTED else 0)
        guard = seen.memory[payload - 1]
        end = payload + 4 * chosen.sizes["N"]
        assert payload % 256 == 0
        assert np.all(seen.memory[segment.begin - HOST_GUARD : payload] == guard)
        assert np.all(seen.memory[end : segment.begin + segment.capacity + HOST_GUARD] == guard)
        assert np.array_equal(seen.memory[payload:end], seen.arena.read(segment.name).view(np.uint8))


# ---- before a call ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("chosen", [MIDDLE, SHIFTED], ids=["first poison", "second poison"])
def test_outputs_are_poisoned_with_one_pattern_and_with_the_other_when_flipped(seen, chosen, flip):
    seen.prepare(chosen, flip)
    expected = np.full(513, POISONS[chosen.poison ^ flip]).view(np.uint32)[:1025]
    assert np.array_equal(seen.elements("output", 0, 1025).view(np.uint32), expected)
    assert np.array_equal(seen.arena.read("output").view(np.uint32), expected)


def test_the_poisons_differ_in_every_element_and_one_of_them_is_nan():
    first, second = (np.full(1, pattern).view(np.float32) for pattern in POISONS)
    assert np.isnan(first).all()
    assert np.isfinite(second).all() and second[0] == -second[1] > 1e30


def test_inputs_reach_the_solve_bit_for_bit_and_read_gives_what_it_left_there(seen):
    seen.prepare(MIDDLE)
    expected = SOFTMAX.inputs(MIDDLE, 1)["input"]
    assert np.array_equal(seen.elements("input", 0, 1025), expected)
    assert np.array_equal(seen.arena.read("input"), expected)

    seen.elements("input", 0, 1025)[7] = 1234.0
    expected[7] = 1234.0
    assert np.array_equal(seen.arena.read("input"), expected)


def test_read_gives_a_copy(seen):
    seen.prepare(MIDDLE)
    before = seen.arena.read("output")
    seen.elements("output", 0, 1025)[:] = 0.5
    assert np.isnan(before).all()
    assert np.all(seen.arena.read("output") == 0.5)


# ---- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", CASES, ids=["small", "middle", "large", "shifted"])
def test_writes_inside_the_buffers_are_no_damage(seen, chosen):
    seen.prepare(chosen)
    assert seen.arena.damage() is None
    for name in ("input", "output"):
        seen.elements(name, 0, chosen.sizes["N"])[:] = 2.5
    assert seen.arena.damage() is None


@pytest.mark.parametrize(
    ("buffer", "first", "count", "index", "sentence"),
    [
        ("output", 1025, 1, 1025, "wrote output[1025], 1 past the end of its 1025 elements"),
        ("output", -1, 1, -1, "wrote output[-1], 1 before the start of its 1025 elements"),
        ("input", -1, 1, -1, "wrote input[-1], 1 before the start of its 1025 elements"),
        ("input", 1025, 1, 1025, "wrote input[1025], 1 past the end of its 1025 elements"),
        ("input", -HOST_GUARD // 4, 1, -1024, "wrote input[-1024], 1024 before the start of its 1025 elements"),
        (
            "output",
            1026,
            3,
            1026,
            "wrote output[1026], 2 past the end of its 1025 elements (3 elements of the guard band changed)",
        ),
        (
            "output",
            -3,
            2,
            -2,
            "wrote output[-2], 2 before the start of its 1025 elements (2 elements of the guard band changed)",
        ),
        # Inside the capacity that only a larger case uses.
        ("output", 4090, 1, 4090, "wrote output[4090], 3066 past the end of its 1025 elements"),
        ("input", 2000, 1, 2000, "wrote input[2000], 976 past the end of its 1025 elements"),
    ],
)
def test_a_write_outside_is_found_and_named_by_the_nearest_element(seen, buffer, first, count, index, sentence):
    seen.prepare(MIDDLE)
    seen.elements(buffer, first, count)[:] = 1.0
    damage = seen.arena.damage()
    assert (damage.buffer, damage.index, damage.elements, damage.length) == (buffer, index, count, 1025)
    assert str(damage) == sentence


def test_the_last_byte_of_the_arena_and_a_shifted_begin_are_guarded_too(seen):
    seen.prepare(SHIFTED)
    seen.memory[seen.segments["output"].begin] ^= 0xFF
    damage = seen.arena.damage()
    assert (damage.buffer, damage.index) == ("output", -64)

    seen.prepare(SHIFTED)
    seen.memory[-1] ^= 0xFF
    assert seen.arena.damage().buffer == "output"


def test_preparing_the_next_call_mends_the_guards(seen):
    seen.prepare(LARGE)
    seen.elements("output", 4097, 1)[:] = 1.0
    assert seen.arena.damage() is not None
    seen.prepare(SMALL)
    assert seen.arena.damage() is None


# ---- the worker's side ------------------------------------------------------------------------------------------


def in_a_child(arena, action):
    """The wait status of a child process that maps the arena as a worker does and runs action(memory)."""
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()
        status = 1
        try:
            action(HostMemory(arena.for_worker(), os.dup(arena.descriptor)))
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1]


def read_byte(address):
    return ctypes.c_char.from_address(address).value


def status_of_reading(arena, size, address_of):
    """The wait status of reading one byte at address_of(buffer), the input with a payload of `size` bytes."""
    return in_a_child(arena, lambda memory: read_byte(address_of(memory.place("input", 0, size))))


@pytest.mark.parametrize("elements", [1, 1025, 4097])
def test_reads_behind_the_guard_page_on_either_side_fault(seen, elements):
    size = 4 * elements
    end_of_guard = -(-size // PAGE) * PAGE + PAGE
    assert status_of_reading(seen.arena, size, lambda buffer: buffer.begin + end_of_guard - 1) == 0
    assert status_of_reading(seen.arena, size, lambda buffer: buffer.begin - PAGE) == 0
    for offset in (end_of_guard, -PAGE - 1, 4 * (2**31 - 1), -4 * 2**31):
        status = status_of_reading(seen.arena, size, lambda buffer, offset=offset: buffer.begin + offset)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV, offset


def test_what_a_larger_case_uses_is_readable_in_that_case_and_faults_in_a_smaller_one(seen):
    def small_after_large(memory):
        far = memory.place("output", 0, 4 * 4097).end - 1
        read_byte(far)
        memory.place("output", 0, 4)
        read_byte(far)

    status = in_a_child(seen.arena, small_after_large)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV


def test_a_worker_finds_a_buffer_at_one_address_in_every_case_and_256_bytes_on_when_shifted(seen):
    def addresses(memory):
        for name in ("input", "output"):
            begins = [memory.place(name, 0, 4 * n).begin for n in (1, 1025, 4097, 1)]
            assert len(set(begins)) == 1
            assert begins[0] % 256 == 0
            shifted = memory.place(name, 256, 4 * 1025)
            assert (shifted.begin, shifted.end) == (begins[0] + 256, begins[0] + 256 + 4 * 1025)

    assert in_a_child(seen.arena, addresses) == 0


def test_a_worker_sees_the_judges_bytes_and_the_judge_sees_the_workers(seen):
    def copy(memory):
        source, target = memory.place("input", 256, 4 * 1025), memory.place("output", 256, 4 * 1025)
        ctypes.memmove(target.begin, source.begin, 4 * 1025)

    seen.prepare(SHIFTED)
    assert in_a_child(seen.arena, copy) == 0
    assert np.array_equal(seen.arena.read("output"), seen.inputs["input"])
    assert seen.arena.damage() is None
