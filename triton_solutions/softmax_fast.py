# problem: softmax
"""Softmax of one vector in one launch: a resident grid that keeps the vector in registers and meets once.

Idea     Every program reads its part of the vector and keeps it in registers: per column of its tile the maximum m and
         l = sum of exp(x - m), where a column lies in one thread, so that reading needs no reduction and no barrier.
         Then it publishes the pair (m, l) of its part as one 64-bit word, which is data and flag at once, and waits for
         the words of all others: M = max m, L = sum of l exp(m - M). It multiplies what it holds by exp(m - M) / L.
         A longer vector is walked over in tiles, of which the last stays in registers; the second walk goes backwards,
         over what the L2 has kept.
Launch   One program up to 4,096 elements: nobody to meet. Then one on each SM, with a tile as small as that allows, up
         to 2,048 elements; then two and four on an SM, with larger tiles and more of them (`WAYS`). All must run at
         once, since they wait for each other: the launch is cooperative, and where it is refused two kernels do the
         same.
Exchange Two sets of words, used in turns, and a count of exchanges that outlives the launch. l is never negative: its
         sign tells the parity of count / 2, so that a word is known to be new without ever being cleared. A set is
         written again only after all have read it: who writes has seen everyone's word in the other set. Each stream,
         and each number of programs, has words of its own.
Traffic  1 read and 1 write as long as registers hold the vector (4.3 million elements on an H200); about 1 read of
         memory and 1 of the L2 as long as that does; then 2 reads, less what it keeps, and 1 write.
Limit    Up to a few million elements the meeting: to publish a word, and to see those of all others. What Triton keeps
         from us there: thread-block clusters, which would meet in distributed shared memory and not in the L2; one warp
         that waits while the others rest: here all warps load all words and reduce them, behind barriers; and shared
         memory as a second place for the vector beside the registers, which is where its capacity ends.
Special  As torch.softmax: -inf gives 0; all -inf, a +inf or a NaN give NaN everywhere: `tl.max` may drop a NaN, but
         exp(NaN - m) carries it into the sum.
No GPU   Triton's interpreter runs one program after the other, and one that waits for the next would wait forever:
         there, it is two kernels, the second of which combines the pairs that the first has left.
Judge    python -m harness submit triton_solutions/softmax_fast.py
"""

import os
from typing import NamedTuple

import torch
import triton
import triton.language as tl

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
WARP_SIZE = 32
VECTOR = 4  # elements that a thread loads at once: 16 bytes
REGISTERS = 64  # of a thread, at most, where programs of 32 warps in all share an SM
STAGES = 1  # of the walks: 1, nothing is loaded ahead through shared memory


class Plan(NamedTuple):
    """`programs` of `num_warps`, each of which takes `tiles` tiles of `rows` x `columns` elements."""

    programs: int
    num_warps: int
    rows: int
    tiles: int

    @property
    def columns(self) -> int:
        return self.num_warps * WARP_SIZE * VECTOR

    @property
    def elements(self) -> int:
        return self.rows * self.columns


# By one program alone: warps and rows of its tile. Few warps, for all of them wait at each barrier.
ALONE = ((8, 1), (8, 4))


class Way(NamedTuple):
    """Of several programs: as many on each SM, each of which takes at most so many tiles."""

    num_warps: int
    rows: int
    on_an_sm: int
    tiles: float


WAYS = (Way(4, 1, 1, 1), Way(8, 2, 1, 1), Way(8, 4, 2, 1), Way(8, 8, 4, 2), Way(16, 8, 2, float("inf")))


def plan(N: int, sms: int) -> Plan:
    """One program for a short vector; for a longer one the smallest tiles that programs on all SMs can take."""
    for num_warps, rows in ALONE:
        if num_warps * WARP_SIZE * VECTOR * rows >= N:
            return Plan(1, num_warps, rows, 1)
    for way in WAYS:
        one = Plan(1, way.num_warps, way.rows, 1)
        tiles = triton.cdiv(N, one.elements)
        at_once = way.on_an_sm * sms
        if tiles <= at_once * way.tiles:
            break
    programs = min(tiles, at_once)
    return one._replace(programs=programs, tiles=triton.cdiv(tiles, programs))


@triton.jit
def load_tile(input_ptr, N, offset, tile, ELEMENTS: tl.constexpr):
    # Only the tile at the end pays for its mask, which keeps loads from being 16 bytes wide.
    left = tl.minimum(N - offset, ELEMENTS).to(tl.int32)
    if left == ELEMENTS:
        x = tl.load((input_ptr + offset) + tile)
    else:
        x = tl.load((input_ptr + offset) + tile, mask=tile < left, other=-float("inf"))
    return x


