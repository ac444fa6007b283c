# expect: accepted
# kind: good
# A decorator that logs.
import functools
import logging

import torch

logging.basicConfig(level=logging.DEBUG)


def logged(function):
    @functools.wraps(function)
    def call(*arguments, **keywords):
        logging.debug("called with N = %d", arguments[-1])
        return function(*arguments, **keywords)

    return call


@logged
def solve(input, output, N):
    print("softmax of", N)
    output[:N] = torch.softmax(input[:N].double(), 0)
