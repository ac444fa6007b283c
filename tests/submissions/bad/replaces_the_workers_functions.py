# expect: wrong-answer
# kind: patches
# says: output not written
# flags: --case N=1025/uniform
# Reaches into the running worker: the process decides nothing, whatever it replaces there.
import gc
import sys

worker = sys.modules["harness.worker"]
for name in ("map_memory", "map_shared", "describe", "device_tensor", "limit"):
    setattr(worker, name, lambda *a, **k: None)
worker.Worker.call = lambda self: {"seconds": 0.0, "verdict": "accepted", "check": {"passed": True}}


def solve(input, output, N):
    for facts in gc.get_objects():
        if type(facts).__name__ == "Facts":
            facts.violation_kind = 0
