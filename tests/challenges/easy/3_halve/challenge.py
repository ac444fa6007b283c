"""A float16 matrix halved, where a flag says so: half types behind uint16 pointers, a bool, a matrix by its shape."""

import ctypes

import torch
from core.challenge_base import ChallengeBase, OutTensor, RandTensor


class Challenge(ChallengeBase):
    name = "Halve"
    atol = 1e-3
    rtol = 1e-3

    def reference_impl(self, x, y, rows, columns, really):
        assert x.dtype == torch.float16
        y.copy_((x.to(torch.float32) * (0.5 if really else 1.0)).to(torch.float16))

    def get_solve_signature(self):
        return {
            "x": (ctypes.POINTER(ctypes.c_uint16), "in"),
            "y": (ctypes.POINTER(ctypes.c_uint16), "out"),
            "rows": (ctypes.c_int, "in"),
            "columns": (ctypes.c_int, "in"),
            "really": (ctypes.c_bool, "in"),
        }

    def case(self, rows, columns, really):
        x, y = RandTensor((rows, columns), -4, 4, dtype="float16"), OutTensor((rows, columns), dtype="float16")
        return {"x": x, "y": y, "rows": rows, "columns": columns, "really": really}

    def generate_example_test(self):
        return self.case(1, 2, True)

    def generate_functional_test(self):
        return [self.case(3, 5, True), self.case(7, 300, False), self.case(2, 33, True)]

    def generate_performance_test(self):
        return self.case(512, 512, True)
