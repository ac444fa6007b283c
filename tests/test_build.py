"""How solve files are compiled: single files through the cache, and the CMake project."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import venv
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from harness import build
from harness.build import BuildError, build_file
from harness.errors import UsageError
from harness.signature import VECTOR, namespaces_of_solve

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")

# Names of its own beside `solve`, so that there is something to hide.
DOUBLES = """\
__device__ int touched;
void helper() {}
__global__ void twice(const float* input, float* output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] = FACTOR * input[i];
}
extern "C" void solve(const float* input, float* output, int N) {
    twice<<<(N + 255) / 256, 256>>>(input, output, N);
    cudaDeviceSynchronize();
}
"""

# Knows nothing of the package: any host program can call the library.
CALLER = """\
import ctypes, sys
solve = ctypes.CDLL(sys.argv[1]).solve
solve.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
input, output = (ctypes.c_float * 1000)(*range(1000)), (ctypes.c_float * 1000)()
solve(input, output, 1000)
print(output[0], output[999])
"""


def write(directory, source=DOUBLES, factor=2, name="twice.cu"):
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(source.replace("FACTOR", f"{factor}"))
    return path


def call(library):
    """What a fresh Python process without this package gets for the first and the last element."""
    command = [sys.executable, "-I", "-c", CALLER, library]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    return tuple(map(float, done.stdout.split()))


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return [line.split()[-1] for line in done.stdout.splitlines()]


@pytest.fixture(scope="session")
def toolchain():
    """The real toolchain, set up in the cache that conftest.py gives to the test run."""
    return build.toolchain(None)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache for the libraries of one test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def tools(toolchain, cache):
    return toolchain


@pytest.fixture
def counted(tools, tmp_path):
    """The toolchain with one more step, and a function that tells how many builds have reached it."""
    log = tmp_path / "builds.log"
    step = [sys.executable, "-c", f"open({str(log)!r}, 'a').write('.')"]
    commands = {backend: [*steps, step] for backend, steps in tools.commands.items()}
    return replace(tools, commands=commands), lambda: len(log.read_text())


# ---- the library of one file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cpu", "checked"])
def test_a_library_exports_solve_alone_and_any_process_can_call_it(tools, tmp_path, backend):
    built = build_file(write(tmp_path), backend, VECTOR, tools)
    assert exported(built.shared_object) == ["solve"]
    assert call(built.shared_object) == (0, 1998)
    assert built.runtime.is_file()


@pytest.mark.skipif(build.find_nvcc() is None, reason="needs nvcc")
def test_a_gpu_library_exports_solve_alone_and_shares_its_cudart(tools):
    built = build_file(ROOT / "cuda" / "softmax.cu", "gpu", VECTOR, tools)
    assert exported(built.shared_object) == ["solve"]
    done = subprocess.run(["readelf", "-d", built.shared_object], capture_output=True, text=True, check=True)
    assert re.search(r"NEEDED.*\[libcudart\.so\.\d+", done.stdout)
    assert built.runtime is None


def test_the_older_style_with_solve_h_and_no_linkage_of_its_own_builds(tools, tmp_path):
    source = '#include "solve.h"\nvoid solve(const float* input, float* output, int N) { output[N - 1] = N; }\n'
    assert call(build_file(write(tmp_path, source), "cpu", VECTOR, tools).shared_object) == (0, 1000)


def test_a_file_in_a_directory_with_an_awkward_name_builds_with_the_header_beside_it(counted, tmp_path):
    tools, builds = counted
    directory = tmp_path / os.fsdecode('it\'s a "quoted" dép\xf4t '.encode() + b"\xff")
    source = write(directory, '#include "common.cuh"\n' + DOUBLES, "THREE")
    (directory / "common.cuh").write_text("#define THREE 3\n")
    assert call(build_file(source, "cpu", VECTOR, tools).shared_object) == (0, 2997)

    (directory / "common.cuh").write_text("#define THREE 4\n")
    assert call(build_file(source, "cpu", VECTOR, tools).shared_object) == (0, 3996)
    build_file(source, "cpu", VECTOR, tools)
    assert builds() == 2


# ---- the cache --------------------------------------------------------------------------------------------------


def test_an_unchanged_file_is_not_compiled_again(counted, tmp_path):
    tools, builds = counted
    source = write(tmp_path)
    first = build_file(source, "cpu", VECTOR, tools)
    inode = first.shared_object.stat().st_ino
    os.utime(source, (1, 1))  # its contents count, not its time
    assert build_file(source, "cpu", VECTOR, tools) == first
    assert first.shared_object.stat().st_ino == inode
    assert builds() == 1


def test_a_changed_file_is_compiled_again(counted, tmp_path):
    tools, builds = counted
    assert call(build_file(write(tmp_path, factor=2), "cpu", VECTOR, tools).shared_object) == (0, 1998)
    assert call(build_file(write(tmp_path, factor=5), "cpu", VECTOR, tools).shared_object) == (0, 4995)
    assert builds() == 2


def test_a_changed_header_is_seen_and_the_old_library_found_when_it_is_as_before(counted, tmp_path):
    tools, builds = counted
    source = write(tmp_path, '#include "common.cuh"\n' + DOUBLES, "VALUE")
    header = tmp_path / "common.cuh"

    header.write_text("#define VALUE 2\n")
    first = build_file(source, "cpu", VECTOR, tools)
    header.write_text("#define VALUE 7\n")
    second = build_file(source, "cpu", VECTOR, tools)
    assert (call(first.shared_object), call(second.shared_object)) == ((0, 1998), (0, 6993))

    header.write_text("#define VALUE 2\n")
    assert build_file(source, "cpu", VECTOR, tools) == first
    assert builds() == 2


def test_a_failed_build_leaves_no_library_and_no_scratch_directory(tools, cache, tmp_path):
    with pytest.raises(BuildError):
        build_file(write(tmp_path, "this is no C++"), "cpu", VECTOR, tools)
    assert [path for path in cache.rglob("*") if path.is_file() or "building" in path.name] == []


def test_what_a_killed_build_has_left_goes_when_it_is_old_enough(tools, cache, tmp_path):
    solves = cache / "solve-judge" / "solves"
    solves.mkdir(parents=True, exist_ok=True)
    for name, age in (("building-old", build.ABANDONED_SECONDS + 60), ("building-new", 60)):
        (solves / name / "work").mkdir(parents=True)
        then = time.time() - age
        os.utime(solves / name, (then, then))
    build_file(write(tmp_path), "cpu", VECTOR, tools)
    assert [path.name for path in solves.glob("building-*")] == ["building-new"]


def test_two_processes_that_build_one_file_at_once_both_get_a_working_library(tools, tmp_path):
    # A step after the compiler's, which ends only when two builds have come so far: when both have called here.
    with socket.create_server(("127.0.0.1", 0)) as meeting:
        meeting.settimeout(60)
        call_here = f"import socket; socket.create_connection({meeting.getsockname()!r}, 60).recv(1)"
        tools = replace(tools, commands={"cpu": [*tools.commands["cpu"], [sys.executable, "-c", call_here]]})
        source = write(tmp_path)
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(build_file, source, "cpu", VECTOR, tools) for _ in range(2)]
            callers = [meeting.accept()[0] for _ in range(2)]
            for caller in callers:
                caller.close()
            first, second = (future.result() for future in futures)
    assert first == second
    assert call(first.shared_object) == (0, 1998)


# ---- what is said when it does not compile ----------------------------------------------------------------------

WANTED = 'extern "C" void solve(const float* input, float* output, int N)'


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            "void solve(const float* input, float* output, int N) {}",
            f'solve is there but mangled: add extern "C", as in {WANTED}',
        ),
        ("__global__ void kernel() {}", f"there is no function solve: define {WANTED}"),
        (
            'extern "C" void solve(const float* input, float* output) {}',
            f"solve takes another number of parameters than the problem passes: define {WANTED}",
        ),
        (
            'extern "C" void solve(const float* input, int N, float* output) {}',
            f"solve takes a pointer where the problem passes a number, or the reverse, or a reference: define {WANTED}",
        ),
    ],
    ids=["mangled", "missing", "two parameters", "wrong order"],
)
def test_a_solve_that_cannot_be_called_is_refused_with_what_to_define(tools, tmp_path, source, sentence):
    with pytest.raises(BuildError) as caught:
        build_file(write(tmp_path, source), "cpu", VECTOR, tools)
    assert (caught.value.verdict, str(caught.value)) == ("compile-error", sentence)


@pytest.mark.skipif(build.find_nvcc() is None, reason="needs nvcc")
def test_nvcc_refuses_a_mangled_solve_with_the_same_sentence(tools, tmp_path):
    with pytest.raises(BuildError, match=r"^solve is there but mangled: add extern"):
        build_file(write(tmp_path, "void solve(const float* i, float* o, int N) {}"), "gpu", VECTOR, tools)


def test_a_pointer_without_const_and_a_wider_integer_are_accepted(tools, tmp_path):
    source = 'extern "C" void solve(float* input, float* output, long N) { output[0] = 1; }'
    assert call(build_file(write(tmp_path, source), "cpu", VECTOR, tools).shared_object) == (1, 0)


def test_an_error_is_given_as_the_compilers_first_with_name_and_line_of_the_file(tools, tmp_path):
    source = DOUBLES.replace("blockDim.x + threadIdx.x;", "blockDim.x + threadIdx.x")
    with pytest.raises(BuildError) as caught:
        build_file(write(tmp_path, source), "cpu", VECTOR, tools)
    assert caught.value.verdict == "compile-error"
    assert re.match(r"twice\.cu:[45]:(\d+:)? error: ", str(caught.value))
    assert str(caught.value) in caught.value.output.replace(f"{tmp_path}{os.sep}", "")


def test_a_feature_that_the_cpu_cannot_run_is_unsupported_with_its_line(tools, tmp_path):
    with pytest.raises(BuildError) as caught:
        build_file(
            write(tmp_path, "#include <cuda_runtime.h>\n\n#include <cublas_v2.h>\n" + DOUBLES), "cpu", VECTOR, tools
        )
    assert caught.value.verdict == "unsupported"
    assert re.match(r"line 3: .*\bcuBLAS\b", str(caught.value))


def test_without_a_compiler_for_the_backend_the_sentence_says_what_is_missing(tools, tmp_path):
    tools = replace(tools, commands={}, notes="No C++ compiler was found: install one.")
    with pytest.raises(UsageError, match=re.escape("No C++ compiler was found: install one.")):
        build_file(write(tmp_path), "cpu", VECTOR, tools)


# ---- the CMake project ------------------------------------------------------------------------------------------

LIBRARIES = ("libtwice.so", "cpu/libtwice.so", "cpu/checked/libtwice.so")


def copy_tree(root):
    root.mkdir()
    shutil.copy(ROOT / "CMakeLists.txt", root)
    shutil.copytree(ROOT / "harness", root / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "cuda").mkdir()
    shutil.copy(ROOT / "cuda" / "softmax.cu", root / "cuda")


class Project:
    """A copy of the source tree, and what CMake finds of this machine: `path` as PATH, a Python without packages."""

    def __init__(self, root, path, python):
        copy_tree(root)
        self.root = root
        self.python = python
        hidden = ("CXX", "CC", "CUDACXX", "CUDA_HOME", "CUDA_PATH", "CMAKE_GENERATOR")
        self.environment = {name: value for name, value in os.environ.items() if name not in hidden}
        self.environment["PATH"] = path

    def cmake(self, *arguments):
        return subprocess.run(
            [build.find_tool("cmake"), *arguments],
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def configure(self):
        ninja = build.find_tool("ninja")
        done = self.cmake(
            "-B", "build", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DPython3_EXECUTABLE={self.python}"
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def build(self):
        return self.cmake("--build", "build", "--", "-k", "0")

    def exist(self, *names):
        return [(self.root / "build" / name).is_file() for name in names]


def path_without(program, directory):
    """PATH with every directory that holds `program` replaced by one of links to everything else in it."""
    entries = []
    for number, entry in enumerate(os.environ["PATH"].split(os.pathsep)):
        if (Path(entry) / program).exists():
            links = directory / f"{number}"
            links.mkdir(parents=True)
            for other in Path(entry).iterdir():
                if other.name != program:
                    (links / other.name).symlink_to(other)
            entry = str(links)
        entries.append(entry)
    return os.pathsep.join(entries)


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """A Python with the standard library alone: none of NVIDIA's wheels beside it."""
    directory = tmp_path_factory.mktemp("python")
    venv.create(directory, symlinks=True)
    return directory / "bin" / "python3"


