# expect: accepted
# kind: good
# A torch.nn.Module, made when the file is loaded.
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class Settings:
    dim: int = 0


class Softmax(nn.Module):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.inner = nn.Softmax(dim=settings.dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


MODULE = Softmax(Settings())


def solve(input: Tensor, output: Tensor, N: int):
    output[:N] = MODULE(input[:N])
    return output


if __name__ == "__main__":
    raise SystemExit("this is for a judge")
