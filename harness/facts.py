"""What a worker leaves behind about a call, in memory shared with the judge: still readable when the worker has died.

The layout is that of `cudacpu_facts` in cudacpu/include/cudacpu/judge.h. It holds observations only; the judge decides.
"""

from __future__ import annotations

import ctypes
import mmap

SENTENCES, SENTENCE = 12, 320  # CUDACPU_SENTENCES, CUDACPU_SENTENCE


class Facts(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("violation_kind", ctypes.c_uint32),  # 0 none, 1 read, 2 write
        ("violation_buffer", ctypes.c_int32),  # index of a buffer, or one of the kinds below
        ("violation_size", ctypes.c_uint32),
        ("violation_offset", ctypes.c_int64),  # bytes from the payload's begin
        ("violation_extent", ctypes.c_uint64),
        ("thread", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("signal", ctypes.c_int32),
        ("in_kernel", ctypes.c_uint32),
        ("fault_address", ctypes.c_uint64),
        ("fault_buffer", ctypes.c_int32),
        ("stopped", ctypes.c_int32),  # 1 once the process has said where it is
        ("fault_offset", ctypes.c_int64),
        ("fault_extent", ctypes.c_uint64),
        ("live_bytes", ctypes.c_uint64),
        ("last_error", ctypes.c_int32),
        ("undefined_count", ctypes.c_uint32),
        ("undefined", (ctypes.c_char * SENTENCE) * SENTENCES),
        ("kernel", ctypes.c_char * 128),
        ("where", ctypes.c_char * 256),
        ("fatal", ctypes.c_char * 512),
        ("running", ctypes.c_char * 320),  # the kernel that runs
        ("module", ctypes.c_char * 256),  # the library whose offsets the sentences name
        ("violation_name", ctypes.c_char * 128),
    ]


VERSION = 2
SIZE = ctypes.sizeof(Facts)
MAPPED = -(-SIZE // mmap.PAGESIZE) * mmap.PAGESIZE

# violation_buffer where it is no buffer of the judge's.
DEVICE_MEMORY, DYNAMIC_SHARED, STATIC_SHARED, FREED_MEMORY = -1, -2, -3, -5


def printable(words: str) -> str:
    """Words without what could harm a terminal or break an output: control characters and lone surrogates."""
    return "".join(c if c.isprintable() else " " for c in words.encode("utf-8", "replace").decode())


def text(field: bytes) -> str:
    """A text field, whatever a broken process may have left in it."""
    return printable(field.split(b"\0")[0].decode("utf-8", "replace")).strip()


def sentences(facts: Facts) -> list[str]:
    """What undefined behaviour was seen, a sentence each."""
    return [found for field in facts.undefined if (found := text(field.value))]
