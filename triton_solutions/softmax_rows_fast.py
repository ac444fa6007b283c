# problem: softmax_rows, softmax_rows_f16, softmax_rows_bf16
"""Softmax of every row of a matrix at the speed of a copy, as far as Triton goes: see softmax_rows.cu for the rest.

Idea     A row is read once, stays in registers, and is written once. What holds it depends on its width.
         Tile: one program takes a few narrow rows, or one wide one, and is done. Many run on an SM at once, so that the
         loads of one overlap the stores of another and nothing needs to be pipelined by hand.
         Team: a row that one program's registers cannot hold is shared by several. Each publishes the pair (m, l) of
         its part, l = sum of exp(x - m), as one 64-bit word, which is data and flag at once, and waits for the others':
         M = max m, L = sum of l exp(m - M). This is a thread-block cluster made of global memory.
         Walk: a row that even teams cannot hold is read twice by one program.
Launch   Tile: a program for every 1,024 elements of narrow rows, of one warp: the fewer warps, the cheaper the
         reductions; else one for every row, 64 bytes a thread as float32. Team: as many programs as the GPU holds at
         once, and a cooperative launch, which is refused where they do not all fit: they wait for each other, so that
         all must run.
Exchange A team has two sets of words, used in turns, and a count of exchanges that outlives the launch. A word's lowest
         bit of the sign of l, which is never negative, is the parity of count / 2: so a word is known to be new without
         ever being cleared. A set is written again only after all have read it: who writes has seen everyone's word in
         the other set. Each stream has words of its own.
Traffic  1 read and 1 write; 2 reads and 1 write where a row is walked over. Half types are computed in float32.
Access   The launch passes sizes divided by WIDTH and the kernel multiplies them again: so Triton knows that rows begin
         at multiples of it and moves 16 bytes at a time, which it would not for 1,000 columns.
Limit    Memory bandwidth, given enough rows; the waiting between load and store where few are in flight on an SM: rows
         of a team, halves of 12,000 columns and more. What Triton keeps from us: a cluster's distributed shared memory,
         so that teams exchange through the L2; half types packed in registers, where they wait as float32; blocks that
         are no power of two: a row of 12,672 columns takes the registers of 16,384.
Special  As torch.softmax: -inf adds 0. All -inf, a +inf or a NaN give NaN in the whole row, and in no other.
No GPU   Triton's interpreter runs one program after the other, and one that waits for the next would wait forever:
         there, rows that would go to a team are walked over.
Judge    python -m harness submit triton_solutions/softmax_rows_fast.py
"""

import os
from typing import NamedTuple

import torch
import triton
import triton.language as tl

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
WARP_SIZE = 32
MAX_WARPS = 32  # of a program
ITEMS = 16  # elements of a thread in a tile
TILE = 1_024  # elements of a tile of narrow rows: 32 for each thread of one warp, if there are
MANY_TILES = 8  # of them for each SM
COLUMNS_PER_BYTE = 8_192  # columns of the widest tile, for each byte of an element: half as many halves as floats
TEAM_COLUMNS_PER_BYTE = 4_096  # columns that each program of a team takes, likewise; doubled where
TEAM = 16  # programs would not do: an exchange costs the more the more take part. At most
TEAM_BLOCK = 16_384  # columns for each, and
MAX_TEAM = 64  # programs
TEAM_ITEMS = 32  # elements of a thread in a team
TEAM_REGISTERS = 64  # so that several programs fit on an SM: one works while another waits
WALK_BLOCK = 8_192
WALK_WARPS = 16


class Gpu(NamedTuple):
    """What a plan depends on: multiprocessors, and how many threads of a team one of them holds (0: none may wait)."""

    sms: int
    team_threads: int


class Plan(NamedTuple):
    """How a matrix is cut: `kind` tile (`rows` a program), team (`programs` share a row) or walk."""

    kind: str
    rows: int
    programs: int
    block: int
    num_warps: int


