# problem: softmax_rows, softmax_rows_f16, softmax_rows_bf16
"""Softmax of every row of a matrix with one fused, persistent kernel.

Idea     A row is read once, its maximum, exponentials and sum stay on the chip, the result is written once. A program
         takes rows p, p + P, p + 2 P, ... of P programs; `tl.range(..., num_stages=...)` pipelines that loop: while one
         row is worked on, the loads of the next are on their way into shared memory.
Launch   8 warps; a block as wide as the next power of two >= n_cols, whose masked columns read -inf and so add
         exp(-inf) = 0. As many programs as the GPU holds at once: the kernel is compiled first, and from its registers
         and shared memory follows how many fit on an SM (`programs`). Filling the GPU once and looping saves the start
         of a program for each row. num_stages = 4 where an SM has more than 200,000 bytes of shared memory, else 2.
Traffic  1 read and 1 write: the least there is. Half types are computed in float32 and rounded once.
Limit    Memory bandwidth, as long as rows fit: num_stages - 1 of them lie in shared memory. On an H200 a float32 row of
         32,768 columns asks for 393,248 bytes where a block may have 232,448; `solve` then says so and stops.
Special  -inf adds 0. All -inf, a +inf or a NaN give NaN in the whole row, as torch.softmax has it: `tl.max` may drop a
         NaN, but exp(NaN - m) carries it into the sum. Other rows have nothing to do with it.
No GPU   Triton's interpreter compiles nothing, so that there are no registers to count: up to 4 programs run one after
         the other.
Judge    python -m harness submit triton_solutions/softmax_rows.py
"""

import os
from typing import NamedTuple

import torch
import triton
import triton.language as tl

NUM_WARPS = 8
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
INTERPRETED_PROGRAMS = 4


class Gpu(NamedTuple):
    """What the launch depends on: counts, and bytes of shared memory."""

    sms: int
    warp_size: int
    registers_per_sm: int
    shared_per_sm: int
    shared_per_block: int


class Usage(NamedTuple):
    """What the compiled kernel takes: registers of a thread, bytes of shared memory of a program."""

    registers: int
    shared: int


def stages(gpu: Gpu) -> int:
    """Rows under way in a program: a deep pipeline needs much shared memory."""
    return 4 if gpu.shared_per_sm > 200_000 else 2


def programs(n_rows: int, usage: Usage, gpu: Gpu) -> int:
    """How many programs to launch: as many as the GPU holds at once, at most one a row, at least one."""
    occupancy = gpu.registers_per_sm // (usage.registers * gpu.warp_size * NUM_WARPS)
    by_shared = gpu.shared_per_sm // usage.shared if usage.shared else 0
    if by_shared:  # 0: it takes no shared memory, which caps nothing
        occupancy = min(occupancy, by_shared)
    return min(gpu.sms * max(occupancy, 1), n_rows)


def check_fits(n_cols: int, usage: Usage, gpu: Gpu) -> None:
    """Raises ValueError where a row is too long for this kernel on this GPU."""
    if usage.shared > gpu.shared_per_block:
        raise ValueError(
            f"rows of {n_cols:,} columns are too long for this kernel here: it asks for {usage.shared:,} bytes of "
            f"shared memory where a block may have {gpu.shared_per_block:,}"
        )


@triton.jit
def softmax_rows_kernel(
    input_ptr,
    output_ptr,
    n_rows,
    n_cols,
    input_row_stride,
    output_row_stride,
    BLOCK_SIZE: tl.constexpr,
    NUM_STAGES: tl.constexpr,
):
    columns = tl.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=NUM_STAGES):
        # 64-bit: row * stride passes 2^31 in a matrix of more elements.
        input_row = input_ptr + tl.cast(row, tl.int64) * input_row_stride
        output_row = output_ptr + tl.cast(row, tl.int64) * output_row_stride
        x = tl.load(input_row + columns, mask=mask, other=-float("inf")).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=0))
        y = e / tl.sum(e, axis=0)
        tl.store(output_row + columns, y.to(output_ptr.dtype.element_ty), mask=mask)


def describe(device: torch.device) -> Gpu:
    properties = torch.cuda.get_device_properties(device)
    return Gpu(
        sms=properties.multi_processor_count,
        warp_size=properties.warp_size,
        registers_per_sm=properties.regs_per_multiprocessor,
        shared_per_sm=properties.shared_memory_per_multiprocessor,
        shared_per_block=properties.shared_memory_per_block_optin,
    )


# Usage by everything that the compiler's choice depends on: it is asked once for each.
_usages: dict[tuple, Usage] = {}


def launch(
    input: torch.Tensor, output: torch.Tensor, n_rows: int, n_cols: int, input_row_stride: int, output_row_stride: int
) -> None:
    sizes = (n_rows, n_cols, input_row_stride, output_row_stride)
    block_size = triton.next_power_of_2(n_cols)
    if INTERPRETED:
        grid = (min(INTERPRETED_PROGRAMS, n_rows),)
        softmax_rows_kernel[grid](input, output, *sizes, BLOCK_SIZE=block_size, NUM_STAGES=1)
        return

    with torch.cuda.device(input.device):  # Triton compiles for, and launches on, the current device
        gpu = describe(input.device)
        options = {"BLOCK_SIZE": block_size, "NUM_STAGES": stages(gpu), "num_warps": NUM_WARPS}
        # Triton compiles another kernel for other types, for sizes of 1, and for multiples of 16.
        alignments = (input.data_ptr() % 16, output.data_ptr() % 16)
        key = (input.device, input.dtype, output.dtype, *alignments, block_size, *sizes)
        if key not in _usages:
            kernel = softmax_rows_kernel.warmup(input, output, *sizes, **options, grid=(1,))
            # Before the kernel is loaded, which fails in Triton's own words where shared memory does not suffice.
            check_fits(n_cols, Usage(0, kernel.metadata.shared), gpu)
            kernel._init_handles()  # loads it: only then are its registers known
            _usages[key] = Usage(kernel.n_regs, kernel.metadata.shared)
        softmax_rows_kernel[(programs(n_rows, _usages[key], gpu),)](input, output, *sizes, **options)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """The softmax of each row of a matrix, whose rows may be padded or slices of longer ones."""
    assert x.ndim == 2, "softmax takes a matrix"
    n_rows, n_cols = x.shape
    assert x.stride(1) == 1 or n_cols <= 1, "the elements of a row must follow one another"
    y = torch.empty_like(x)
    if x.numel():
        launch(x, y, n_rows, n_cols, x.stride(0), y.stride(0))
    return y


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
    launch(input, output, n_rows, n_cols, input_row_stride, output_row_stride)