@pytest.fixture(scope="module")
def project(tmp_path_factory, bare_python):
    """A project configured and built where there is no nvcc, with what CMake said."""
    directory = tmp_path_factory.mktemp("project")
    project = Project(directory / "tree", path_without("nvcc", directory / "path"), bare_python)
    project.said = project.configure()
    done = project.build()
    assert done.returncode == 0, done.stdout
    return project


def test_without_nvcc_the_cpu_build_stands_in_and_cmake_says_so_in_one_line(project):
    assert project.exist("libsoftmax.so", "cpu/libsoftmax.so", "cpu/checked/libsoftmax.so") == [True] * 3
    assert exported(project.root / "build" / "libsoftmax.so") == ["solve"]
    assert call(project.root / "build" / "libsoftmax.so") == call(project.root / "build" / "cpu" / "libsoftmax.so")
    stand_in = "-- lib*.so: the CPU build of each file, since there is no CUDA compiler"
    assert project.said.splitlines().count(stand_in) == 1


def test_a_new_file_is_built_with_no_edit_and_a_change_in_its_header_is_seen(project):
    write(project.root / "cuda", '#include "factor.cuh"\n' + DOUBLES, "VALUE")
    for factor in (2, 3):
        (project.root / "cuda" / "factor.cuh").write_text(f"#define VALUE {factor}\n")
        done = project.build()
        assert done.returncode == 0, done.stdout
        for name in LIBRARIES:
            assert call(project.root / "build" / name) == (0, factor * 999)
    again = project.build()
    assert "Building" not in again.stdout, again.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [("this is no C++\n", "twice.cu"), ("// problem: no_such_problem\n", "unknown problem 'no_such_problem'")],
    ids=["does not compile", "unknown problem"],
)
def test_a_file_that_stops_compiling_leaves_no_library_behind_and_the_others_stay(project, change, said):
    write(project.root / "cuda")
    done = project.build()
    assert done.returncode == 0, done.stdout
    write(project.root / "cuda", change + DOUBLES)
    done = project.build()
    assert done.returncode != 0
    assert said in done.stdout
    assert project.exist(*LIBRARIES) == [False] * 3
    assert project.exist("libsoftmax.so", "cpu/libsoftmax.so", "cpu/checked/libsoftmax.so") == [True] * 3