def plan(n_rows: int, n_cols: int, item_bytes: int, gpu: Gpu) -> Plan:
    block = triton.next_power_of_2(n_cols)
    if block <= COLUMNS_PER_BYTE * item_bytes:
        rows = max(1, TILE // block)
        is_one_warp = block <= TILE and triton.cdiv(n_rows, rows) >= MANY_TILES * gpu.sms
        warps = 1 if is_one_warp else min(MAX_WARPS, rows * block // (WARP_SIZE * ITEMS))
        return Plan("tile", rows, 1, block, warps)
    team_block = TEAM_COLUMNS_PER_BYTE * item_bytes
    while team_block < TEAM_BLOCK and triton.cdiv(n_cols, team_block) > TEAM:
        team_block *= 2
    cut = Plan("team", 1, triton.cdiv(n_cols, team_block), team_block, team_block // (WARP_SIZE * TEAM_ITEMS))
    if cut.programs <= min(resident_programs(cut, gpu), MAX_TEAM):
        return cut
    return Plan("walk", 1, 1, WALK_BLOCK, WALK_WARPS)


def resident_programs(cut: Plan, gpu: Gpu) -> int:
    """How many programs of a team the GPU holds at once."""
    return gpu.sms * (gpu.team_threads // (cut.num_warps * WARP_SIZE))


def width(item_bytes: int, *sizes: int) -> int:
    """The most elements, of at most 16 bytes, that divide all sizes: a power of two."""
    elements = 16 // item_bytes
    while any(size % elements for size in sizes):
        elements //= 2
    return elements


@triton.jit
def tile_kernel(
    input_ptr,
    output_ptr,
    n_rows,
    wide_cols,
    wide_input_stride,
    wide_output_stride,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # 64-bit: row * stride passes 2^31 in a matrix of more elements.
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, BLOCK)[None, :]
    mask = (rows < n_rows) & (columns < wide_cols * WIDTH)
    x = tl.load(input_ptr + rows * wide_input_stride * WIDTH + columns, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    y = e * (1.0 / tl.sum(e, axis=1, keep_dims=True))
    tl.store(output_ptr + rows * wide_output_stride * WIDTH + columns, y.to(output_ptr.dtype.element_ty), mask=mask)


@triton.jit
def pack(m, l, parity):
    """One word of m and l; l >= 0, or NaN, leaves the sign to the parity."""
    high = m.to(tl.int32, bitcast=True).to(tl.int64) << 32
    low = (l.to(tl.int32, bitcast=True) & 0x7FFFFFFF) | (parity << 31)
    return high | (low.to(tl.int64) & 0xFFFFFFFF)


@triton.jit
def team_kernel(
    input_ptr,
    output_ptr,
    words_ptr,
    counts_ptr,
    n_rows,
    wide_cols,
    wide_input_stride,
    wide_output_stride,
    WIDTH: tl.constexpr,
    TEAM: tl.constexpr,
    PADDED_TEAM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    team = tl.program_id(0) // TEAM
    rank = tl.program_id(0) % TEAM
    columns = rank * BLOCK + tl.arange(0, BLOCK)
    mask = columns < wide_cols * WIDTH
    members = tl.arange(0, PADDED_TEAM)
    is_member = members < TEAM
    words_ptr += team * 2 * TEAM
    count = tl.load(counts_ptr + team)
    for row in tl.range(team, n_rows, tl.num_programs(0) // TEAM):
        input_row = input_ptr + tl.cast(row, tl.int64) * wide_input_stride * WIDTH
        output_row = output_ptr + tl.cast(row, tl.int64) * wide_output_stride * WIDTH
        x = tl.load(input_row + columns, mask=mask, other=-float("inf")).to(tl.float32)
        m = tl.max(x, axis=0)
        e = tl.exp(x - tl.where(m == -float("inf"), 0.0, m))
        l = tl.sum(e, axis=0)

        parity = ((count >> 1) & 1) ^ 1
        words = words_ptr + (count & 1) * TEAM
        tl.atomic_xchg(words + rank, pack(m, l, parity), sem="relaxed")
        seen = tl.load(words + members, mask=is_member, volatile=True)
        while tl.sum((((seen >> 31) & 1) != parity) & is_member, axis=0) > 0:
            seen = tl.load(words + members, mask=is_member, volatile=True)
        count += 1

        # Only the sign of l is not l's.
        maxima = tl.where(is_member, (seen >> 32).to(tl.int32).to(tl.float32, bitcast=True), -float("inf"))
        sums = tl.where(is_member, (seen & 0x7FFFFFFF).to(tl.int32).to(tl.float32, bitcast=True), 0.0)
        whole_max = tl.max(maxima, axis=0)
        # -inf - -inf is NaN, which a row of -inf alone gives; who is no member adds 0 in any other row.
        whole_sum = tl.sum(sums * tl.exp(maxima - whole_max), axis=0)
        y = e * (tl.exp(m - whole_max) / whole_sum)
        tl.store(output_row + columns, y.to(output_ptr.dtype.element_ty), mask=mask)
    if rank == 0:  # all have read the count: they have published since
        tl.store(counts_ptr + team, count)


@triton.jit
def walk_kernel(
    input_ptr,
    output_ptr,
    wide_cols,
    wide_input_stride,
    wide_output_stride,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    n_cols = wide_cols * WIDTH
    input_row = input_ptr + row * wide_input_stride * WIDTH
    output_row = output_ptr + row * wide_output_stride * WIDTH
    first = tl.arange(0, BLOCK).to(tl.int64)
    m = -float("inf")
    l = 0.0
    columns = first
    for _ in range(tl.cdiv(n_cols, BLOCK)):
        x = tl.load(input_row + columns, mask=columns < n_cols, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m = m_new
        columns += BLOCK
    # Where m is -inf or inf, x - m is NaN, and so is what is written.
    for _ in range(tl.cdiv(n_cols, BLOCK)):
        columns -= BLOCK  # backwards: the end of the row may still be in a cache
        x = tl.load(input_row + columns, mask=columns < n_cols, other=-float("inf")).to(tl.float32)
        y = tl.exp(x - m) * (1.0 / l)
        tl.store(output_row + columns, y.to(output_ptr.dtype.element_ty), mask=columns < n_cols)


# The words and counts of each device, stream, size of team and number of teams. They start at 0, and every exchange
# leaves them ready for the next.
_exchanges: dict[tuple, tuple[torch.Tensor, torch.Tensor]] = {}


def describe_gpu(device: torch.device) -> Gpu:
    if INTERPRETED:
        return Gpu(1, 0)
    gpu = torch.cuda.get_device_properties(device)
    team_threads = min(gpu.regs_per_multiprocessor // TEAM_REGISTERS, gpu.max_threads_per_multi_processor)
    return Gpu(gpu.multi_processor_count, team_threads)


def launch_team(input: torch.Tensor, output: torch.Tensor, n_rows: int, cut: Plan, gpu: Gpu, sizes: dict) -> None:
    most = resident_programs(cut, gpu) // cut.programs
    teams = min(n_rows, most)
    key = (input.device, torch.cuda.current_stream(input.device).cuda_stream, cut.programs, most)
    if key not in _exchanges:
        words = torch.zeros(2 * most * cut.programs, dtype=torch.int64, device=input.device)
        _exchanges[key] = (words, torch.zeros(most, dtype=torch.int32, device=input.device))
    team_kernel[(teams * cut.programs,)](
        input,
        output,
        *_exchanges[key],
        n_rows,
        **sizes,
        TEAM=cut.programs,
        PADDED_TEAM=max(WARP_SIZE, triton.next_power_of_2(cut.programs)),
        BLOCK=cut.block,
        num_warps=cut.num_warps,
        maxnreg=TEAM_REGISTERS,
        launch_cooperative_grid=True,
    )


def launch(
    input: torch.Tensor, output: torch.Tensor, n_rows: int, n_cols: int, input_row_stride: int, output_row_stride: int
) -> None:
    WIDTH = width(input.element_size(), n_cols, input_row_stride, output_row_stride)
    sizes = {
        "wide_cols": n_cols // WIDTH,
        "wide_input_stride": input_row_stride // WIDTH,
        "wide_output_stride": output_row_stride // WIDTH,
        "WIDTH": WIDTH,
    }
    gpu = describe_gpu(input.device)
    cut = plan(n_rows, n_cols, input.element_size(), gpu)
    if cut.kind == "tile":
        grid = (triton.cdiv(n_rows, cut.rows),)
        tile_kernel[grid](input, output, n_rows, **sizes, ROWS=cut.rows, BLOCK=cut.block, num_warps=cut.num_warps)
    elif cut.kind == "team":
        launch_team(input, output, n_rows, cut, gpu, sizes)
    else:
        walk_kernel[(n_rows,)](input, output, **sizes, BLOCK=cut.block, num_warps=cut.num_warps)


def solve(
    input: torch.Tensor, output: torch.Tensor, n_rows: int, n_cols: int, input_row_stride: int, output_row_stride: int
) -> None:
    assert input.is_contiguous() and output.is_contiguous(), "input and output must be contiguous"
    assert input.device == output.device, "input and output must be on the same device"
    if n_rows == 0 or n_cols == 0:
        return
    for buffer, stride in ((input, input_row_stride), (output, output_row_stride)):
        assert n_cols <= stride, "rows overlap"
        assert (n_rows - 1) * stride + n_cols <= buffer.numel(), "the rows exceed a buffer"
    if INTERPRETED:
        launch(input, output, n_rows, n_cols, input_row_stride, output_row_stride)
        return
    with torch.cuda.device(input.device):  # Triton compiles for, and launches on, the current device
        launch(input, output, n_rows, n_cols, input_row_stride, output_row_stride)
