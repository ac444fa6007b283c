# expect: accepted
# kind: good
# problem: softmax_rows
# As many programs as the GPU holds at once, by what the driver says of it and the compiled kernel of itself.
import triton
import triton.language
from triton.runtime import driver

DEVICE = driver.active.get_active_torch_device()
PROPERTIES = driver.active.utils.get_device_properties(DEVICE.index)
CUDA = driver.active.get_current_target().backend == "cuda"


@triton.jit
def rows_kernel(x_ptr, y_ptr, x_stride, y_stride, n_rows, n_cols, BLOCK_SIZE: triton.language.constexpr):
    columns = triton.language.arange(0, BLOCK_SIZE)
    mask = columns < n_cols
    for row in triton.language.range(triton.language.program_id(0), n_rows, triton.language.num_programs(0)):
        x = triton.language.load(x_ptr + row * x_stride + columns, mask=mask, other=-float("inf"))
        e = triton.language.exp(x - triton.language.max(x, axis=0))
        triton.language.store(y_ptr + row * y_stride + columns, e / triton.language.sum(e, axis=0), mask=mask)


def solve(input, output, n_rows, n_cols, input_row_stride, output_row_stride):
    arguments = (input, output, input_row_stride, output_row_stride, n_rows, n_cols, triton.next_power_of_2(n_cols))
    kernel = rows_kernel.warmup(*arguments, num_warps=8, grid=(1,))
    kernel._init_handles()
    occupancy = PROPERTIES["max_num_regs"] // (kernel.n_regs * PROPERTIES["warpSize"] * kernel.metadata.num_warps)
    if kernel.metadata.shared > 0:
        occupancy = min(occupancy, PROPERTIES["max_shared_mem"] // kernel.metadata.shared)
    programs = min(PROPERTIES["multiprocessor_count"] * max(1, occupancy), n_rows) if CUDA else 1
    kernel[(programs, 1, 1)](*arguments)
