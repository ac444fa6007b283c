# expect: runtime-error
# kind: descriptors
# backend: cpu
# says: private pipe or closed it while the file was loaded
# Says in the worker's place that the GPU's memory could not be opened, so that the judge tries again, and again.
import os

for name in os.listdir("/proc/self/fd"):
    try:
        if int(name) > 2 and os.readlink(f"/proc/self/fd/{name}").startswith("pipe:"):
            os.write(int(name), b'{"id": 0, "failed": ["ipc", "refused"]}\n')
    except OSError:
        pass


def solve(input, output, N):
    pass
