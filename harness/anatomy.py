"""What one call consisted of, from the records of a worker: launches, copies, waits, gaps, and what that says."""

from __future__ import annotations

from dataclasses import dataclass

# Parts of the names of CUDA's calls, and what they are counted as; the first that fits counts.
CALLS = (
    ("launch", "launches"),
    ("synchronize", "synchronisations"),
    ("memcpy", "copies"),
    ("memset", "fills"),
    ("alloc", "allocations"),
    ("free", "frees"),
)

BANDWIDTH_BOUND = 0.6  # share of the copy kernel's rate from which on the memory is the limit


@dataclass(frozen=True)
class Anatomy:
    """One call. Microseconds: `busy_us` some activity ran, `gap_us` none did between the first and the last."""

    activities: list[dict]
    calls: dict[str, int]
    busy_us: float
    gap_us: float
    diagnosis: str


def take_apart(records: list[dict], call_us: float, of_ceiling: float, multiprocessors: int) -> Anatomy:
    """The anatomy of a call that took `call_us` and reached `of_ceiling` of the copy kernel's rate."""
    activities = [dict(record) for record in records if record["what"] != "call"]
    calls: dict[str, int] = {}
    for name in _outermost([record for record in records if record["what"] == "call"]):
        for part, kind in CALLS:
            if part in name.lower():
                calls[kind] = calls.get(kind, 0) + 1
                break
    busy, edge = 0, 0
    for activity in activities:
        busy += max(0, activity["end"] - max(activity["start"], edge))
        edge = max(edge, activity["end"])
    first = activities[0]["start"] if activities else 0
    span = edge - first if activities else 0
    for activity in activities:
        activity["at_us"] = (activity.pop("start") - first) / 1e3
        activity["us"] = (activity.pop("end") - first) / 1e3 - activity["at_us"]
    busy_us, gap_us = busy / 1e3, (span - busy) / 1e3
    diagnosis = _diagnose(activities, calls, busy_us, gap_us, call_us, of_ceiling, multiprocessors)
    return Anatomy(activities, calls, busy_us, gap_us, diagnosis)


def _outermost(calls: list[dict]) -> list[str]:
    """The names of calls that were not made by another one of them: a runtime call makes driver calls."""
    names, edge = [], 0
    for call in sorted(calls, key=lambda call: (call["start"], -call["end"])):
        if call["start"] >= edge:
            names.append(call["name"])
            edge = call["end"]
    return names


def _diagnose(
    activities: list[dict],
    calls: dict[str, int],
    busy_us: float,
    gap_us: float,
    call_us: float,
    of_ceiling: float,
    multiprocessors: int,
) -> str:
    if not activities:
        return "nothing ran on the device"
    if gap_us > busy_us:
        return f"launch-bound: the device waits {gap_us:.1f} us between its {len(activities)} activities"
    waits = calls.get("synchronisations", 0)
    if waits > 1 and call_us > 2 * (busy_us + gap_us):
        return f"synchronisation-bound: {waits} waits for the device, {call_us:.1f} us for {busy_us:.1f} us of work"
    if of_ceiling >= BANDWIDTH_BOUND:
        return f"bandwidth-bound at {of_ceiling:.0%} of the copy kernel"
    longest = max(activities, key=lambda activity: activity["us"])
    blocks = longest["grid"][0] * longest["grid"][1] * longest["grid"][2] if longest["what"] == "kernel" else 0
    if 0 < blocks < multiprocessors:
        return f"too little parallelism: {longest['name']} has {blocks} blocks for {multiprocessors} multiprocessors"
    return f"latency-bound: {of_ceiling:.0%} of the copy kernel's rate with the device busy"


def lines(anatomy: Anatomy) -> list[str]:
    """For people: what was asked of CUDA, then each activity."""
    counted = ", ".join(f"{count} {kind}" for kind, count in anatomy.calls.items()) or "no calls"
    shown = [f"{anatomy.diagnosis}; {counted}; device busy {anatomy.busy_us:.2f} us, gaps {anatomy.gap_us:.2f} us"]
    for activity in anatomy.activities:
        head = f"  at {activity['at_us']:8.2f} us  {activity['us']:8.2f} us  "
        if activity["what"] == "kernel":
            launch = f"<<<{'x'.join(map(str, activity['grid']))}, {'x'.join(map(str, activity['block']))}>>>"
            spilled = f", {activity['local_bytes']} B local" if activity["local_bytes"] else ""
            facts = f"{activity['registers']} registers, {activity['shared_bytes']} B shared{spilled}"
            shown.append(f"{head}{activity['name']} {launch}, {facts}")
        else:
            direction = f" {activity['direction']}" if activity["what"] == "copy" else ""
            shown.append(f"{head}{activity['what']} of {activity['bytes']:,} B{direction}")
    return shown
