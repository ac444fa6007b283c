"""A class hands in 200 files: `python tests/many.py --files 200 --json PATH` judges them and says how long that took.

The files are specimens of the corpus, good, wrong, crashing and hanging ones in fixed shares, drawn with a fixed seed
and each made a file of its own by a last line. Every verdict must be the one that the specimen expects. With
`--kill-every S` one of the judging processes is killed every S seconds, which must change no verdict. Flags after `--`
are the judge's, such as `-- --ray`; `--against JSON` compares with an earlier run, case by case. Exit status 1 if a
verdict is not as expected. Not part of the tests, where test_pool.py judges a dozen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from harness import corpus, pool  # noqa: E402 (the repository first)

SHARES = {"good": 0.55, "wrong": 0.25, "crashing": 0.12, "hanging": 0.08}
KINDS = {
    "good": ("good",),
    "wrong": ("arithmetic", "tail", "nothing-written"),
    "crashing": ("crash",),
    "hanging": ("endless",),
}


def make_class(folder: Path, count: int, seed: int, suffixes: tuple[str, ...] = (".cu", ".py")) -> dict[str, str]:
    """Writes `count` files into a folder; the verdict that each must get, by its name."""
    chance = random.Random(seed)
    usable = [specimen for specimen in corpus.read_corpus() if _is_usable(specimen, suffixes)]
    kinds = [kind for kind, share in SHARES.items() for _ in range(max(1, round(share * count)))][:count]
    kinds += ["good"] * (count - len(kinds))
    chance.shuffle(kinds)
    expected = {}
    for number, kind in enumerate(kinds):
        specimen = chance.choice([s for s in usable if s.kind in KINDS[kind]])
        name = f"{number:03}_{kind}_{specimen.path.name}"
        mark = f"\n{'//' if specimen.path.suffix == '.cu' else '#'} number {number}\n"
        (folder / name).write_bytes(specimen.path.read_bytes() + mark.encode())
        expected[name] = specimen.expected
    return expected


def _is_usable(specimen: corpus.Specimen, suffixes: tuple[str, ...]) -> bool:
    """Whether it can be judged with others, and another last line leaves it what it is."""
    verb, flags = specimen.verb_and_flags
    is_usual = (
        verb == "check" and (not flags or flags.startswith(("--timeout", "--case"))) and "cpu" in specimen.backends
    )
    return is_usual and not specimen.line("flag") and specimen.path.suffix in suffixes


JUDGING = (pool.ENTRY.encode(), b"ray::judge_parcel")  # in the command line of one of the pool's, of Ray's at work


def judging_processes(judge: int) -> list[int]:
    """The processes of a judge's pool, or of the Ray that it has started."""
    found = []
    for listed in Path(f"/proc/{judge}/task").glob("*/children"):
        with suppress(OSError):  # the thread or the child has ended
            for child in map(int, listed.read_text().split()):
                command = Path(f"/proc/{child}/cmdline").read_bytes()
                found += [child] if any(words in command for words in JUDGING) else judging_processes(child)
    return found


def kill_one(judge: int, chance: random.Random) -> int:
    """Kills one of the judging processes; how many were killed."""
    with suppress(IndexError, ProcessLookupError):
        os.kill(chance.choice(judging_processes(judge)), signal.SIGKILL)
        return 1
    return 0


