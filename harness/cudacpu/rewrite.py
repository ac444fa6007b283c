#!/usr/bin/env python3
"""Rewrites what CUDA adds to C++'s grammar, so that a C++ compiler takes a .cu file; line numbers stay.

    rewrite.py FILE.cu -o FILE.cpp [-MF FILE.d [-MT TARGET]]

Headers that the file includes with quotes and that lie beside it are rewritten, too. What the layer lacks
becomes an error that names it, in place: the compiler then decides whether the line is reached at all.
"""

import argparse
import re
import sys
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # an isolated interpreter (python -I) leaves it out

import ptx

# From the name of a quoted include and its line to what was written for it, None where no such file lies beside the
# source; from the name of one of CCCL's headers, in angle brackets, to what includes it as plain C++.
FindHeader = Callable[[str, int], Path | None]

UNSUPPORTED = "cudacpu: unsupported: "

# Beginnings of the names of toolkit headers that the layer does not have, and what they are for.
MISSING_HEADERS = (
    ("cuda_fp6", "6-bit floats"),
    ("cuda_fp4", "4-bit floats"),
    ("cuda_awbarrier", "asynchronous barriers"),
    ("cudaTypedefs", "the driver API"),
    ("cuda/", "libcu++"),
    ("cute/", "CUTLASS"),
    ("cutlass/", "CUTLASS"),
    ("cublas", "cuBLAS"),
    ("cudnn", "cuDNN"),
    ("cufft", "cuFFT"),
    ("curand", "cuRAND"),
    ("cusolver", "cuSOLVER"),
    ("cusparse", "cuSPARSE"),
    ("cutensor", "cuTENSOR"),
    ("nccl", "NCCL"),
    ("npp", "NPP"),
    ("nvrtc", "run-time compilation"),
    ("nvToolsExt", "NVTX"),
    ("nvtx3/", "NVTX"),
)

# Headers of CCCL that are taken as they are, as plain C++, where they are installed; CUB's all stand for one of ours.
CCCL_HEADERS = re.compile(r"thrust/.*|cuda/(std/.*|atomic|functional|cmath|bit|numeric|iterator)")
OWN_CCCL_HEADERS = ("cuda/barrier", "cuda/pipeline")
CCCL_INSTEAD = {
    "thrust/system/cuda/execution_policy.h": "thrust/execution_policy.h",
    "thrust/system/cuda/vector.h": "thrust/device_vector.h",
}

TOKEN = re.compile(
    r"""
    (?P<space>    [ \t\r\f\v]+ | \\\r?\n )
  | (?P<newline>  \n )
  | (?P<comment>  //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z) )
  | (?P<string>   (?:u8|u|U|L)?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
                | (?:u8|u|U|L)?"(?:\\(?:\r\n|.)|[^"\\\n])*"
                | (?:u8|u|U|L)?'(?:\\.|[^'\\\n])*' )
  | (?P<word>     [A-Za-z_$\x80-\U0010ffff][\w$\x80-\U0010ffff]* )
  | (?P<number>   \.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])* )
  | (?P<other>    <<< | << | -> | :: | \#\# | . )
    """,
    re.VERBOSE | re.DOTALL,
)
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}


class SourceError(Exception):
    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


class Token:
    __slots__ = ("directive", "end", "kind", "start", "text")

    def __init__(self, text: str, kind: str, start: int, end: int, directive: int) -> None:
        self.text, self.kind, self.start, self.end, self.directive = text, kind, start, end, directive


def tokenize(source: str) -> tuple[list[Token], list[list[int]]]:
    """The tokens that matter (no white space, no comments), and the preprocessor lines as [start, end].

    A token in a preprocessor line carries that line's number (from 1) in `directive`, others carry 0.
    """
    tokens, directives = [], []
    inside, line_is_empty = False, True
    for match in TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        if kind == "mark":
            kind = "string"
        if kind == "newline":
            if inside:
                directives[-1][1] = match.start()
            inside, line_is_empty = False, True
        elif kind not in ("space", "comment"):
            if text == "#" and line_is_empty:
                inside = True
                directives.append([match.start(), len(source)])
            tokens.append(Token(text, kind, match.start(), match.end(), len(directives) if inside else 0))
            line_is_empty = False
    return tokens, directives


