"""What challenges of this format share: tensors that are described but not made, and the base class."""


class RandTensor:
    def __init__(self, shape, low=0.0, high=1.0, dtype="float32"):
        self.shape, self.low, self.high, self.dtype = tuple(shape), low, high, dtype


class RandnTensor:
    def __init__(self, shape, mean=0.0, std=1.0, dtype="float32"):
        self.shape, self.mean, self.std, self.dtype = tuple(shape), mean, std, dtype


class RandIntTensor:
    def __init__(self, shape, low, high, dtype="int32"):
        self.shape, self.low, self.high, self.dtype = tuple(shape), low, high, dtype


class FullTensor:
    def __init__(self, shape, value=0.0, dtype="float32"):
        self.shape, self.value, self.dtype = tuple(shape), value, dtype


class OutTensor:
    def __init__(self, shape, dtype="float32"):
        self.shape, self.dtype = tuple(shape), dtype


class ChallengeBase:
    num_gpus = 1
    access_tier = "free"

    def __init__(self, device="cuda"):
        self.device = device
