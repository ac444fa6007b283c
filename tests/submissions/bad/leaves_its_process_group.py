# expect: wrong-answer
# kind: descriptors
# says: output not written
# flags: --case N=1025/uniform
# Leaves a process behind, in a session of its own.
import subprocess

process = None


def solve(input, output, N):
    global process
    if process is None:
        process = subprocess.Popen(["sleep", "3600"], start_new_session=True)