def closing(tokens: list[Token], opening_at: int) -> int | None:
    """The index of the bracket that closes the one at `opening_at`, or None."""
    depth = 0
    for i in range(opening_at, len(tokens)):
        if tokens[i].text in OPEN:
            depth += 1
        elif tokens[i].text in CLOSE:
            depth -= 1
            if depth == 0:
                return i
    return None


def opening(tokens: list[Token], closing_at: int) -> int | None:
    """The index of the bracket that opens the one at `closing_at`, or None."""
    depth = 0
    for i in range(closing_at, -1, -1):
        if tokens[i].text in CLOSE:
            depth += 1
        elif tokens[i].text in OPEN:
            depth -= 1
            if depth == 0:
                return i
    return None


def opening_angle(tokens: list[Token], closing_at: int) -> int | None:
    """The index of the `<` that opens the template arguments ending in the `>` at `closing_at`, or None."""
    depth, i = 0, closing_at
    while i >= 0:
        text = tokens[i].text
        if text == ">":
            depth += 1
        elif text == "<":
            depth -= 1
            if depth == 0:
                return i
        elif text in CLOSE:
            i = opening(tokens, i)
            if i is None:
                return None
        elif text in OPEN or text == ";":
            return None
        i -= 1
    return None


class File:
    """One source file and the edits to it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens, self.directives = tokenize(source)
        self.edits = []  # (start, end, replacement)

    def replace(self, start: int, end: int, text: str) -> None:
        self.edits.append((start, end, text))

    def remove(self, start: int, end: int, text: str) -> None:
        """Replaces a range, but keeps its line breaks, so that the lines below stay where they are."""
        breaks = re.findall(r"\\?\r?\n", self.source[start:end])
        self.replace(start, end, text + "".join(breaks))

    def result(self) -> str:
        pieces, position = [], 0
        for start, end, text in sorted(self.edits, key=lambda edit: edit[:2]):
            if start < position:
                continue  # inside something that was replaced as a whole
            pieces += (self.source[position:start], text)
            position = end
        return "".join(pieces) + self.source[position:]


# ---- launches ----------------------------------------------------------------------------------------------


def applies_to(tokens: list[Token], at: int) -> bool:
    """Whether brackets after the token at `at` call or index what ends there."""
    token = tokens[at]
    if token.kind == "word":
        return token.text not in ("return", "else", "do")
    if token.text == ")":
        start = opening(tokens, at)
        return bool(start) and tokens[start - 1].text not in ("if", "for", "while", "switch", "constexpr")
    return token.text in ("]", ">")


def callee_start(tokens: list[Token], at: int) -> int | None:
    """The index at which the expression that is launched begins; `at` is its last token."""
    i = at
    while i >= 0:
        token = tokens[i]
        if token.text == ">":
            i = opening_angle(tokens, i)
            if i is None:
                return None
            i -= 1
            if i < 0 or tokens[i].kind != "word":
                return None
        elif token.text in (")", "]"):
            i = opening(tokens, i)
            if i is None:
                return None
            if i > 0 and applies_to(tokens, i - 1):
                i -= 1
                continue
        elif token.kind != "word":
            return None
        # `i` begins a primary; what may come before it?
        before = tokens[i - 1].text if i > 0 else ""
        if before == "template" and i > 1:
            i -= 1
            before = tokens[i - 1].text
        if before == "::":
            if i > 1 and (tokens[i - 2].kind == "word" or tokens[i - 2].text == ">"):
                i -= 2
                continue
            return i - 1
        if before in (".", "->") and i > 1:
            i -= 2
            continue
        return i
    return None


def rewrite_launch(file: File, at: int, clusters: dict[str, str]) -> None:
    """`kernel<<<...>>>(...)` becomes `CUDACPU_LAUNCH((kernel), ...)(...)`; `at` is the index of `<<<`, or of `<< <`."""
    tokens = file.tokens
    here = tokens[at].start
    first = at + (tokens[at].text == "<<")
    start = callee_start(tokens, at - 1) if at > 0 else None
    if start is None or tokens[start].directive != tokens[at].directive:
        raise SourceError(here, "'<<<' without a kernel before it")
    i = first + 1
    while True:
        ended = i >= len(tokens) or tokens[i].directive != tokens[at].directive
        if ended or tokens[i].text == ";" or tokens[i].text in CLOSE:
            raise SourceError(here, "'<<<' without a matching '>>>('")
        if tokens[i].text in OPEN:
            i = closing(tokens, i)
            if i is None:
                raise SourceError(here, "'<<<' without a matching '>>>('")
        elif [token.text for token in tokens[i : i + 4]] == [">", ">", ">", "("]:
            break
        i += 1
    if i == first + 1:
        raise SourceError(here, "a launch needs a grid and a block between '<<<' and '>>>'")
    end = closing(tokens, i + 3)
    if end is None:
        raise SourceError(here, "a launch whose arguments do not end")
    file.replace(tokens[start].start, tokens[start].start, "CUDACPU_LAUNCH((")
    shape = next((clusters[token.text] for token in tokens[start:at] if token.text in clusters), "")
    config = f"::cudacpu::clustered(dim3({shape}), ::cudacpu::config(" if shape else ""
    file.remove(tokens[at].start, tokens[first].end, f"), {config}")
    file.remove(tokens[i].start, tokens[i + 2].end, ")))" if shape else ")")
    # NULL is an integer to a kernel whose parameters are deduced from its arguments.
    for j in range(i + 4, end):
        if tokens[j].text == "NULL" and tokens[j - 1].text in "(," and tokens[j + 1].text in "),":
            file.replace(tokens[j].start, tokens[j].end, "nullptr")


# ---- kernels whose type would be lost ----------------------------------------------------------------------


def kernel_names(tokens: list[Token]) -> set[str]:
    """The functions that the file declares with `__global__`."""
    names = set()
    for at, token in enumerate(tokens):
        if token.text != "__global__":
            continue
        i = at + 1
        while i + 1 < len(tokens) and tokens[i].text not in (";", "{", "}"):
            if tokens[i + 1].text == "(" and tokens[i].kind == "word":
                if not tokens[i].text.startswith("__"):
                    names.add(tokens[i].text)
                    break
                i = closing(tokens, i + 1) or len(tokens)  # __launch_bounds__(...) and the like
            i += 1
    return names


def take_cluster_dims(file: File) -> dict[str, str]:
    """Kernels declared with `__cluster_dims__(...)`, which is removed: name -> what the brackets hold."""
    tokens, found = file.tokens, {}
    for at, token in enumerate(tokens):
        if token.text != "__cluster_dims__" or tokens[at + 1].text != "(" or token.directive:
            continue
        end = closing(tokens, at + 1)
        if end is None:
            continue
        i = end + 1
        while i + 1 < len(tokens) and tokens[i].text not in (";", "{", "}"):
            if tokens[i + 1].text == "(" and not tokens[i].text.startswith("__"):
                found[tokens[i].text] = file.source[tokens[at + 2].start : tokens[end].start]
                file.remove(token.start, tokens[end].end, "")
                break
            i += 1
            if tokens[i].text == "(":
                i = (closing(tokens, i) or len(tokens)) + 1
    return found


def after_cast(tokens: list[Token], at: int) -> int | None:
    """The index behind a cast to `void*` that begins at `at`, or None. Of a C++ cast the bracket is left to come."""
    words = [token.text for token in tokens[at : at + 7]]
    plain = [word for word in words if word != "const"]
    constant = len(words) - len(plain) if "const" in words else 0
    if plain[:4] == ["(", "void", "*", ")"]:
        return at + 4 + constant
    if plain[:5] == ["reinterpret_cast", "<", "void", "*", ">"]:
        return at + 5 + constant
    return None


def name_end(tokens: list[Token], at: int) -> int | None:
    """The index behind `&name`, `ns::name` or `name<...>` that begins at `at`, or None."""
    i = at + (tokens[at].text == "&")
    if tokens[i].text == "::":
        i += 1
    while i + 2 < len(tokens) and tokens[i].kind == "word" and tokens[i + 1].text == "::":
        i += 2
    if tokens[i].kind != "word":
        return None
    if tokens[i + 1].text != "<":
        return i + 1
    depth, j = 0, i + 1
    while j < len(tokens) and tokens[j].text != ";":
        if tokens[j].text in OPEN:
            j = closing(tokens, j)
            if j is None:
                break
        elif tokens[j].text in CLOSE:
            break
        depth += (tokens[j].text == "<") - (tokens[j].text == ">")
        if depth == 0:
            return j + 1
        j += 1
    return i + 1


def rewrite_kernel_address(file: File, start: int, at: int, kernels: set[str] | None) -> None:
    """Marks the kernel named at `at`, whose cast began at `start`; `kernels` are the names that count, None for all."""
    tokens = file.tokens
    bracketed = tokens[at].text == "("
    first = at + bracketed
    end = name_end(tokens, first) if first + 1 < len(tokens) else None
    if end is None or tokens[end].directive != tokens[start].directive:
        return
    names = {token.text for token in tokens[first:end] if token.kind == "word"}
    if kernels is not None and not names & kernels:
        return
    last = end - 1
    if bracketed:
        if tokens[end].text != ")":
            return
        last = end
    text = file.source[tokens[first].start : tokens[end - 1].end]
    file.remove(tokens[start].start, tokens[last].end, f"CUDACPU_KERNEL({' '.join(text.split())})")


# ---- functions that return nothing -------------------------------------------------------------------------

NUMBERS = {"float", "double", "int", "unsigned", "signed", "long", "short", "char", "bool", "size_t"}
QUALIFIERS = {
    "__host__",
    "__device__",
    "__forceinline__",
    "__noinline__",
    "__inline__",
    "inline",
    "static",
    "constexpr",
}


def end_with_return(file: File, at: int) -> None:
    """Gives a `__device__` function that should return a number, but has no `return`, one: see not_returned."""
    tokens, words, i = file.tokens, [], at
    while i + 1 < len(tokens) and tokens[i].kind == "word":
        if tokens[i].text not in QUALIFIERS:
            words.append(tokens[i].text)
        i += 1
    if len(words) < 2 or tokens[i].text != "(" or set(words[:-1]) - NUMBERS:
        return
    brace = (closing(tokens, i) or len(tokens)) + 1
    if brace >= len(tokens) or tokens[brace].text != "{":
        return
    end = closing(tokens, brace)
    if end is None or any(token.text == "return" for token in tokens[brace:end]):
        return
    value = f"return ::cudacpu::not_returned<{' '.join(words[:-1])}>(); "
    file.replace(tokens[end].start, tokens[end].start, value)


# ---- lanes in step -----------------------------------------------------------------------------------------


def volatile_names(tokens: list[Token]) -> list[tuple[str, range]]:
    """The pointers and arrays that the file declares as volatile, each with the tokens that see it."""
    found = []
    for at, token in enumerate(tokens):
        if token.text != "volatile" or token.directive:
            continue
        i = at + 1
        while i < len(tokens) and (tokens[i].kind == "word" or tokens[i].text in ("*", "::", "<", ">")):
            i += 1
        between = [token.text for token in tokens[at:i]]
        if i == len(tokens) or tokens[i - 1].kind != "word" or ("*" not in between and tokens[i].text != "["):
            continue
        end = enclosing_end(tokens, i)
        if end is not None and tokens[end].text == ")":  # a parameter: seen by the function's body
            body = end + 1
            end = closing(tokens, body) if body < len(tokens) and tokens[body].text == "{" else None
        if end is not None:
            found.append((tokens[i - 1].text, range(i, end)))
    return found


def enclosing_end(tokens: list[Token], at: int) -> int | None:
    """The index of the bracket that closes what surrounds the token at `at`, or None."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i].text in OPEN) - (tokens[i].text in CLOSE)
        if depth < 0:
            return i
    return None


