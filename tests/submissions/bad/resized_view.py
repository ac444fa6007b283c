# expect: runtime-error
# kind: writes-outside
# says: RuntimeError: .*out of bounds
# flags: --case N=1025/uniform
# torch itself refuses a view that is longer than its storage.
import torch


def solve(input, output, N):
    torch.as_strided(output, (N + 1_000_000,), (1,))[-1] = 0.0