def test_a_run_on_one_backend_builds_no_more_than_it_needs(tmp_path, bare_python):
    tools = tmp_path / "tools"
    tools.mkdir()
    nvcc = tools / "nvcc"  # what CMake asks of it
    nvcc.write_text('#!/bin/sh\nif [ "$1" = --list-gpu-arch ]; then echo compute_90; else echo V13.0.88; fi\n')
    nvcc.chmod(0o755)
    project = Project(tmp_path / "tree", f"{tools}{os.pathsep}{os.environ['PATH']}", bare_python)
    assert str(nvcc) in project.configure()
    built = {}
    for target in ("cpu_solves", "gpu_solves"):
        asked = [build.find_tool("ninja"), "-C", "build", "-t", "inputs", target]
        done = subprocess.run(asked, cwd=project.root, capture_output=True, text=True, check=True)
        built[target] = set(re.findall(r"^(?:\S*/build/)?(\S*libsoftmax\.so)$", done.stdout, re.MULTILINE))
    assert built == {"cpu_solves": {"cpu/libsoftmax.so", "cpu/checked/libsoftmax.so"}, "gpu_solves": {"libsoftmax.so"}}


def test_without_a_cpp_compiler_configuring_succeeds_and_says_what_is_missing(tmp_path, bare_python):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cmake", "ninja"):
        (tools / name).symlink_to(build.find_tool(name))
    (tools / "python3").symlink_to(bare_python)
    project = Project(tmp_path / "tree", str(tools), bare_python)
    said = project.configure()
    assert "No C++ compiler was found: .cu files cannot be built (apt install g++, or set CXX)." in said
    assert "the CPU build of each file" not in said
    done = project.build()
    assert done.returncode == 0, done.stdout


