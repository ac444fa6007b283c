"""What `solve` looks like in each problem, and the C++ that declares and checks it when a file is compiled.

Standard library only: CMake runs `python -m harness.signature SOURCE DIRECTORY` with whatever Python it finds.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

C_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "bool": "bool",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "size_t",
}

# The headers that declare those that C++ itself does not.
C_HEADERS = {
    "float16": "cuda_fp16.h",
    "bfloat16": "cuda_bf16.h",
    "int8": "stdint.h",
    "uint8": "stdint.h",
    "int16": "stdint.h",
    "uint16": "stdint.h",
    "uint32": "stdint.h",
    "int64": "stdint.h",
    "uint64": "stddef.h",
}

# The file that holds `check_text`: its name in a compiler's message tells `explain` whose fault it is.
CHECK_FILE = "solve-check.cu"


@dataclass(frozen=True)
class Parameter:
    """One parameter of `solve`: a buffer ("in", "out", "inout"), a "scalar", or an "object"; dtype as NumPy names it.

    An object has no C type (a challenge may pass a torch module): only a Python solve can take it.
    """

    name: str
    dtype: str
    role: str

    @property
    def is_buffer(self) -> bool:
        return self.role in ("in", "out", "inout")

    @property
    def c_text(self) -> str:
        if self.role == "object":
            return f"/* a Python object */ {self.name}"
        const = "const " if self.role == "in" else ""
        return f"{const}{C_TYPES[self.dtype]}{'*' if self.is_buffer else ''} {self.name}"


VECTOR = (
    Parameter("input", "float32", "in"),
    Parameter("output", "float32", "out"),
    Parameter("N", "int32", "scalar"),
)


def _rows_of(dtype: str) -> tuple[Parameter, ...]:
    """A matrix in, a matrix out, each with a row stride of its own in elements."""
    scalars = ("n_rows", "n_cols", "input_row_stride", "output_row_stride")
    return (
        Parameter("input", dtype, "in"),
        Parameter("output", dtype, "out"),
        *(Parameter(name, "int32", "scalar") for name in scalars),
    )


PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "softmax": VECTOR,
    "softmax_rows": _rows_of("float32"),
    "softmax_rows_f16": _rows_of("float16"),
    "softmax_rows_bf16": _rows_of("bfloat16"),
    "subtract_one": VECTOR,
}

DEFAULT_PROBLEM = "softmax"


def problems_named_in(source: Path) -> tuple[str, ...]:
    """The names in a `// problem: NAME` or `# problem: NAME` line among the first ten lines, or ()."""
    with open(source, "rb") as file:
        head = b"".join(file.readline(4096) for _ in range(10)).decode("utf-8-sig", "replace")
    match = re.search(r"^\s*(?://|#)[ \t]*problem:[ \t]*(\S.*?)\s*$", head, re.MULTILINE)
    return tuple(dict.fromkeys(re.findall(r"[^\s,]+", match[1]))) if match else ()


def c_declaration(parameters: tuple[Parameter, ...]) -> str:
    return f"void solve({', '.join(p.c_text for p in parameters)})"


# Comments and literals, which the search below steps over, and what it looks at. One that is not closed goes on to the
# end, or else many of them would take time by the square of their number.
CODE = re.compile(
    r"""
    //(?:\\\n|[^\n])* | /\*(?:.*?\*/|.*)
    | R"(?P<mark>[^()\\\s]{0,16})\((?:.*?\)(?P=mark)"|.*)
    | "(?P<text>(?:\\.|[^"\\\n])*)"?
    | '(?:\\.|[^'\\\n]){0,16}'
    | \b(?:inline\s+)?namespace\s+(?P<names>\w+(?:\s*::\s*\w+)*)\s*\{
    | (?P<solve>\bsolve\s*\()
    | [{}]
    """,
    re.VERBOSE | re.DOTALL,
)


def namespaces_of_solve(text: str) -> tuple[str, ...]:
    """The namespaces around the `solve(` with C linkage outside of functions, or else the first, outermost first."""
    scopes: list[tuple[str, ...]] = []  # the names that each open brace adds
    blocks: list[bool] = []  # whether it opens a block of C linkage
    first: tuple[str, ...] | None = None
    behind = False  # an `extern "C"`, with no brace between
    linkage = -1  # where an `extern "C"` ended that may have a brace behind it
    for match in CODE.finditer(text):
        token = match[0]
        if match["names"]:
            scopes.append(tuple(re.split(r"\s*::\s*", match["names"])))
            blocks.append(False)
        elif token == "{":
            opens_block = linkage >= 0 and not text[linkage : match.start()].strip()
            scopes.append(() if opens_block else ("",))
            blocks.append(opens_block)
        elif token == "}" and scopes:
            scopes.pop()
            blocks.pop()
        elif match["solve"] and not any(scope == ("",) for scope in scopes):
            names = tuple(name for scope in scopes for name in scope)
            if behind or any(blocks):
                return names
            first = names if first is None else first
        linkage = match.end() if match["text"] == "C" else -1
        behind = match["text"] == "C" or (behind and not match["names"] and token not in "{}")
    return first or ()


def check_text(parameters: tuple[Parameter, ...], namespaces: tuple[str, ...] = ()) -> str:
    """C++ for the end of a translation unit: compiles only if `solve` can be called as the problem calls it.

    Only what the C calling convention can see is checked: C linkage, the number of parameters, which are pointers, that
    no struct is returned (its place would be a hidden parameter). `float*` for `const float*`, `long` for `int`, or a
    number for the result, works in practice and is left alone. `j_plain` is a function's type without default
    arguments, which g++ keeps in decltype(solve) and then takes for given twice. The names are odd, since the file's
    macros reach this text.
    """
    expected = ", ".join("true" if p.is_buffer else "false" for p in parameters)
    opened = "".join(f"namespace {name} {{ " for name in namespaces)
    solve = "::".join(("", *namespaces, "solve"))
    return f"""\
namespace judge_signature {{
template <class j_T> struct j_plain;
template <class j_R, class... j_P> struct j_plain<j_R(j_P...)> {{ using j_type = j_R(j_P...); }};
template <class j_R, class... j_P> struct j_plain<j_R(j_P...) noexcept> {{ using j_type = j_R(j_P...) noexcept; }};
}}
{opened}extern "C" ::judge_signature::j_plain<decltype(solve)>::j_type solve;{" }" * len(namespaces)}
namespace judge_signature {{
template <class j_T> struct j_pointer {{ static constexpr bool j_value = false; }};
template <class j_T> struct j_pointer<j_T*> {{ static constexpr bool j_value = true; }};
template <class j_T> struct j_pointer<j_T&> {{ static constexpr bool j_value = !j_pointer<j_T>::j_value; }};
template <class... j_P> struct j_list {{}};
template <class j_R, class... j_P> j_list<j_P...> j_parameters(j_R (*)(j_P...));
template <class j_R, class... j_P> j_R j_result(j_R (*)(j_P...));
template <class... j_P> constexpr int j_count(j_list<j_P...>) {{ return sizeof...(j_P); }}
template <bool... j_E, class... j_P> constexpr bool j_kinds(j_list<j_P...>) {{
    if constexpr (sizeof...(j_E) == sizeof...(j_P)) return ((j_E == j_pointer<j_P>::j_value) && ...);
    else return true; }}
static_assert(j_count(decltype(j_parameters(&{solve})){{}}) == {len(parameters)}, "");
static_assert(j_kinds<{expected}>(decltype(j_parameters(&{solve})){{}}), "");
static_assert(!__is_class(decltype(j_result(&{solve}))) && !__is_union(decltype(j_result(&{solve}))), "");
}}
"""


def explain(compiler_output: str, parameters: tuple[Parameter, ...]) -> str | None:
    """The sentence for a compiler's complaint about `check_text`, or None if its first error is another."""
    first_error = re.search(r"^.*\berror\b.*$", compiler_output, re.MULTILINE)
    match = first_error and re.match(r"\S*" + CHECK_FILE + r"[:(](\d+).*?error: (.*)", first_error[0])
    if not match:
        return None
    line, text = check_text(parameters).splitlines()[int(match[1]) - 1], match[2]
    wanted = f'extern "C" {c_declaration(parameters)}'
    if line.startswith('extern "C"') and ("linkage" in text or "conflicting" in text):
        return f'solve is there but mangled: add extern "C", as in {wanted}'
    if line.startswith('extern "C"') and any(words in text for words in ("not declared", "undeclared", "is undefined")):
        return f"there is no function solve: define {wanted}"
    if line.startswith("static_assert(j_count"):
        return f"solve takes another number of parameters than the problem passes: define {wanted}"
    if line.startswith("static_assert(j_kinds"):
        return (
            f"solve takes a pointer where the problem passes a number, or the reverse, or a reference: define {wanted}"
        )
    if line.startswith("static_assert(!__is_class"):
        return f"solve returns a struct where the problem wants nothing: define {wanted}"
    return f"solve is not one plain function: define {wanted}"


def write_check(parameters: tuple[Parameter, ...], directory: Path, source: Path) -> None:
    """Writes solve.h, which older LeetGPU files include, and CHECK_FILE, compiled with the source before it."""
    directory.mkdir(parents=True, exist_ok=True)
    headers = dict.fromkeys(C_HEADERS[p.dtype] for p in parameters if p.dtype in C_HEADERS)
    includes = "".join(f"#include <{header}>\n" for header in headers)
    declaration = f'extern "C" {c_declaration(parameters)};\n'
    (directory / "solve.h").write_text(f"#pragma once\n{includes}{declaration}")
    namespaces = namespaces_of_solve(source.read_text(encoding="utf-8", errors="replace"))
    (directory / CHECK_FILE).write_text(check_text(parameters, namespaces))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("directory", type=Path)
    arguments = parser.parse_args()
    name = (problems_named_in(arguments.source) or (DEFAULT_PROBLEM,))[0]
    if name not in PARAMETERS:
        print(f"{arguments.source}: unknown problem {name!r}; known: {', '.join(PARAMETERS)}", file=sys.stderr)
        return 2
    write_check(PARAMETERS[name], arguments.directory, arguments.source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
