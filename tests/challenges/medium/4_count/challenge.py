"""How often each value occurs: int32 results that files add to where they start, at 0."""

import ctypes

import torch
from core.challenge_base import ChallengeBase, RandIntTensor


class Challenge(ChallengeBase):
    name = "Count"
    atol = 1e-5
    rtol = 1e-5

    def reference_impl(self, values, counts, n, bins):
        counts.copy_(torch.bincount(values, minlength=bins))

    def get_solve_signature(self):
        return {
            "values": (ctypes.POINTER(ctypes.c_int), "in"),
            "counts": (ctypes.POINTER(ctypes.c_int), "out"),
            "n": (ctypes.c_int, "in"),
            "bins": (ctypes.c_int, "in"),
        }

    def case(self, n, bins):
        counts = torch.zeros(bins, device=self.device, dtype=torch.int32)
        return {"values": RandIntTensor((n,), 0, bins), "counts": counts, "n": n, "bins": bins}

    def generate_example_test(self):
        return self.case(6, 3)

    def generate_functional_test(self):
        return [self.case(1, 1), self.case(100, 7), self.case(1500, 300)]

    def generate_performance_test(self):
        return self.case(1 << 20, 256)
