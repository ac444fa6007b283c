"""Where a sweep's curve breaks off or falls, and what changed there: the launch, its occupancy, its waves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.gpu import Multiprocessor

LOSS = 0.2  # of the GB/s between neighbouring points

WARP = 32  # threads
# Registers are given to warps in units of 256, and a multiprocessor has them in four parts; shared memory is given to
# blocks in units of 128 bytes. CUDA Occupancy Calculator and cuda_occupancy.h of the CUDA toolkit, compute capability
# 8.0 and later (7.x differs in the unit of shared memory alone: 256 bytes).
REGISTER_UNIT = 256
REGISTER_FILES = 4
SHARED_UNIT = 128


@dataclass(frozen=True)
class Occupancy:
    """Blocks of a kernel that one multiprocessor holds, and the share of its threads' places that they fill."""

    blocks: int
    share: float
    limit: str  # what does not let in one block more


def occupancy(threads: int, registers: int, shared_bytes: int, limits: Multiprocessor) -> Occupancy:
    """Occupancy of a launch: blocks of `threads`, each thread with `registers`, each block with `shared_bytes`.

    As in NVIDIA's occupancy calculator: whichever of threads, blocks, registers and shared memory runs out first.
    """
    warps = -(-threads // WARP)
    register_warps = limits.registers // REGISTER_FILES // _round_up(max(registers, 1) * WARP, REGISTER_UNIT)
    shared = _round_up(shared_bytes + limits.reserved_shared_bytes, SHARED_UNIT)
    room = {
        "threads": limits.threads // (warps * WARP),
        "blocks": limits.blocks,
        "registers": register_warps * REGISTER_FILES // warps,
        "shared memory": limits.shared_bytes // shared if shared else limits.blocks,
    }
    limit = min(room, key=lambda name: room[name])
    return Occupancy(room[limit], room[limit] * warps * WARP / limits.threads, limit)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def launch_facts(records: Sequence[Mapping], limits: Multiprocessor, multiprocessors: int) -> dict | None:
    """What is known of the longest kernel of a call, from CUPTI's records; None where there is none.

    The records come from the submission's process, so they may be anything.
    """
    try:
        kernels = [record for record in records if record["what"] == "kernel"]
        longest = max(kernels, key=lambda record: record["end"] - record["start"], default=None)
        if longest is None:
            return None
        grid, block = longest["grid"], longest["block"]
        blocks, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
        held = occupancy(threads, longest["registers"], longest["shared_bytes"], limits)
        return {
            "kernel": str(longest["name"]),
            "kernels": len(kernels),
            "registers": int(longest["registers"]),
            "shared_bytes": int(longest["shared_bytes"]),
            "local_bytes": int(longest["local_bytes"]),
            "blocks": int(blocks),
            "threads": int(threads),
            "blocks_per_multiprocessor": held.blocks,
            "occupancy": held.share,
            "limit": held.limit,
            "waves": blocks / (multiprocessors * held.blocks) if held.blocks else None,
        }
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError):
        return None


@dataclass(frozen=True)
class Cliff:
    """A contestant fails from `after` on ("failure"), or loses GB/s between two neighbouring points ("loss")."""

    file: str
    kind: str
    before: int | None
    after: int
    rate_before: float | None = None
    rate_after: float | None = None
    reason: str = ""


def find_cliffs(
    file: str, order: Sequence[int], rates: Mapping[int, float], failures: Mapping[int, str]
) -> list[Cliff]:
    """The cliffs of one contestant at the points of `order`, from small to large.

    `rates` are GB/s where it was timed; a row of failures is one cliff, at its first point.
    """
    found = []
    for before, point in zip([None, *order], order, strict=False):
        if point in failures and (before is None or before not in failures):
            found.append(Cliff(file, "failure", before, point, rates.get(before), None, failures[point]))
        elif before in rates and point in rates and not rates[point] > (1 - LOSS) * rates[before]:
            found.append(Cliff(file, "loss", before, point, rates[before], rates[point]))
    return found


def explain(cliff: Cliff, axis: str, before: Mapping | None, after: Mapping | None) -> str:
    """A cliff in words: what was seen, the launches on both sides, and what differs between them."""
    if cliff.kind == "failure":
        text = f"{cliff.file} fails at {axis} = {cliff.after:,}: {cliff.reason}"
        return f"{text.rstrip('.')}. At {cliff.before:,} it ran: {_launch(before)}." if before else text
    assert cliff.rate_before is not None
    assert cliff.rate_after is not None
    lost = 1 - cliff.rate_after / cliff.rate_before
    text = (
        f"{cliff.file} loses {lost:.0%} between {axis} = {cliff.before:,} and {cliff.after:,}: "
        f"{cliff.rate_before:,.0f} GB/s, then {cliff.rate_after:,.0f}."
    )
    if before is None or after is None:
        return f"{text} Its launches are not known."
    changes = _changes(before, after)
    told = f"What changed: {'; '.join(changes)}." if changes else "Nothing of this changed, so it does not explain it."
    return f"{text} Before: {_launch(before)}. After: {_launch(after)}. {told}"


def _launch(facts: Mapping) -> str:
    spills = f"{facts['local_bytes']:,} B local memory a thread" if facts["local_bytes"] else "no local memory"
    waves = "" if facts["waves"] is None else f", {facts['waves']:.2f} waves"
    return (
        f"{facts['kernel']}, {facts['registers']} registers, {facts['shared_bytes']:,} B shared, {spills}, "
        f"{facts['blocks']:,} blocks of {facts['threads']}, {facts['blocks_per_multiprocessor']} a multiprocessor "
        f"({facts['occupancy']:.0%} occupancy, limited by {facts['limit']}){waves}"
    )


def _changes(before: Mapping, after: Mapping) -> list[str]:
    """Each fact that differs enough to matter, in words."""
    changes = []
    if before["kernel"] != after["kernel"]:
        changes.append(f"another kernel, {after['kernel']} for {before['kernel']}")
    if before["kernels"] != after["kernels"]:
        changes.append(f"{after['kernels']} kernels for {before['kernels']}")
    if before["local_bytes"] != after["local_bytes"]:
        more = "registers spill to it, or arrays lie there" if after["local_bytes"] > before["local_bytes"] else "less"
        changes.append(f"local memory {before['local_bytes']:,} to {after['local_bytes']:,} B ({more})")
    for name, unit in (("registers", ""), ("shared_bytes", " B"), ("threads", "")):
        if before[name] != after[name]:
            words = {"shared_bytes": "shared memory", "threads": "threads a block"}.get(name, name)
            changes.append(f"{words} {before[name]:,} to {after[name]:,}{unit}")
    if before["occupancy"] != after["occupancy"]:
        changes.append(f"occupancy {before['occupancy']:.0%} to {after['occupancy']:.0%}, limited by {after['limit']}")
    waves = [facts["waves"] for facts in (before, after)]
    if None not in waves and math.ceil(waves[0]) != math.ceil(waves[1]):
        changes.append(f"{waves[0]:.2f} to {waves[1]:.2f} waves of blocks, the last one partly empty")
    return changes