def rewrite_step(file: File, at: int) -> None:
    """`v[t] += v[t + 32];` on volatile memory: the lanes of a warp read, and when all have read, they write."""
    tokens, name = file.tokens, file.tokens[at].text
    if tokens[at + 1].text != "[" or tokens[at - 1].text not in (";", "{", "}", ")", "else", ":"):
        return
    bracket = closing(tokens, at + 1)
    if bracket is None or bracket + 2 >= len(tokens):
        return
    operator = "" if tokens[bracket + 1].text == "=" else tokens[bracket + 1].text
    first = bracket + 2 + bool(operator)
    if operator not in ("", *"+-*&|^") or tokens[first - 1].text != "=" or tokens[first].text == "=":
        return
    last = end_of_declaration(tokens, first)
    own = [token.text for token in tokens[at + 2 : bracket]]
    steps = False
    for i in range(first, last or 0):
        if tokens[i].text == name and tokens[i + 1].text == "[":
            other = [token.text for token in tokens[i + 2 : closing(tokens, i + 1)]]
            steps |= other[: len(own)] == own and len(other) > len(own)
    if last is None or not steps:
        return
    target = " ".join(file.source[tokens[at].start : tokens[bracket].end].split())
    value = f"{target} {operator} (" if operator else "("
    begin = f"{{ ::cudacpu::in_step({2 * at}); const auto cudacpu_value = {value}"
    file.remove(tokens[at].start, tokens[first - 1].end, begin)
    end = f"); ::cudacpu::in_step({2 * at + 1}); {target} = cudacpu_value; }}"
    file.replace(tokens[last].start, tokens[last].end, end)


