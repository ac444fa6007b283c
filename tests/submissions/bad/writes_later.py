# expect: wrong-answer
# kind: late
# says: output not written at index 0
# A thread of the host writes when solve has long returned.
import threading
import time

import torch


def solve(input, output, N):
    def later():
        time.sleep(0.05)
        output[:N] = torch.softmax(input[:N].double(), 0)

    threading.Thread(target=later, daemon=True).start()