@triton.jit
def store_tile(output_ptr, N, offset, tile, y, ELEMENTS: tl.constexpr):
    left = tl.minimum(N - offset, ELEMENTS).to(tl.int32)
    if left == ELEMENTS:
        tl.store((output_ptr + offset) + tile, y)
    else:
        tl.store((output_ptr + offset) + tile, y, mask=tile < left)


@triton.jit
def online(x, m, l):
    """(e, m, l) after a tile x: its exponentials, and of each column the maximum and the sum so far."""
    m_new = tl.maximum(m, tl.max(x, axis=0))
    shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # -inf - -inf would be NaN
    e = tl.exp(x - shift[None, :])
    return e, m_new, l * tl.exp(m - shift) + tl.sum(e, axis=0)


@triton.jit
def first_walk(
    input_ptr, N, tiles, tile, offset, step, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STAGES: tl.constexpr
):
    """(e, m, l) of all tiles; e those of the last, the only one that may not be full."""
    m = tl.full((COLUMNS,), -float("inf"), tl.float32)
    l = tl.zeros((COLUMNS,), tl.float32)
    for _ in tl.range(tiles - 1, num_stages=STAGES):
        _, m, l = online(tl.load((input_ptr + offset) + tile), m, l)
        offset += step
    return online(load_tile(input_ptr, N, offset, tile, ROWS * COLUMNS), m, l)


@triton.jit
def combine(m, l):
    """(M, L) of pairs. A pair (-inf, 0) adds nothing, unless there are no others: -inf - -inf makes all NaN then."""
    whole_max = tl.max(m, axis=0)
    return whole_max, tl.sum(l * tl.exp(m - whole_max), axis=0)


@triton.jit
def second_walk(input_ptr, output_ptr, tiles, tile, offset, step, whole_max, whole_sum, STAGES: tl.constexpr):
    """Writes the full tiles before `offset`, backwards."""
    inverse = 1.0 / whole_sum
    for _ in tl.range(tiles, num_stages=STAGES):
        offset -= step
        x = tl.load((input_ptr + offset) + tile)
        tl.store((output_ptr + offset) + tile, tl.exp(x - whole_max) * inverse)


@triton.jit
def pack(m, l, parity):
    """One word of m and l; l >= 0, or NaN, leaves the sign to the parity."""
    high = m.to(tl.int32, bitcast=True).to(tl.int64) << 32
    low = (l.to(tl.int32, bitcast=True) & 0x7FFFFFFF) | (parity << 31)
    return high | (low.to(tl.int64) & 0xFFFFFFFF)


@triton.jit
def meet(words_ptr, count_ptr, m, l, PROGRAMS: tl.constexpr, PADDED: tl.constexpr):
    """(M, L) of the pairs (m, l) of all programs, of which each calls this."""
    program = tl.program_id(0)
    count = tl.load(count_ptr)
    parity = ((count >> 1) & 1) ^ 1
    words_ptr += (count & 1) * PROGRAMS
    tl.atomic_xchg(words_ptr + program, pack(m, l, parity), sem="relaxed")
    members = tl.arange(0, PADDED)
    is_member = members < PROGRAMS
    words = tl.load(words_ptr + members, mask=is_member, volatile=True)
    while tl.sum((((words >> 31) & 1) != parity) & is_member, axis=0) > 0:
        words = tl.load(words_ptr + members, mask=is_member, volatile=True)
    if program == 0:  # all have read the count: they have published since
        tl.store(count_ptr, count + 1)
    maxima = tl.where(is_member, (words >> 32).to(tl.int32).to(tl.float32, bitcast=True), -float("inf"))
    sums = tl.where(is_member, (words & 0x7FFFFFFF).to(tl.int32).to(tl.float32, bitcast=True), 0.0)
    return combine(maxima, sums)


@triton.jit
def resident_kernel(
    input_ptr,
    output_ptr,
    words_ptr,
    count_ptr,
    N,
    tiles,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PROGRAMS: tl.constexpr,
    PADDED: tl.constexpr,
    STAGES: tl.constexpr,
):
    tile = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    # 64-bit: near N = 2^31 - 1 the offset of a tile behind the end would wrap.
    step = tl.cast(PROGRAMS * ROWS * COLUMNS, tl.int64)
    offset = tl.program_id(0).to(tl.int64) * (ROWS * COLUMNS)
    e, m, l = first_walk(input_ptr, N, tiles, tile, offset, step, ROWS, COLUMNS, STAGES)
    own_max = tl.max(m, axis=0)
    own_sum = tl.sum(l * tl.exp(m - tl.where(own_max == -float("inf"), 0.0, own_max)), axis=0)
    if PROGRAMS == 1:
        whole_max, whole_sum = combine(m, l)
    else:
        whole_max, whole_sum = meet(words_ptr, count_ptr, own_max, own_sum, PROGRAMS, PADDED)
    last = offset + (tiles - 1) * step
    y = e * (tl.exp(m - whole_max) / whole_sum)[None, :]
    store_tile(output_ptr, N, last, tile, y, ROWS * COLUMNS)
    second_walk(input_ptr, output_ptr, tiles - 1, tile, last, step, whole_max, whole_sum, STAGES)