# ---- shared memory -----------------------------------------------------------------------------------------


def opens_function(tokens: list[Token], brace: int) -> bool:
    """Whether a `{` begins code: not a namespace, a class, an enumeration or `extern "C"`."""
    i = brace - 1
    parenthesis = False
    while i >= 0 and tokens[i].text not in (";", "{", "}"):
        if tokens[i].text in ("namespace", "enum") or tokens[i].kind == "string":
            return False
        if tokens[i].text == ")":
            parenthesis = True
            i = opening(tokens, i)
            if i is None:
                break
        elif tokens[i].text in ("struct", "class", "union") and not parenthesis:
            return False
        i -= 1
    return True


def rewrite_dynamic_shared(file: File, first: int, last: int, in_function: bool) -> None:
    """`extern __shared__ T name[];` becomes a reference to the running block's dynamic shared memory.

    The declaration is tokens first to last, the last one being the semicolon.
    """
    tokens = file.tokens
    skip = {"extern", "static", "__shared__"}
    words = []
    i = first
    while i < last:
        text = tokens[i].text
        if text in ("__align__", "alignas", "__attribute__"):
            i = closing(tokens, i + 1)
        elif text == "[" and tokens[i + 1].text == "[":
            i = closing(tokens, i)
        elif text not in skip:
            words.append(tokens[i])
        i += 1
    bracket = next((i for i, token in enumerate(words) if token.text == "["), 0)
    several = any(token.text == "," for token in words[bracket:])
    if bracket == 0 or words[bracket - 1].kind != "word" or several:
        raise SourceError(tokens[first].start, "expected `extern __shared__ TYPE NAME[];`")
    kind = " ".join(token.text for token in words[: bracket - 1])
    name = words[bracket - 1].text
    bounds = "".join(token.text for token in words[bracket:])
    storage = "" if in_function else "static thread_local "
    memory = f"*reinterpret_cast<{kind} (*){bounds}>(::cudacpu::dynamic_shared)"
    file.remove(tokens[first].start, tokens[last].end, f"{storage}{kind} (&{name}){bounds} = {memory};")


