# expect: wrong-answer
# kind: patches
# says: output not written
# flags: --case N=1025/uniform
# Patches what it imagines the judge to use.
import numpy
import torch

from harness import check, judge, problems

torch.allclose = numpy.allclose = lambda *a, **k: True
numpy.flatnonzero = lambda *a, **k: []
check.check_softmax = lambda *a, **k: check.Check(True)
problems.PROBLEMS.clear()
judge.judge = None


def solve(input, output, N):
    pass
