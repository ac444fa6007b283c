# expect: accepted
# kind: good
# NumPy on the host, wherever the tensors are.
import numpy as np
import torch


def solve(input, output, N):
    x = input[:N].cpu().numpy().astype(np.float64)
    e = np.exp(x - x.max())
    output[:N] = torch.from_numpy((e / e.sum()).astype(np.float32)).to(output.device)
