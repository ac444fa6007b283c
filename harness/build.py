"""Compiles solve files through the CMake module in cmake/: a source tree's in its build/, any other into a cache."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from harness.errors import UsageError
from harness.facts import printable
from harness.locks import locked
from harness.signature import Parameter, explain, write_check

PACKAGE = Path(__file__).parent
COMPILE_SECONDS = 180
COMPILER_BYTES = 8 << 30  # of memory
COMPILER_FILE_BYTES = 1 << 30  # and of each file that a compiler writes
COMPILER_OUTPUT_BYTES = 4 << 20  # of what it prints are read
SENTENCE = 1000  # characters of what it says, at most
ABANDONED_SECONDS = 3600

# How the CUDA-on-CPU layer marks, in the compiler's output, what it does not support.
UNSUPPORTED_MARKER = "cudacpu: unsupported: "
CUDACPU_INCLUDE = Path(__file__).parent / "cudacpu" / "include"

# CUDA's names that the layer does not have and that need no header of their own. A misspelt name is none of them.
LACKING = re.compile(
    r":(\d+):\d+: error: [^\n]*'((?:cudaGraph|cudaMalloc3D|cudaMallocArray|cudaMemcpy3D|cudaMemcpy2D\w*Array"
    r"|cudaMemset3D|cudaMemPool|cudaMallocFromPool|cudaTexture|cudaSurface|cudaArray|cudaStream\w*Capture|cudaIpc"
    r"|__is(?:Global|Shared|Constant|Local)\b"
    r"|cudaImport|cuda::|cub::(?:Device|Block|Warp|Thread|Cach|Counting|Transform|Constant|Arg|Grid)"
    r"|__v\w+[24]|__nv_fp[46]|__nv_fp8\w*_e8m0)\w*)'[^\n]* (?:was not|has not been) declared"
)

# What compilers, assemblers and linkers say when their limits are reached.
OUT_OF_MEMORY = re.compile(
    r"out of memory allocating \d+ bytes|virtual memory exhausted: |memory exhausted$|LLVM ERROR: out of memory",
    re.MULTILINE,
)
FILE_TOO_LARGE = re.compile(r"\bFile (?:size limit exceeded|too large)")


@dataclass(frozen=True)
class Build:
    """A solve file's library; `runtime` is the CUDA-on-CPU runtime it needs, None for the gpu backend."""

    source: Path
    shared_object: Path
    runtime: Path | None


@dataclass(frozen=True)
class Toolchain:
    """The compilers of this machine as CMake found them: command lines by backend (gpu, cpu, checked)."""

    directory: Path
    commands: dict[str, list[list[str]]]
    compiler: str
    nvcc: str
    notes: str

    @property
    def runtime(self) -> Path:
        return self.directory / "libcudacpu.so"


class BuildError(Exception):
    """A file did not compile. `verdict` is compile-error or unsupported, `output` what the compiler printed."""

    def __init__(self, verdict: str, message: str, output: str = "") -> None:
        super().__init__(printable(message)[:SENTENCE])
        self.verdict = verdict
        self.output = output


# ---- cache and tools --------------------------------------------------------------------------------------------


def cache_directory() -> Path:
    """Where builds are kept. Raises UsageError if it cannot be written."""
    directory = Path(platformdirs.user_cache_dir("solve-judge"))
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise UsageError(
            f"the cache {directory} cannot be written ({error.strerror}): set XDG_CACHE_HOME to a directory that can"
        ) from None
    return directory


def find_tool(name: str) -> str | None:
    """A program from the environment this Python belongs to, else from PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def _cmake() -> str:
    cmake = find_tool("cmake")
    if cmake is None:
        raise UsageError("cmake was not found: install it with pip install cmake ninja")
    return cmake


def _generator() -> list[str]:
    ninja = find_tool("ninja")
    return ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []


def find_nvcc() -> str | None:
    """Whether CMake will find an nvcc, by the same order: CUDACXX, CUDA_HOME, PATH, NVIDIA's wheels."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    wheels = sorted(Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/*/bin"))
    return (
        os.environ.get("CUDACXX")
        or (home and shutil.which("nvcc", path=str(Path(home) / "bin")))
        or shutil.which("nvcc")
        or next((found for w in wheels if (found := shutil.which("nvcc", path=str(w)))), None)
    )


def nvcc_version() -> str | None:
    """ "V13.0.88", or None without an nvcc."""
    nvcc = find_nvcc()
    if nvcc is None:
        return None
    output = subprocess.run([nvcc, "--version"], capture_output=True, text=True, errors="replace").stdout
    match = re.search(r"V[\d.]+", output)
    return match[0] if match else None