def declared_names(tokens: list[Token], first: int, last: int) -> list[str]:
    """The variables that tokens first to last - 1 declare, but for those with an initialiser."""
    names, segment, angles = [], [], 0
    i = first
    while i <= last:
        text = tokens[i].text
        if i == last or (text == "," and angles == 0):
            bracket = next((j for j, token in enumerate(segment) if token.text == "["), len(segment))
            plain = not any(token.text in ("=", "{", "(") for token in segment[bracket - 1 :])
            if plain and bracket > 0 and segment[bracket - 1].kind == "word":
                names.append(segment[bracket - 1].text)
            segment = []
        else:
            segment.append(tokens[i])
            angles += (text == "<") - (text == ">")
            if text in OPEN:
                i = closing(tokens, i)
                if i is None:
                    return []
        i += 1
    return names


def end_of_declaration(tokens: list[Token], at: int) -> int | None:
    """The index of the semicolon that ends the declaration around `at`, or None."""
    i = at
    while i < len(tokens) and tokens[i].directive == tokens[at].directive and tokens[i].text not in CLOSE:
        if tokens[i].text == ";":
            return i
        if tokens[i].text in OPEN:
            i = closing(tokens, i)
            if i is None:
                return None
        i += 1
    return None


def rewrite_shared(file: File, at: int, in_function: bool) -> None:
    """Handles the declaration around the `__shared__` at index `at`, where a macro is not enough."""
    tokens = file.tokens
    last = end_of_declaration(tokens, at)
    if last is None:
        return
    directive = tokens[at].directive
    first = at
    while first > 0 and tokens[first - 1].directive == directive:
        before = tokens[first - 1]
        start = opening(tokens, first - 1) if before.text in (")", "]") else first - 1
        if start is None or (start == first - 1 and tokens[start].kind != "word"):
            break
        first = start
    if any(token.text == "extern" for token in tokens[first : at + 2]):
        while tokens[first].text not in ("extern", "__shared__", "__align__", "alignas", "static"):
            first += 1
        rewrite_dynamic_shared(file, first, last, in_function)
        return
    if tokens[at + 1].text == "alignas":
        # C++ does not take alignas after thread_local.
        file.replace(tokens[at + 1].start, tokens[at + 1].end, "__align__")
    if in_function:
        marks = "".join(f" CUDACPU_SHARED({name})" for name in declared_names(tokens, first, last))
        file.replace(tokens[last].end, tokens[last].end, marks)


