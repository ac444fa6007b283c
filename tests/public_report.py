"""Public solve files, out of a folder of checkouts: which nvcc builds, which the CPU layer builds, what they are judged.

    python tests/public_report.py FOLDER [--challenges CHECKOUT] [--sample N] [--only TEXT] [--no-nvcc]

Of files with the same contents the first counts; files with a `main` of their own do not. nvcc only compiles, so no
GPU is needed. A file is judged for the challenge of the checkout whose signature its `solve` has and whose name its
path names, on the CPU backend. A line for each file, a summary at the end.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import rows
from harness.backend import Backend
from harness.build import LACKING, PACKAGE, UNSUPPORTED_MARKER, find_nvcc
from harness.challenge import ChallengeHost, find_all, load_challenge
from harness.errors import UsageError
from harness.judge import Options, Session, judge
from harness.submission import Submission

SEED = 1
SOLVE = re.compile(r"\bvoid\s+solve\s*\(([^)]*)\)")
MAIN = re.compile(r"\bint\s+main\s*\(")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# sm_90a has all that sm_90 has; some files are for Blackwell alone.
ARCHITECTURES = ("sm_90a", "sm_100a")
# Words of a path that do not name a challenge.
FILLING = {"cu", "cuda", "easy", "medium", "hard", "solve", "kernel", "the", "of", "and", "with", "on"}


def solve_files(folder):
    """The distinct solve files: path -> the text without comments."""
    found, seen = {}, set()
    for path in sorted(folder.rglob("*.cu")):
        text = COMMENT.sub(" ", path.read_text(encoding="utf-8", errors="replace"))
        key = "".join(text.split())
        if SOLVE.search(text) and not MAIN.search(text) and key not in seen:
            seen.add(key)
            found[path] = text
    return found


# ---- building ---------------------------------------------------------------------------------------------------


def first_error(output):
    lines = [line for line in output.splitlines() if "error" in line]
    return (lines or output.strip().splitlines() or ["no message"])[0]


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout


def by_nvcc(path, scratch):
    """"" if it compiles, else the first error."""
    with tempfile.NamedTemporaryFile(suffix=".o") as target:
        for architecture in ARCHITECTURES:
            command = [find_nvcc(), "-std=c++17", f"-arch={architecture}", "-w", "-O1", "-I", scratch]
            status, output = run([*command, "-c", path, "-o", target.name])
            if status == 0:
                return ""
    return first_error(output)


def by_layer(path, scratch):
    """"" if it compiles, else the first error; what the layer names as lacking counts as an error, too."""
    layer = PACKAGE / "cudacpu"
    with tempfile.TemporaryDirectory() as work:
        rewritten = f"{work}/rewritten.cpp"
        status, output = run([sys.executable, "-I", layer / "rewrite.py", path, "-o", rewritten])
        if status == 0:
            command = ["c++", "-std=c++17", "-O0", "-w", "-pthread", "-I", layer / "include", "-I", scratch]
            command += ["-iquote", path.parent, "-include", "cuda_runtime.h", "-c", rewritten]
            status, output = run([*command, "-o", f"{work}/rewritten.o"])
    if status == 0:
        return ""
    if UNSUPPORTED_MARKER in output:
        return "unsupported: " + output.partition(UNSUPPORTED_MARKER)[2].splitlines()[0].strip("\"' ")
    lacking = LACKING.search(output)
    return f"unsupported: {lacking[2]}" if lacking else first_error(output)


# ---- judging ----------------------------------------------------------------------------------------------------


def types_of(parameters):
    """The types of a C parameter list, without const and names."""
    types = []
    for parameter in parameters.split(","):
        words = re.findall(r"\w+|\*", parameter.replace("const", " ").replace("__restrict__", " "))
        pointer = "*" in words
        words = [word for word in words if word != "*"]
        base = {"half": "__half", "__nv_bfloat16": "__nv_bfloat16"}.get("".join(words[:-1]), "".join(words[:-1]))
        types.append(base + "*" * pointer)
    return types


def words_of(text):
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    spaced = re.sub(r"(\d)[ _-]?[dD]\b", r"\1d", spaced)
    return {word for word in re.findall(r"[a-z]+|\d+d|[a-z]\w+", spaced.lower().replace("_", " "))} - FILLING


def match(path, text, folder, problems):
    """The challenge that a file answers, or None: its signature, and as many words of its name as any."""
    types = types_of(SOLVE.search(text)[1])
    given = words_of(str(path.relative_to(folder).with_suffix("")).partition("/")[2])
    joined = "".join(re.findall(r"[a-z0-9]+", str(path.relative_to(folder)).lower().partition("/")[2]))
    best, best_score = None, 0.0
    for place, problem in problems.items():
        if [p.c_text.replace("const ", "").rpartition(" ")[0].replace(" ", "") for p in problem.parameters] != types:
            continue
        wanted = words_of(place.name)
        score = len(wanted & given) / len(wanted | given) + len(wanted & given) / len(wanted)
        score += place.name.replace("_", "") in joined
        if score > best_score:
            best, best_score = place, score
    return best if best_score >= 0.6 else None


def load_all(checkout, host):
    problems = {}
    for place in find_all(checkout):
        try:
            problems[place] = load_challenge(place.directory, host)
        except UsageError as error:
            print(f"{place.directory.name}: not loaded: {error}", file=sys.stderr)
    return problems


def verdict_of(path, problem, session):
    row = judge(Submission(path, problem), session, lambda total: lambda: None)
    accepted = sum(case.verdict == rows.ACCEPTED for case in row.cases)
    words = " ".join([row.message, *(f"[{warning}]" for warning in row.warnings)]).replace("\n", " ")
    return row.verdict, f"{accepted}/{len(row.cases)}", ",".join(row.flags), words[:400]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--challenges", type=Path, help="a checkout of challenges to judge for")
    parser.add_argument("--sample", type=int, help="only so many files, spread evenly")
    parser.add_argument("--only", default="", help="only files whose path contains this")
    parser.add_argument("--no-nvcc", action="store_true", help="do not build by nvcc")
    options = parser.parse_args()
    files = {path: text for path, text in solve_files(options.folder).items() if options.only in str(path)}
    if options.sample and options.sample < len(files):
        kept = {len(files) * i // options.sample for i in range(options.sample)}
        files = {path: text for i, (path, text) in enumerate(files.items()) if i in kept}
    counts = Counter(files=len(files))

    print("file | nvcc | layer")
    nvcc = None if options.no_nvcc else find_nvcc()
    built = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as executor:
        Path(scratch, "solve.h").touch()  # LeetGPU's, which declares solve
        found = executor.map(lambda p: (p, by_nvcc(p, scratch) if nvcc else "", by_layer(p, scratch)), files)
        for path, nvcc_error, layer_error in found:
            shown = path.relative_to(options.folder)
            print(f"{shown} | {nvcc_error or 'ok'} | {layer_error or 'ok'}"[:500], flush=True)
            counts["nvcc builds"] += bool(nvcc) and not nvcc_error
            counts["the layer builds"] += not layer_error
            counts["nvcc builds and the layer not"] += bool(nvcc) and not nvcc_error and bool(layer_error)
            counts["the layer builds and nvcc not"] += bool(nvcc_error) and not layer_error
            if not layer_error:
                built.append(path)
    print("; ".join(f"{name}: {count}" for name, count in counts.items()), flush=True)
    if not options.challenges:
        return

    print("\nchallenge | file | verdict | cases | flags | message")
    verdicts, challenges, host = Counter(), set(), ChallengeHost()
    problems = load_all(options.challenges, host)
    with Session(Backend("cpu", "asked for", None), Options(SEED), needs_torch=False) as session:
        for path in built:
            place = match(path, files[path], options.folder, problems)
            if place is None:
                verdicts["no challenge"] += 1
                continue
            cells = verdict_of(path, problems[place], session)
            print(" | ".join([place.directory.name, str(path.relative_to(options.folder)), *cells]), flush=True)
            verdicts[cells[0]] += 1
            challenges.add(place)
    host.close()
    print("; ".join(f"{name}: {count}" for name, count in verdicts.items()) + f"; {len(challenges)} challenges")


if __name__ == "__main__":
    main()
