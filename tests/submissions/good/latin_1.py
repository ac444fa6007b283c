# expect: accepted
# -*- coding: latin-1 -*-
# kind: good
# Schrödinger
import torch

NAME = "Schrödinger"


def solve(input, output, N):
    assert len(NAME) == 11
    output[:N] = torch.softmax(input[:N].double(), 0)