# ---- what the layer lacks ----------------------------------------------------------------------------------


def asm_operands(tokens: list[Token], first: int, end: int) -> tuple[list[int], list[tuple[bool, int, int]]] | None:
    """An asm's literals, and for each operand whether it is written and its expression's first and last token.

    Tokens first to end - 1 are what the brackets hold. None: not what nvcc takes.
    """
    literals, operands, section, i = [], [], 0, first
    while i < end:
        token = tokens[i]
        if token.text in (":", "::"):
            section += len(token.text)
        elif token.kind == "string":
            if section == 0:
                literals.append(i)
            elif section < 3:
                last = closing(tokens, i + 1) if tokens[i + 1].text == "(" else None
                if last is None:
                    return None
                operands.append((section == 1, i + 2, last - 1))
                i = last
        elif token.text != "," or section == 0:
            return None
        i += 1
    return literals, operands


def rewrite_asm(file: File, at: int) -> None:
    """Inline PTX becomes C++ as far as ptx.py has it."""
    tokens = file.tokens
    i = at + 1
    while i < len(tokens) and tokens[i].text in ("volatile", "__volatile__", "goto", "inline"):
        i += 1
    if i + 1 >= len(tokens) or tokens[i].text != "(":
        return
    end = closing(tokens, i)
    if end is None or tokens[i + 1].text == '""':  # an empty one is a compiler's barrier in any language
        return
    parsed = asm_operands(tokens, i + 1, end)
    try:
        if parsed is None:
            raise ptx.Unsupported("not a string")
        literals, operands = parsed
        text = "".join(ptx.unquoted(tokens[literal].text) for literal in literals)
        body = ptx.translate(text, len(operands))
    except ptx.Unsupported as error:
        what = f"inline PTX: {error}".replace("\\", " ").replace('"', " ")
        file.remove(tokens[at].start, tokens[end].end, f'static_assert(false, "{UNSUPPORTED}{what}")')
        return
    names = []
    for number, (written, first, last) in enumerate(operands):
        expression = " ".join(file.source[tokens[first].start : tokens[last].end].replace("\\\n", " ").split())
        names.append(f"{'auto&' if written else 'const auto'} cudacpu_asm{number} = ({expression});")
    file.remove(tokens[at].start, tokens[end].end, " ".join(["do {", *names, body, "} while (0)"]))


