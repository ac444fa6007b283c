"""How the elements of a buffer lie in it: one after the other, or in rows with gaps between them that are nobody's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Layout:
    """`shape` is (N,) of a vector or (rows, columns) of a matrix, whose rows begin `stride` elements apart.

    With a stride of 0 the elements of any shape follow one another.

    A buffer ends with its last element: behind the last row there is no gap but the arena's guard band, as behind a
    vector. That is all that is certain of a slice of a larger matrix, which may end with its own last row, and it puts
    exact bounds and faulting pages where a kernel that works on whole strides oversteps.
    """

    shape: tuple[int, ...]
    stride: int = 0

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def length(self) -> int:
        """Elements of the buffer, gaps included."""
        if not self.stride:
            return self.elements
        rows, columns = self.shape
        return (rows - 1) * self.stride + columns

    @property
    def gap(self) -> int:
        """Elements between two rows."""
        return self.stride - self.shape[1] if self.stride and self.shape[0] > 1 else 0

    def payload(self, buffer: np.ndarray) -> np.ndarray:
        """The elements proper, in `shape`: a view of a 1-D array of `length` elements."""
        return _strided(buffer, self.shape, self.stride) if self.stride else buffer.reshape(self.shape)

    def gaps(self, buffer: np.ndarray) -> np.ndarray:
        """What lies between the rows: a view of shape (rows - 1, gap)."""
        if not self.gap:
            return buffer[:0].reshape(0, 0)
        rows, columns = self.shape
        return _strided(buffer[columns:], (rows - 1, self.gap), self.stride)

    def place(self, index: int) -> str:
        """ "[7]", "[row 3, column 7]" or "[1, 2, 3]": where element `index` of the payload is."""
        if len(self.shape) == 2:
            row, column = divmod(index, self.shape[1])
            return f"[row {row}, column {column}]"
        return f"[{', '.join(str(i) for i in np.unravel_index(index, self.shape))}]" if self.shape else ""

    def place_in_buffer(self, index: int) -> str:
        """Where element `index` of the buffer is, which may lie in a gap."""
        if not self.stride:
            return self.place(index)
        row, column = divmod(index, self.stride)
        if column < self.shape[1]:
            return f"[row {row}, column {column}]"
        past, before = column - self.shape[1] + 1, self.stride - column
        return (
            f"[{index}], {past} past the end of row {row} ({self.shape[1]} columns) and {before} before row {row + 1}"
        )


def _strided(buffer: np.ndarray, shape: tuple[int, ...], stride: int) -> np.ndarray:
    size = buffer.itemsize
    return np.lib.stride_tricks.as_strided(buffer, shape, (stride * size, size))
