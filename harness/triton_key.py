"""Imported by the fork server where Triton compiles: it hashes its own files once, and workers inherit what it keeps.

Else each worker would do so at its first launch, for half a second.
"""

from triton.compiler import compiler
from triton.runtime import cache

# It is no public function, and has moved: where a Triton has none, workers start slower.
hash_triton = getattr(cache, "triton_key", None) or getattr(compiler, "triton_key", None)
if hash_triton:
    hash_triton()
