# expect: runtime-error
# kind: descriptors
# says: ^N=1025/uniform: x{1000,3000}$
# flags: --case N=1025/uniform
# Answers in the worker's place, of which it knows the pipe and the number that is awaited: a device error of 1 MB.
import json
import os
import sys


def solve(input, output, N):
    frame = sys._getframe()
    while "replies" not in frame.f_locals:
        frame = frame.f_back
    known = frame.f_locals
    answer = json.dumps({"id": known["request"]["id"], "device": "x" * 1_000_000}).encode() + b"\n"
    while answer:
        answer = answer[os.write(known["replies"], answer) :]