INCLUDE = re.compile(r'(#[ \t]*include[ \t]*)("([^"\n]+)"|<([^>\n]+)>)')


def rewrite_include(file: File, start: int, end: int, find_header: FindHeader) -> None:
    match = INCLUDE.match(file.source, start, end)
    if not match:
        return
    name = match.group(3) or match.group(4)
    line = file.source.count("\n", 0, start) + 1
    if match.group(3):
        rewritten = find_header(name, line)
        if rewritten:
            file.replace(match.start(2), match.end(2), quoted(rewritten))
            return
    if name in OWN_CCCL_HEADERS:
        return
    if name.startswith("cub/"):
        file.replace(match.start(2), match.end(2), '"cudacpu/cub.h"')
        return
    if CCCL_HEADERS.fullmatch(name):
        wrapper = find_header(f"<{CCCL_INSTEAD.get(name, name)}>", line)
        if wrapper:
            file.replace(match.start(2), match.end(2), quoted(wrapper))
        return
    for prefix, purpose in MISSING_HEADERS:
        if name.startswith(prefix):
            file.remove(start, end, f'#error "{UNSUPPORTED}{name} ({purpose})"')
            return


def any_of(names: dict[str, str], tokens: list[Token], call: int) -> bool:
    """Whether the brackets of a call hold one of the names."""
    end = closing(tokens, call + 1) if call + 1 < len(tokens) and tokens[call + 1].text == "(" else None
    return end is not None and any(token.text in names for token in tokens[call:end])


# ---- whole files -------------------------------------------------------------------------------------------


