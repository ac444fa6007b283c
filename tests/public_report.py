"""Public solve files in a folder of checkouts: which nvcc builds, which the CPU layer builds, how they are judged.

    python tests/public_report.py FOLDER [--challenges CHECKOUT] [--part 1/2] [--only TEXT] [--no-nvcc]

Of files with the same contents the first counts; files with a `main` of their own and a challenge's empty starters do
not. nvcc only compiles, so no GPU is needed. A file is judged for the challenge of the checkout whose signature its
`solve` has and whose name its path names, on the CPU backend. A line for each file, a summary at the end.
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
from harness.build import LACKING, UNSUPPORTED_MARKER, find_nvcc, toolchain
from harness.challenge import ChallengeHost, find_all, load_challenge
from harness.errors import UsageError
from harness.judge import Options, Session, judge
from harness.submission import Submission

SEED = 1
SOLVE = re.compile(r"\bvoid\s+solve\s*\(([^)]*)\)\s*\{")  # not a mere declaration
MAIN = re.compile(r"\bint\s+main\s*\(")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# sm_90a has all that sm_90 has; some files are for Blackwell alone.
ARCHITECTURES = ("sm_90a", "sm_100a")
# Words of a path that do not name a challenge, and what some people call one.
FILLING = {"cu", "cuda", "easy", "medium", "hard", "solve", "kernel", "challenges", "src", "naive", "answer"}
ALIASES = (
    ("vec add", "vector add"), ("vectors", "vector"), ("add", "addition"), ("mat mul", "matrix multiplication"),
    ("matmul", "matrix multiplication"), ("conv", "convolution"), ("reduce", "reduction"), ("prefixsum", "prefix sum"),
    ("activate", "activation"), ("si lu", "silu"), ("sigmoid linear unit", "silu"), ("sigmoid lu", "silu"),
    ("swish gated linear unit", "swiglu"), ("gaussian error gated linear unit", "geglu"), ("re lu", "relu"),
    ("hist", "histogramming"), ("histogram", "histogramming"), ("pool", "pooling"), ("invert", "inversion"),
    ("arr", "array"), ("elem", "element"), ("elements", "element"), ("fft", "fast fourier transform"),
    ("mse", "mean squared error"), ("rms norm", "rms normalization"), ("batch norm", "batch normalization"),
    ("spmv", "sparse matrix vector multiplication"), ("sort", "sorting"), ("subarr", "subarray"),
    ("cross entropy", "categorical cross entropy loss"), ("ce", "categorical cross entropy loss"),
    ("dot", "dot product"), ("soft max", "softmax"), ("rope", "rope embedding"), ("clipping", "value clipping"),
    ("rotary positional embedding", "rope embedding"), ("gray scale", "grayscale"), ("clip", "value clipping"),
    ("k means", "kmeans"),
)  # fmt: skip


def solve_files(folder):
    """The distinct solve files: path -> the text without comments."""
    found, seen = {}, set()
    for path in sorted(folder.rglob("*.cu")):
        text = COMMENT.sub(" ", path.read_text(encoding="utf-8", errors="replace"))
        key = "".join(text.split())
        if SOLVE.search(text) and not MAIN.search(text) and key not in seen and "starter" not in path.parts:
            seen.add(key)
            found[path] = text
    return found


# ---- building ---------------------------------------------------------------------------------------------------


def first_error(output):
    lines = [line for line in output.splitlines() if "error" in line]
    return (lines or output.strip().splitlines() or ["no message"])[0]


def run(command):
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    )
    return done.returncode, done.stdout


def by_nvcc(path, scratch):
    """ "" if it compiles, else the first error."""
    with tempfile.NamedTemporaryFile(suffix=".o") as target:
        for architecture in ARCHITECTURES:
            command = [find_nvcc(), "-std=c++17", f"-arch={architecture}", "-w", "-O1", "-I", scratch]
            status, output = run([*command, "-c", path, "-o", target.name])
            if status == 0:
                return ""
    return first_error(output)


def by_layer(path, tools):
    """ "" if it builds with the judge's own command lines, else the first error or what the layer names as lacking."""
    with tempfile.TemporaryDirectory() as work:
        for name in ("solve.h", "solve-check.cu"):
            Path(work, name).touch()
        places = {"@SOURCE@": str(path), "@LIBRARY@": f"{work}/solve.so", "@WORK@": work}
        for command in tools.commands["cpu"]:
            words = [re.sub("|".join(places), lambda match: places[match[0]], word) for word in command]
            status, output = run(words)
            if status != 0:
                break
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
        words = re.findall(r"\w+|\*", re.sub(r"\b(const|__restrict__)\b", " ", parameter))
        base = " ".join(word for word in words if word != "*").rpartition(" ")[0]
        if "*" not in words and base not in ("float", "double"):
            base = "int"  # whatever type counts have
        known = {"unsigned int": "uint32_t", "unsigned": "uint32_t", "unsigned char": "uint8_t", "half": "__half"}
        types.append(known.get(base, base) + "*" * ("*" in words))
    return types


def words_of(text):
    """The words of a name in camel case, with underscores or hyphens, under the challenges' own names for things."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    text = re.sub(r"(\d)[ _-]?[dD](?![a-z])", r" \1d ", text)
    text = " ".join(re.findall(r"\d[d]|[a-z]+", text.lower().replace("_", " ").replace("-", " ")))
    for theirs, ours in ALIASES:
        text = re.sub(rf"\b{theirs}\b(?! ?{ours.split()[-1]})", ours, text)
    return set(text.split()) - FILLING


def match(path, text, folder, problems):
    """The challenge that a file answers, or None: of those with its signature the one whose name is most like."""
    types = types_of(SOLVE.search(text)[1])
    given = words_of(str(path.relative_to(folder).with_suffix("")).partition("/")[2])
    best, best_score = None, 0.0
    for place, problem in problems.items():
        if types_of(",".join(parameter.c_text for parameter in problem.parameters)) != types:
            continue
        wanted = words_of(place.name)
        shared = len(wanted & given)
        score = shared / len(wanted) + 0.1 * shared / len(wanted | given)
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
    parser.add_argument("--part", default="1/1", help="only a part of the files: 2/3 is the second of three")
    parser.add_argument("--only", default="", help="only files whose path contains this")
    parser.add_argument("--no-nvcc", action="store_true", help="do not build by nvcc")
    options = parser.parse_args()
    files = {path: text for path, text in solve_files(options.folder).items() if options.only in str(path)}
    part, parts = map(int, options.part.split("/"))
    files = {path: text for i, (path, text) in enumerate(files.items()) if i % parts == part - 1}
    counts = Counter(files=len(files))

    print("file | nvcc | layer")
    nvcc = None if options.no_nvcc else find_nvcc()
    built, tools = [], toolchain(None)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as executor:
        Path(scratch, "solve.h").touch()  # LeetGPU's, which declares solve
        found = executor.map(lambda p: (p, by_nvcc(p, scratch) if nvcc else "", by_layer(p, tools)), files)
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
