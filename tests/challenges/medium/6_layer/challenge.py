"""A layer applied: a torch module among the arguments, and no numbers. Its signature names torch's own types."""

import torch
from core.challenge_base import ChallengeBase


class Challenge(ChallengeBase):
    name = "Layer"
    atol = 1e-5
    rtol = 1e-5

    def reference_impl(self, x, layer, y):
        y.copy_(layer(x))

    def get_solve_signature(self):
        return {"x": (torch.Tensor, "in"), "layer": (torch.nn.Module, "in"), "y": (torch.Tensor, "out")}

    def case(self, rows, inner, outer):
        return {
            "x": torch.rand(rows, inner, device=self.device),
            "layer": torch.nn.Linear(inner, outer, device=self.device),
            "y": torch.zeros(rows, outer, device=self.device),
        }

    def generate_example_test(self):
        return self.case(2, 3, 4)

    def generate_functional_test(self):
        return [self.case(1, 1, 1), self.case(5, 4, 3)]

    def generate_performance_test(self):
        return self.case(64, 128, 32)
