"""Each number's share of the total, with a tolerance far above most shares: weak on purpose."""

import ctypes

import torch
from core.challenge_base import ChallengeBase, OutTensor, RandTensor


class Challenge(ChallengeBase):
    name = "Tiny shares"
    atol = 1e-3
    rtol = 1e-5

    def reference_impl(self, weights, shares, n):
        assert weights.dtype == torch.float32
        shares.copy_(weights / weights.sum())

    def get_solve_signature(self):
        return {
            "weights": (ctypes.POINTER(ctypes.c_float), "in"),
            "shares": (ctypes.POINTER(ctypes.c_float), "out"),
            "n": (ctypes.c_int, "in"),
        }

    def generate_example_test(self):
        return {"weights": RandTensor((5000,), 1, 2), "shares": OutTensor((5000,)), "n": 5000}

    def generate_functional_test(self):
        return [{"weights": RandTensor((n,), 1, 2), "shares": OutTensor((n,)), "n": n} for n in (4097, 20_000)]

    def generate_performance_test(self):
        return {"weights": RandTensor((1 << 20,), 1, 2), "shares": OutTensor((1 << 20,)), "n": 1 << 20}