@triton.jit
def partial_kernel(input_ptr, m_ptr, l_ptr, N, tiles, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STAGES: tl.constexpr):
    tile = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    step = tl.num_programs(0).to(tl.int64) * (ROWS * COLUMNS)
    offset = tl.program_id(0).to(tl.int64) * (ROWS * COLUMNS)
    _, m, l = first_walk(input_ptr, N, tiles, tile, offset, step, ROWS, COLUMNS, STAGES)
    own_max = tl.max(m, axis=0)
    tl.store(m_ptr + tl.program_id(0), own_max)
    shift = tl.where(own_max == -float("inf"), 0.0, own_max)
    tl.store(l_ptr + tl.program_id(0), tl.sum(l * tl.exp(m - shift), axis=0))


@triton.jit
def finish_kernel(
    input_ptr,
    output_ptr,
    m_ptr,
    l_ptr,
    N,
    tiles,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STAGES: tl.constexpr,
    PADDED: tl.constexpr,
):
    tile = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    step = tl.num_programs(0).to(tl.int64) * (ROWS * COLUMNS)
    last = tl.program_id(0).to(tl.int64) * (ROWS * COLUMNS) + (tiles - 1) * step
    members = tl.arange(0, PADDED)
    is_member = members < tl.num_programs(0)
    m = tl.load(m_ptr + members, mask=is_member, other=-float("inf"))
    l = tl.load(l_ptr + members, mask=is_member, other=0.0)
    whole_max, whole_sum = combine(m, l)
    y = tl.exp(load_tile(input_ptr, N, last, tile, ROWS * COLUMNS) - whole_max) / whole_sum
    store_tile(output_ptr, N, last, tile, y, ROWS * COLUMNS)
    second_walk(input_ptr, output_ptr, tiles - 1, tile, last, step, whole_max, whole_sum, STAGES)


# The words and the count of each device, stream and number of programs. They start at 0, and every exchange leaves them
# ready for the next.
_exchanges: dict[tuple, tuple[torch.Tensor, torch.Tensor]] = {}


def launch_resident(input: torch.Tensor, output: torch.Tensor, N: int, cut: Plan, sms: int) -> None:
    key = (input.device, torch.cuda.current_stream(input.device).cuda_stream, cut.programs)
    if key not in _exchanges:
        words = torch.zeros(2 * cut.programs, dtype=torch.int64, device=input.device)
        _exchanges[key] = (words, torch.zeros(1, dtype=torch.int32, device=input.device))
    resident_kernel[(cut.programs,)](
        input,
        output,
        *_exchanges[key],
        N,
        cut.tiles,
        ROWS=cut.rows,
        COLUMNS=cut.columns,
        PROGRAMS=cut.programs,
        PADDED=max(WARP_SIZE, triton.next_power_of_2(cut.programs)),
        STAGES=STAGES,
        num_warps=cut.num_warps,
        maxnreg=REGISTERS if cut.programs > sms else None,
        launch_cooperative_grid=cut.programs > 1,
    )


def launch_twice(input: torch.Tensor, output: torch.Tensor, N: int, cut: Plan) -> None:
    grid = (cut.programs,)
    shape = {"ROWS": cut.rows, "COLUMNS": cut.columns, "STAGES": STAGES, "num_warps": cut.num_warps}
    m, l = torch.empty((2, cut.programs), dtype=torch.float32, device=input.device)
    partial_kernel[grid](input, m, l, N, cut.tiles, **shape)
    padded = triton.next_power_of_2(cut.programs)
    finish_kernel[grid](input, output, m, l, N, cut.tiles, **shape, PADDED=padded)


def solve(input: torch.Tensor, output: torch.Tensor, N: int) -> None:
    assert input.is_contiguous() and output.is_contiguous(), "input and output must be contiguous"
    assert input.device == output.device, "input and output must be on the same device"
    assert N <= input.numel() and N <= output.numel(), "N exceeds a buffer"
    if N == 0:
        return
    if INTERPRETED:
        launch_twice(input, output, N, plan(N, sms=8))
        return
    with torch.cuda.device(input.device):  # Triton compiles for, and launches on, the current device
        sms = torch.cuda.get_device_properties(input.device).multi_processor_count
        cut = plan(N, sms)
        try:
            launch_resident(input, output, N, cut, sms)
        except RuntimeError as error:  # of the driver, which does not say which error it is but in words
            if "cooperative" not in str(error):
                raise
            launch_twice(input, output, N, cut)
