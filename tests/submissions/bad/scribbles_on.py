# expect: wrong-answer
# kind: late
# Right, but a thread of the host goes on writing when solve has long returned.
import threading

import torch

started = []


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N].double(), 0)

    def scribble():
        while True:
            output[0] = 0.123
            torch.cuda.is_available() and torch.cuda.synchronize()

    if not started:
        started.append(threading.Thread(target=scribble, daemon=True))
        started[0].start()
