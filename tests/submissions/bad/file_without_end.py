# expect: runtime-error
# kind: files
# says: File too large
# flags: --case N=1025/uniform
# A log that grows and grows (here it begins far out, so that it takes no room).
import tempfile

import torch


def solve(input, output, N):
    output[:N] = torch.softmax(input[:N], 0)
    with tempfile.NamedTemporaryFile(delete=False) as log:
        log.seek(1 << 40)
        log.write(b"it goes on")
