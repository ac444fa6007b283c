"""What a worker leaves behind about a call, in memory shared with the judge: still readable when the worker has died.

The layout is that of `cudacpu_facts` in cudacpu/include/cudacpu/judge.h. It holds observations only; the judge decides.
"""

from __future__ import annotations

import ctypes


class Facts(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("violation_kind", ctypes.c_uint32),  # 0 none, 1 read, 2 write
        ("violation_buffer", ctypes.c_int32),  # index of a buffer, -1 memory of cudaMalloc, -2 shared memory
        ("violation_size", ctypes.c_uint32),
        ("violation_offset", ctypes.c_int64),  # bytes from the payload's begin
        ("violation_extent", ctypes.c_uint64),
        ("thread", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("signal", ctypes.c_int32),
        ("in_kernel", ctypes.c_uint32),
        ("fault_address", ctypes.c_uint64),
        ("fault_buffer", ctypes.c_int32),
        ("pad", ctypes.c_int32),
        ("fault_offset", ctypes.c_int64),
        ("fault_extent", ctypes.c_uint64),
        ("live_bytes", ctypes.c_uint64),
        ("last_error", ctypes.c_int32),
        ("undefined_count", ctypes.c_uint32),
        ("kernel", ctypes.c_char * 128),
        ("where", ctypes.c_char * 256),
        ("undefined", ctypes.c_char * 512),
        ("fatal", ctypes.c_char * 512),
    ]


VERSION = 1
SIZE = ctypes.sizeof(Facts)


def text(field: bytes) -> str:
    """A text field, whatever a broken process may have left in it."""
    return "".join(c if c.isprintable() else " " for c in field.split(b"\0")[0].decode("utf-8", "replace")).strip()
