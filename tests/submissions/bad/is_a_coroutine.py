# expect: wrong-answer
# kind: nothing-written
# says: output not written at index 0
# flags: --case N=1025/uniform
# The call makes a coroutine, which nobody awaits.
import torch


async def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)
