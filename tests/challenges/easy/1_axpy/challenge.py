"""y <- a x + y: an inout buffer, a float and a size_t, cases that are described and cases that are made."""

import ctypes

import torch
from core.challenge_base import ChallengeBase, FullTensor, RandnTensor, RandTensor


class Challenge(ChallengeBase):
    name = "a x plus y"
    atol = 1e-6
    rtol = 1e-5

    def reference_impl(self, x, y, a, n):
        assert x.dtype == torch.float32
        y.add_(a * x)

    def get_solve_signature(self):
        return {
            "x": (ctypes.POINTER(ctypes.c_float), "in"),
            "y": (ctypes.POINTER(ctypes.c_float), "inout"),
            "a": (ctypes.c_float, "in"),
            "n": (ctypes.c_size_t, "in"),
        }

    def generate_example_test(self):
        return {"x": torch.tensor([1.0, 2.0]), "y": torch.tensor([0.5, -1.0]), "a": 2.0, "n": 2}

    def generate_functional_test(self):
        made = torch.empty(33, device=self.device).uniform_(-1, 1)
        return [
            {"x": made, "y": torch.ones(33, device=self.device), "a": -0.25, "n": 33},
            {"x": RandTensor((1025,), -2, 2), "y": RandnTensor((1025,), 1, 3), "a": 0.0, "n": 1025},
            {"x": RandnTensor((2500,)), "y": FullTensor((2500,), -7), "a": 1e-3, "n": 2500},
            {"x": RandTensor((1 << 21,)), "y": RandTensor((1 << 21,)), "a": 1.5, "n": 1 << 21},
        ]

    def generate_performance_test(self):
        n = 1 << 22
        return {"x": RandTensor((n,)), "y": RandTensor((n,)), "a": 1.5, "n": n}