def test_a_compiler_that_hangs_is_ended_with_all_its_processes_and_temporary_files(tools, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "COMPILE_SECONDS", 1)
    note = tmp_path / "pid"
    temporary = tmp_path / "temporary"
    hang = ["sh", "-c", f"mktemp > '{temporary}'; sleep 1000 & echo $! > '{note}'; wait"]
    with pytest.raises(BuildError, match=r"^the compiler took longer than 1 s$"):
        build_file(write(tmp_path), "cpu", VECTOR, replace(tools, commands={"cpu": [hang]}))
    assert not Path(temporary.read_text().strip()).exists()
    deadline = time.monotonic() + 30
    while is_running(int(note.read_text())):
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("top", "limit", "value", "says"),
    [
        ('#include "/dev/zero"', "COMPILER_BYTES", 1 << 29, r"^the compiler took more than the 0 GiB of memory"),
        ("char big[2 << 20] = {1};", "COMPILER_FILE_BYTES", 1 << 20, r"^the compiler wrote a file of more than 0 GiB"),
        ("#error " + "x" * 5000, "SENTENCE", 1000, r"^solve\.cu:1:2: error: #error x{900,}$"),
        ("#error \x1b[31mred \x07", "SENTENCE", 1000, r"^solve\.cu:1:2: error: #error  \[31mred *$"),
    ],
    ids=["memory", "file", "long words", "a terminal's words"],
)
def test_a_compiler_is_limited_in_all_that_it_takes_and_says(tools, tmp_path, monkeypatch, top, limit, value, says):
    monkeypatch.setattr(build, limit, value)
    path = write(tmp_path, f"{top}\n{DOUBLES}", name="solve.cu")
    with pytest.raises(BuildError, match=says) as raised:
        build_file(path, "cpu", VECTOR, tools)
    assert len(str(raised.value)) <= build.SENTENCE


@pytest.mark.timeout(20)
@pytest.mark.parametrize("opened", ['R"(', "/* ", '"\\', "'\\"], ids=["raw string", "comment", "string", "character"])
def test_literals_that_are_never_closed_are_passed_over_in_one_go(opened):
    """60,000 of them took a minute and more, in the judge itself."""
    assert namespaces_of_solve("namespace a { void solve(); }" + opened * 60_000) == ("a",)
    assert namespaces_of_solve(opened * 60_000) == ()


def is_running(pid):
    """Whether a process is there and no zombie: whoever adopts orphans here need not be in a hurry to reap."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