def _identity(program: str | None) -> str:
    """A program's path, size and time of change: a new compiler at an old path is another compiler."""
    if program is None or not os.path.exists(program):
        return f"{program}"
    status = os.stat(program)
    return f"{os.path.realpath(program)} {status.st_size} {status.st_mtime_ns}"


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@functools.cache
def toolchain(capability: str | None) -> Toolchain:
    """The toolchain for this machine, configured on first use (some seconds) and kept in the cache.

    `capability` is the compute capability of the GPU that is present ("9.0"), or None.
    """
    own = [PACKAGE / "signature.py", *sorted(PACKAGE.glob("cmake/**/*")), *sorted(PACKAGE.glob("cudacpu/**/*"))]
    sources = [path.read_bytes() for path in own if path.is_file() and path.suffix not in (".md", ".pyc")]
    compilers = [_identity(shutil.which(name)) for name in ("c++", "g++", "clang++")] + [_identity(find_nvcc())]
    wheels = sorted(Path(sys.prefix).glob("lib/python3*/site-packages/nvidia/*/include/cccl"))
    variables = [f"{name}={os.environ.get(name)}" for name in ("CXX", "CXXFLAGS", "CUDACXX", "CUDA_HOME", "CUDAFLAGS")]
    key = _digest(*sources, *compilers, *variables, *map(str, wheels), sys.executable, str(capability))

    root = cache_directory() / "toolchains"
    root.mkdir(exist_ok=True)
    directory = root / key
    ready = directory / "ready"
    with locked(root / f"{key}.lock"):
        if not ready.exists():
            shutil.rmtree(directory, ignore_errors=True)
            source = PACKAGE / "cmake" / "toolchain"
            python = f"-DPython3_EXECUTABLE={sys.executable}"
            configure = [_cmake(), "-S", source, "-B", directory, *_generator(), python]
            for command in (configure, [_cmake(), "--build", directory]):
                done = subprocess.run(command, capture_output=True, text=True, errors="replace")
                if done.returncode != 0:
                    said = re.search(r"(?:CMake Error.*?:\n\s*|error: )(.+)", f"{done.stderr}\n{done.stdout}")
                    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
                    why = said[1].strip() if said else " ".join(last).strip()
                    raise UsageError(
                        f"the compiler cannot be used ({why}): {shlex.join(map(str, command))} shows all of it, "
                        "CXX and CUDACXX name others"
                    )
            ready.touch()
    description = json.loads((directory / "toolchain.json").read_text())
    return Toolchain(
        directory=directory, **{name: description[name] for name in ("commands", "compiler", "nvcc", "notes")}
    )


# ---- one file ---------------------------------------------------------------------------------------------------


def build_file(source: Path, backend: str, parameters: tuple[Parameter, ...], tools: Toolchain) -> Build:
    """The library of `source` for a backend (gpu, cpu, checked), from the cache where nothing has changed.

    Raises BuildError if it does not compile, UsageError if there is no compiler. A failed build leaves nothing behind;
    processes that build the same file at once do not disturb each other.
    """
    if backend not in tools.commands:
        raise UsageError(tools.notes or "no compiler was found")
    source = source.absolute()
    runtime = None if backend == "gpu" else tools.runtime
    key = _digest(json.dumps(tools.commands[backend]), repr(parameters), os.fspath(source), source.read_bytes())
    solves = cache_directory() / "solves"
    solves.mkdir(exist_ok=True)
    entries = solves / key
    for entry in entries.glob("*"):
        if _is_current(entry, source):
            return Build(source, _library(entry, source), runtime)

    _drop_abandoned(solves)
    with tempfile.TemporaryDirectory(dir=solves, prefix="building-") as scratch:
        work, entry = Path(scratch) / "work", Path(scratch) / "entry"
        entry.mkdir()
        write_check(parameters, work, source)
        places = {"@SOURCE@": source, "@LIBRARY@": _library(entry, source), "@WORK@": work}
        for command in tools.commands[backend]:
            _run([_fill(word, places) for word in command], source, parameters, work)
        included = {path: _digest(Path(path).read_bytes()) for path in _read_depfile(work / "depfile")}
        (entry / "included.json").write_text(json.dumps(included))
        final = entries / _digest(json.dumps(included))
        entries.mkdir(exist_ok=True)
        try:
            entry.rename(final)
        except OSError:  # another process was quicker with the same contents
            if not _is_current(final, source):
                raise
    return Build(source, _library(final, source), runtime)


def _drop_abandoned(solves: Path) -> None:
    """Removes what builds have left whose judge was killed: none takes ABANDONED_SECONDS."""
    for directory in solves.glob("building-*"):
        with suppress(OSError):  # another judge was quicker
            if time.time() - directory.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(directory)


def _library(entry: Path, source: Path) -> Path:
    return entry / f"lib{source.stem}.so"


def _is_current(entry: Path, source: Path) -> bool:
    """Whether a cached library is there and the headers that it was built with are still the same."""
    try:
        _library(entry, source).stat()
        included = json.loads((entry / "included.json").read_text())
        return all(_digest(Path(path).read_bytes()) == digest for path, digest in included.items())
    except OSError:  # the library or a header has gone
        return False


def _fill(word: str, places: dict[str, Path]) -> str:
    for name, value in places.items():
        word = word.replace(name, os.fspath(value))
    return word