def judge_class(
    folder: Path, result: Path, arguments: list[str], kill_every: float = 0, kill_at: tuple[int, ...] = ()
) -> dict:
    """Judges a folder by the command line: the rows of its JSON, wall time, how many processes were killed.

    One is killed every so many seconds, and when so many files were finished.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "harness", "check", "--folder", str(folder), "--json", str(result), *arguments]
    chance, ended, kills = random.Random(0), threading.Event(), []
    started = time.monotonic()

    def kill_now_and_then() -> None:
        while not ended.wait(kill_every):
            kills.append(kill_one(judge.pid, chance))

    with subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as judge:
        if kill_every:
            threading.Thread(target=kill_now_and_then).start()
        errors, finished = [], 0
        for line in judge.stderr:
            errors.append(line)
            finished += line.startswith(str(folder))
            if line.startswith(str(folder)) and finished in kill_at:
                kills.append(kill_one(judge.pid, chance))
        ended.set()
    if judge.returncode not in (0, 1, 2):
        raise RuntimeError(f"the judge ended with status {judge.returncode}: {''.join(errors)[-2000:]}")
    return {
        "rows": json.loads(result.read_text())["rows"],
        "seconds": time.monotonic() - started,
        "kills": sum(kills),
    }


def digest_of_cases(row: dict) -> str:
    """Equal for rows whose cases have the same verdicts in the same order."""
    verdicts = [(case["name"], case["verdict"]) for case in row["cases"]]
    return hashlib.blake2b(repr(verdicts).encode(), digest_size=4).hexdigest()


def figures(run: dict, processes: int) -> dict:
    """Where the time of so many processes went: compiling, loading, calling the submissions; the rest is not theirs."""
    parts = ("build", "load", "calls", "all")
    spent = {name: sum(row["seconds"].get(name, 0.0) for row in run["rows"]) for name in parts}
    capacity = run["seconds"] * processes
    return {
        "files": len(run["rows"]),
        "processes": processes,
        "wall_s": round(run["seconds"], 1),
        "files_per_minute": round(60 * len(run["rows"]) / run["seconds"], 1),
        "build_s": round(spent["build"], 1),
        "load_s": round(spent["load"], 1),
        "calls_s": round(spent["calls"], 1),
        "rest_of_judging_s": round(spent["all"] - spent["build"] - spent["load"] - spent["calls"], 1),
        "outside_judging_s": round(capacity - spent["all"], 1),
        "share_not_the_submissions_own": round(1 - (spent["build"] + spent["load"] + spent["calls"]) / capacity, 3),
        "killed_processes": run["kills"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the draw and of the cases")
    parser.add_argument("--timeout", type=float, default=10.0, help="as of the judge")
    parser.add_argument("--kill-every", type=float, default=0.0, metavar="S")
    parser.add_argument("--json", type=Path, help="where verdicts and figures go")
    parser.add_argument("--against", type=Path, help="such a JSON: its verdicts, case by case, must be the same")
    parser.add_argument("flags", nargs="*", metavar="-- FLAG...", help="for the judge")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="solve-judge-many-") as home:
        folder = Path(home) / "class"
        folder.mkdir()
        os.environ["XDG_CACHE_HOME"] = f"{home}/cache"
        expected = make_class(folder, options.files, options.seed)
        arguments = ["--backend", "cpu", "--seed", str(options.seed), "--timeout", str(options.timeout), *options.flags]
        run = judge_class(folder, Path(home) / "run.json", arguments, options.kill_every)
    verdicts = {Path(row["file"]).name: row["verdict"] for row in run["rows"]}
    by_file = {Path(row["file"]).name: f"{row['verdict']} {digest_of_cases(row)}" for row in run["rows"]}
    wrong = [f"{n}: {verdicts.get(n)} and not {expected[n]}" for n in expected if verdicts.get(n) != expected[n]]
    if options.against:
        before = json.loads(options.against.read_text())["by_file"]
        wrong += [f"{n}: {by_file.get(n)}, before {found}" for n, found in before.items() if by_file.get(n) != found]
    found = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.platform()}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}",
        "flags": options.flags,
        "seed": options.seed,
        **figures(run, len(pool.lanes(pool.Backend("cpu", "", None), options.files))),
        "verdicts": dict(sorted(Counter(verdicts.values()).items())),
        "unexpected": wrong,
    }
    for name, value in found.items():
        print(f"{name}: {value}")
    if options.json:
        options.json.write_text(json.dumps({**found, "by_file": by_file}, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
