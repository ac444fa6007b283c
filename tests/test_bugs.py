"""Seeded bugs in kernels/bugs/ are found and named; correct kernels in kernels/fine/ are not accused of anything.

Header lines of a seeded bug: what it is, and `found: [VERDICT, ]REGEX[ in KERNEL][ at LINE and LINE ...]`. Without a
verdict it depends on the order of the threads, or says nothing of the bug. The sentence in which the regex is found
must name the kernel, and all such sentences together exactly these lines. `python tests/test_bugs.py` prints the table.
"""

import functools
import json
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import run_cli

KERNELS = Path(__file__).parent / "kernels"
BUGS = sorted((KERNELS / "bugs").glob("*.cu"))
FINE = sorted((KERNELS / "fine").glob("*.cu"))

FOUND = re.compile(
    r"^// found: (?:(?P<verdict>[a-z]+-[a-z-]+|accepted), )?(?P<word>.*?)"
    r"(?: in (?P<kernel>\w+))?(?: at (?P<lines>\d+(?: and \d+)*))?$",
    re.MULTILINE,
)


FLAGS = ("--backend", "cpu", "--races", "--case", "N=1025/uniform", "--seed", "1")


def judge(files):
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "run.json"
        done = run_cli("check", *files, *FLAGS, "--json", result)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(result.read_text())["rows"]


@functools.cache
def judged():
    """Rows by path: all kernels, one case in which every bug can be seen; two runs at once, since most of it is g++."""
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(judge, (BUGS[::2] + FINE[::2], BUGS[1::2] + FINE[1::2]))
        return {Path(row["file"]): row for rows in runs for row in rows}


@dataclass(frozen=True)
class Sight:
    """What was seen of a seeded bug."""

    found: bool
    named: bool  # the kernel
    lines: bool
    verdict: bool
    sentences: list


def look(path):
    wanted = FOUND.search(path.read_text())
    row = judged()[path]
    sentences = [row["message"], *row["warnings"]]
    hits = [sentence for sentence in sentences if re.search(wanted["word"], sentence)]
    kernel = wanted["kernel"]
    named = [hit for hit in hits if kernel is None or re.search(rf"kernel '?{kernel}\b", hit)]
    lines = set(re.findall(rf"\b{re.escape(path.name)}:(\d+)", " ".join(named)))
    expected = set(wanted["lines"].split(" and ")) if wanted["lines"] else set()
    verdict = wanted["verdict"] is None or row["verdict"] == wanted["verdict"]
    return Sight(bool(hits), bool(named), bool(hits) and lines == expected, verdict, sentences)


@pytest.mark.parametrize("path", BUGS, ids=lambda path: path.stem)
def test_seeded_bug_is_found(path):
    sight = look(path)
    assert sight.found and sight.named and sight.lines and sight.verdict, (path, sight, judged()[path]["verdict"])


@pytest.mark.parametrize("path", FINE, ids=lambda path: path.stem)
def test_correct_kernel_is_not_accused(path):
    row = judged()[path]
    assert (row["verdict"], row["flags"], row["warnings"]) == ("accepted", [], []), row["message"]


def test_strict_lets_undefined_behaviour_decide(cli):
    path = KERNELS / "bugs" / "race_counter_start.cu"
    done = cli("check", path, *FLAGS, "--strict")
    assert done.returncode == 1
    assert "runtime-error: --strict does not allow undefined-behaviour: " in done.stdout
    found = r"kernel 'count': race .*_start.cu:[78].*_start.cu:[78],"
    assert re.search(found, done.stdout), done.stdout
    assert "--races" in re.search("replay: (.*)", cli("check", path.with_name("writes_one_past.cu"), *FLAGS).stdout)[1]


def test_shared_memory_read_for_nothing_is_no_flag():
    """Nobody has written it, but the output is right with two different contents there."""
    row = judged()[KERNELS / "bugs" / "unwritten_tail.cu"]
    assert (row["verdict"], row["flags"]) == ("accepted", [])
    assert "unwritten_tail.cu:11 (at N=1025/uniform; the output was right" in row["warnings"][0]
    assert judged()[KERNELS / "bugs" / "unwritten_shared.cu"]["flags"] == ["undefined-behaviour"]


def test_an_endless_kernel_is_told_where(cli):
    path = KERNELS.parent / "submissions" / "bad" / "endless_kernel.cu"
    done = cli("check", path, "--backend", "cpu", "--timeout", "1")
    assert re.search(r"kernel 'spin', thread \(0, 0, 0\) of block \(0, 0, 0\) at endless_kernel.cu:6;", done.stdout)


def test_a_replay_sees_the_same(cli):
    """The order of threads and blocks is drawn from the case's name."""
    path = KERNELS / "bugs" / "race_reversal.cu"
    first, again = (cli("check", path, *FLAGS).stdout for _ in range(2))
    assert "wrong-answer" in first
    # Blocks run side by side: which of them is named for a race is chance.
    first, again = (re.sub(r"\(\d+, \d+, \d+\)", "(...)", text) for text in (first, again))
    assert first == again


def test_without_the_flag_no_races_are_looked_for(cli):
    path = KERNELS / "bugs" / "race_two_writers.cu"
    done = cli("check", path, "--backend", "cpu", "--case", "N=1025/uniform")
    assert done.returncode == 0
    assert "undefined" not in done.stdout


def test_races_of_a_python_file_is_wrong_usage(cli):
    done = cli("check", "triton_solutions/subtract_one.py", "--backend", "cpu", "--races")
    assert done.returncode == 2
    assert done.stderr == "error: --races looks at .cu files, and there is none among these\n"


@pytest.mark.gpu
def test_races_on_the_gpu_backend_is_wrong_usage(cli):
    done = cli("check", FINE[0], "--backend", "gpu", "--races")
    assert done.returncode == 2
    assert done.stderr == "error: --races needs the CPU backend: add --backend cpu\n"


def test_there_are_enough_of_them():
    assert len(BUGS) >= 25
    assert len(FINE) >= 15
    assert all(FOUND.search(path.read_text()) for path in BUGS)


def main() -> None:
    print("| seeded bug | found | kernel named | lines right |\n|---|---|---|---|")
    sights = [(path, look(path)) for path in BUGS]
    for path, sight in sights:
        what = re.search(r"^// bug: (.*)$", path.read_text(), re.MULTILINE)[1]
        cells = ("yes" if value else "no" for value in (sight.found, sight.named, sight.lines))
        print(f"| {what} | {' | '.join(cells)} |")
    accused = sum(bool(judged()[path]["flags"] or judged()[path]["warnings"]) for path in FINE)
    full = sum(sight.found and sight.named and sight.lines for _, sight in sights)
    print(f"\n{full} of {len(BUGS)} found with kernel and lines; {accused} of {len(FINE)} correct kernels accused")


if __name__ == "__main__":
    main()
