"""A local judge for LeetGPU-style `solve` files: CUDA C++ and Triton, on a GPU or with none."""

__version__ = "0.1.0"
