"""The smallest and the largest of each row, and where the largest is: several outputs, of two types."""

import ctypes

import torch
from core.challenge_base import ChallengeBase, OutTensor, RandTensor


class Challenge(ChallengeBase):
    name = "Extremes of rows"
    atol = 0.0
    rtol = 0.0

    def reference_impl(self, values, smallest, largest, place, rows, columns):
        assert values.shape == (rows, columns)
        torch.amin(values, dim=1, out=smallest)
        torch.amax(values, dim=1, out=largest)
        place.copy_(values.argmax(dim=1))

    def get_solve_signature(self):
        pointer = ctypes.POINTER(ctypes.c_float)
        return {
            "values": (pointer, "in"),
            "smallest": (pointer, "out"),
            "largest": (pointer, "out"),
            "place": (ctypes.POINTER(ctypes.c_int), "out"),
            "rows": (ctypes.c_int, "in"),
            "columns": (ctypes.c_int, "in"),
        }

    def case(self, rows, columns):
        return {
            "values": RandTensor((rows, columns), -10, 10),
            "smallest": OutTensor((rows,)),
            "largest": torch.empty(rows, device=self.device),
            "place": torch.zeros(rows, device=self.device, dtype=torch.int32),
            "rows": rows,
            "columns": columns,
        }

    def generate_example_test(self):
        return self.case(2, 3)

    def generate_functional_test(self):
        return [self.case(rows, columns) for rows, columns in ((1, 1), (3, 33), (64, 17), (5, 257))]

    def generate_performance_test(self):
        return self.case(1000, 1000)