def _read_depfile(path: Path) -> list[str]:
    """The prerequisites in a depfile, without those of the build's own scratch directory."""
    prerequisites = path.read_text(errors="surrogateescape").partition(": ")[2].replace("\\\n", " ")
    words = re.findall(r"(?:\\.|[^\s\\])+", prerequisites)
    names = [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]
    return sorted({name for name in names if not Path(name).is_relative_to(path.parent)})


def _run(command: list[str], source: Path, parameters: tuple[Parameter, ...], scratch: Path) -> None:
    # English messages, whatever the user's language: some of them are recognised below. What a compiler that is killed
    # leaves of temporary files goes with `scratch`.
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": os.fspath(scratch)}
    # A limit that cannot be set is lower already.
    limits = 'ulimit -d "$1" 2>/dev/null; ulimit -f "$2" 2>/dev/null; shift 2; exec "$@"'
    # A file takes what it prints: so that is limited, too, and nobody has to read it while it comes.
    with tempfile.TemporaryFile(dir=scratch) as printed:
        process = subprocess.Popen(
            ["/bin/sh", "-c", limits, "sh", f"{_compiler_bytes() >> 10}", f"{COMPILER_FILE_BYTES >> 9}", *command],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            process.wait(timeout=COMPILE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            raise BuildError("compile-error", f"the compiler took longer than {COMPILE_SECONDS} s") from None
        printed.seek(0)
        output = printed.read(COMPILER_OUTPUT_BYTES).decode("utf-8", "replace")
    if process.returncode != 0:
        raise _explain(output, source, parameters)


def _compiler_bytes() -> int:
    """The memory that a process of a compiler may take: a file may ask for any."""
    return min(COMPILER_BYTES, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def _explain(output: str, source: Path, parameters: tuple[Parameter, ...]) -> BuildError:
    if OUT_OF_MEMORY.search(output):
        sentence = f"the compiler took more than the {_compiler_bytes() / 2**30:.0f} GiB of memory that it may"
        return BuildError("compile-error", sentence, output)
    if FILE_TOO_LARGE.search(output):
        sentence = f"the compiler wrote a file of more than {COMPILER_FILE_BYTES / 2**30:.0f} GiB"
        return BuildError("compile-error", sentence, output)
    if UNSUPPORTED_MARKER in output:
        line = next(line for line in output.splitlines() if UNSUPPORTED_MARKER in line)
        feature = line.partition(UNSUPPORTED_MARKER)[2].strip("\"' ")
        place = line.partition(UNSUPPORTED_MARKER)[0]
        if str(CUDACPU_INCLUDE) in place:  # an assertion of the layer's: the compiler says before it what led there
            led = output.partition(line)[0]
            place = next(iter(re.findall(rf"{re.escape(source.name)}:\d+", led)[::-1]), "")
        where = re.search(r":(\d+)", place)
        return BuildError("unsupported", f"line {where[1]}: {feature}" if where else feature, output)
    lacking = LACKING.search(output)
    if lacking:
        return BuildError("unsupported", f"line {lacking[1]}: {lacking[2]}: the CPU backend does not have it", output)
    sentence = explain(output, parameters)
    if sentence is None:
        # The first line that speaks of an error, shortened to the file's name: k.cu:12:5: error: ... or k.cu(12): ...
        error = next((line for line in output.splitlines() if re.search(r"\berror\b", line)), output.strip()[:500])
        sentence = error.replace(f"{source.parent}{os.sep}", "").strip() or "the compiler failed without a message"
    return BuildError("compile-error", sentence, output)


# ---- a source tree ----------------------------------------------------------------------------------------------


def build_tree(root: Path, backend: str) -> None:
    """Brings up to date what one backend needs of build/.

    What does not compile has no library afterwards; `find_in_tree` then says so.
    """
    tree = root / "build"
    tree.mkdir(exist_ok=True)
    with locked(tree / ".judge.lock"):
        if not (tree / "CMakeCache.txt").exists():
            command = [_cmake(), "-S", root, "-B", tree, *_generator(), f"-DPython3_EXECUTABLE={sys.executable}"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            if done.returncode != 0:
                raise UsageError(f"cmake -B build failed: {' '.join(done.stderr.split())[:500]}")
        ninja = "CMAKE_GENERATOR:INTERNAL=Ninja" in (tree / "CMakeCache.txt").read_text()
        keep_going = ["-k", "0"] if ninja else ["-k"]
        # Its status is not asked: a file that does not compile gets its own verdict.
        command = [_cmake(), "--build", tree, "--target", f"{backend}_solves", "--parallel", "--", *keep_going]
        subprocess.run(command, capture_output=True)


def find_in_tree(root: Path, source: Path, backend: str) -> Build | None:
    """The library that build/ holds for a file of cuda/, None if it did not compile."""
    directories = {"gpu": root / "build", "cpu": root / "build" / "cpu", "checked": root / "build" / "cpu" / "checked"}
    library = directories[backend] / f"lib{source.stem}.so"
    if not library.exists():
        return None
    return Build(source.absolute(), library, None if backend == "gpu" else root / "build" / "cpu" / "libcudacpu.so")
