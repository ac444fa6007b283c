# expect: accepted
# kind: leaks
# warns: leaves \d\d+ threads running
# Right, and every call leaves a thread behind.
import threading

import torch


def solve(input, output, N):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    output[:N] = torch.softmax(input[:N].double(), 0)