def quoted(path: Path) -> str:
    """A path as a string literal of the preprocessor."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def rewrite(source: str, path: Path, find_header: FindHeader) -> str:
    """The C++ text for a CUDA source text."""
    file = File(source)
    tokens = file.tokens
    kernels = kernel_names(tokens)
    clusters = take_cluster_dims(file)
    volatiles = volatile_names(tokens)
    scopes = []  # for each open brace, whether it is code
    for i, token in enumerate(tokens):
        text = token.text
        if text == "<<<" or (text == "<<" and [next.text for next in tokens[i + 1 : i + 2]] == ["<"]):
            if tokens[i - 1].text == "operator":
                continue
            try:
                rewrite_launch(file, i, clusters)
            except SourceError as error:
                # Where the compiler reaches it: not in what #if leaves out, and of a macro that holds a part of a
                # launch, which is what a preprocessor line has, only where it is used.
                what = f"{UNSUPPORTED}a launch split by a macro" if token.directive else str(error)
                file.replace(token.start, token.end, f' _Pragma("GCC error \\"{what}\\"")')
        elif text == "__shared__":
            rewrite_shared(file, i, token.directive > 0 or (bool(scopes) and scopes[-1]))
        elif text.startswith("cudaLaunch") and clusters and any_of(clusters, tokens, i):
            file.remove(
                token.start,
                token.end,
                f'_Pragma("GCC error \\"{UNSUPPORTED}{text} of a kernel with __cluster_dims__\\"")',
            )
        elif text in ("cudaLaunchKernel", "cudaLaunchCooperativeKernel") and i + 3 < len(tokens):
            if tokens[i + 1].text == "(":
                rewrite_kernel_address(file, i + 2, after_cast(tokens, i + 2) or i + 2, None)
        elif kernels and text in ("(", "reinterpret_cast") and (operand := after_cast(tokens, i)):
            rewrite_kernel_address(file, i, operand, kernels)
        elif any(text == name and i in seen for name, seen in volatiles):
            rewrite_step(file, i)
        elif text == "__device__" and token.directive == 0:
            end_with_return(file, i)
        elif text in ("asm", "__asm__", "__asm"):
            rewrite_asm(file, i)
        elif text == "__noinline__":
            if tokens[i - 1].text not in ("(", ","):
                file.replace(token.start, token.end, "CUDACPU_NOINLINE")
        elif token.directive == 0 and text == "{":
            scopes.append((bool(scopes) and scopes[-1]) or opens_function(tokens, i))
        elif token.directive == 0 and text == "}" and scopes:
            scopes.pop()
    for start, end in file.directives:
        rewrite_include(file, start, end, find_header)
    return f"#line 1 {quoted(path)}\n" + file.result()


def read(path: Path) -> str:
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
        return stream.read()


def write(path: Path, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
        stream.write(text)


class Project:
    """A source file and the headers beside it, each written once."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.headers = {}  # real path of a header, or <name> of CCCL's, -> what was written for it
        self.sources = []

    def rewrite_file(self, path: Path, output: Path) -> None:
        self.sources.append(path)
        source = read(path)

        def find_header(name: str, line: int) -> Path | None:
            if name.startswith("<"):
                return self.wrapper(name, path, line)
            header = path.parent / name
            return self.header(header) if header.is_file() else None

        try:
            text = rewrite(source, path, find_header)
        except SourceError as error:
            newlines = [match.start() for match in re.finditer("\n", source)]
            line = bisect_right(newlines, error.offset - 1) + 1
            sys.exit(f"{path}:{line}: error: {error}")
        write(output, text)

    def header(self, path: Path) -> Path:
        key = path.resolve()
        if key not in self.headers:
            self.headers[key] = self.place(path.name)
            self.rewrite_file(path, self.headers[key])
        return self.headers[key]

    def wrapper(self, name: str, path: Path, line: int) -> Path:
        if name not in self.headers:
            self.headers[name] = self.place("cccl.h")
            lacking = f"{UNSUPPORTED}{name}: not in the CCCL that is here, if any (pip install nvidia-cuda-cccl)"
            error = f'#if !__has_include({name})\n#line {line} {quoted(path)}\n#error "{lacking}"\n#endif\n'
            write(self.headers[name], f'{error}#define CUDACPU_HEADER {name}\n#include "cudacpu/cccl.h"\n')
        return self.headers[name]

    def place(self, name: str) -> Path:
        folder = Path(f"{self.output.absolute()}.headers")
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{len(self.headers)}_{name}"

    def write_dependencies(self, path: Path, target: Path) -> None:
        def escaped(name: Path) -> str:
            return re.sub(r"([ #\\])", r"\\\1", str(name).replace("$", "$$"))

        write(path, f"{escaped(target)}: {' '.join(escaped(source) for source in self.sources)}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", dest="output", type=Path, required=True)
    parser.add_argument("-MF", dest="depfile", type=Path, help="write a make rule for the output")
    parser.add_argument("-MT", dest="target", type=Path, help="the target of that rule, if it is not the output")
    options = parser.parse_args()
    project = Project(options.output)
    try:
        project.rewrite_file(options.source, options.output)
        if options.depfile:
            project.write_dependencies(options.depfile, options.target or options.output)
    except OSError as error:
        sys.exit(f"{error.filename}: error: {error.strerror}")


if __name__ == "__main__":
    main()
