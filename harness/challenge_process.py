"""The process that runs a challenge's own code: loads challenge.py, makes its test cases, computes its reference.

Run as `python -m harness.challenge_process READ WRITE FOLDER` with two pipes of the judge's and a directory that goes
when the judge has ended. A message is a line of JSON, then the bytes of the arrays that the line names, the same in
both directions; a request names an operation of `ANSWERS`. The judge never imports a challenge, and nothing that comes
back from here is more than numbers and text.

The reference runs twice. First as the challenge has it; then, with its assertions compiled away and every floating
type taken for float64, for the check that knows how exact an answer is. Where that second run fails it is left out.

Files that the judge writes call `reference_solve` and `copy_solve`, too: the reference row and the ceiling of a timed
challenge, in a worker like any other.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import inspect
import json
import math
import os
import random
import resource
import select
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes  # noqa: F401  makes bfloat16 known to NumPy by its name
import numpy as np

from harness.worker import line_in, lower_limit

METHODS = (
    "reference_impl",
    "get_solve_signature",
    "generate_example_test",
    "generate_functional_test",
    "generate_performance_test",
)
WIDE = " in float64"  # behind the name of an array of the second run
WIDE_SECONDS = 20.0  # a reference that takes longer runs once
OBJECT_KEYS = 1000  # see `object_key`

Arrays = dict[str, np.ndarray]


class ChallengeFault(Exception):
    """What is wrong with a challenge, as a sentence."""


# ---- messages ---------------------------------------------------------------------------------------------------


def send(stream: BinaryIO, message: dict, arrays: Arrays) -> None:
    """Writes a message; arrays keep their shapes."""
    described = [[name, array.dtype.name, list(array.shape)] for name, array in arrays.items()]
    stream.write(json.dumps({**message, "arrays": described}).encode() + b"\n")
    for array in arrays.values():
        stream.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict, Arrays] | None:
    """The next message with its arrays; None at the end of the stream, also in the middle of one."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    message = json.loads(line)
    arrays = {}
    for name, dtype, shape in message.pop("arrays"):
        array = np.empty(math.prod(shape), dtype=dtype)
        rest = memoryview(array.view(np.uint8)) if array.size else memoryview(b"")
        while rest:
            count = stream.readinto(rest)
            if not count:
                return None
            rest = rest[count:]
        arrays[name] = array.reshape(shape)
    return message, arrays


def object_key(seed: int, which: str, index: int) -> int:
    """A number for the objects of a test case that are neither tensors nor numbers (a torch module, say)."""
    return seed * OBJECT_KEYS + {"example": 0, "performance": OBJECT_KEYS - 1}.get(which, 1 + index)


def _of_object_key(key: int) -> tuple[int, str, int]:
    seed, number = divmod(key, OBJECT_KEYS)
    which = {0: "example", OBJECT_KEYS - 1: "performance"}.get(number, "functional")
    return seed, which, max(0, number - 1) if which == "functional" else 0


# ---- loading ----------------------------------------------------------------------------------------------------


def _root_of(directory: Path) -> Path | None:
    """The folder above a challenge that holds core/challenge_base.py."""
    return next((parent for parent in directory.parents if (parent / "core" / "challenge_base.py").exists()), None)


@contextmanager
def _sentence_of(path: Path, doing: str) -> Iterator[None]:
    """Whatever foreign code raises becomes a ChallengeFault with the line in challenge.py."""
    try:
        yield
    except ChallengeFault:
        raise
    except BaseException as error:  # SystemExit included: the code is not ours
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        where = line_in(str(path), error)
        raise ChallengeFault(" ".join(f"{path}: {where}{doing}{type(error).__name__}: {text}".split())[:1000]) from None


@functools.cache
def load_class(directory: Path, with_assertions: bool = True) -> Any:
    """The class Challenge of directory/challenge.py. Raises ChallengeFault."""
    path = directory / "challenge.py"
    root = _root_of(directory)
    for name in [name for name in sys.modules if name.partition(".")[0] == "core"]:
        del sys.modules[name]  # of another checkout, perhaps
    if root:
        sys.path.insert(0, str(root))
    namespace = {"__name__": "challenge", "__file__": str(path)}
    try:
        with _sentence_of(path, ""):
            source = path.read_text(encoding="utf-8")
            exec(compile(source, str(path), "exec", optimize=-1 if with_assertions else 1), namespace)
    except ChallengeFault as fault:
        if root is None and "No module named 'core'" in str(fault):
            raise ChallengeFault(
                f"{path} imports its base class, but no folder above it holds core/challenge_base.py: "
                "name the challenge inside a checkout of the whole set"
            ) from None
        raise
    finally:
        if root:
            sys.path.remove(str(root))
    found = namespace.get("Challenge")
    if not isinstance(found, type):
        raise ChallengeFault(f"{path} has no class Challenge")
    abstract = getattr(found, "__abstractmethods__", frozenset())
    missing = [name for name in METHODS if name in abstract or not callable(getattr(found, name, None))]
    if missing:
        raise ChallengeFault(f"{path}: its class Challenge lacks {', '.join(missing)}")
    for name in ("atol", "rtol"):
        value = getattr(found, name, None)
        if not isinstance(value, int | float) or not value >= 0:
            raise ChallengeFault(f"{path}: its class Challenge has no number {name}")
    return found


def make(directory: Path, device: str = "cpu", with_assertions: bool = True) -> Any:
    """A Challenge that puts its tensors on `device`."""
    found = load_class(directory, with_assertions)
    with _sentence_of(directory / "challenge.py", "Challenge() raised "):
        try:
            inspect.signature(found).bind(device=device)
        except TypeError:
            challenge = found()
            challenge.device = device
            return challenge
        return found(device=device)


# ---- the signature ----------------------------------------------------------------------------------------------


def signature_of(directory: Path) -> dict[str, tuple[str | None, str]]:
    """Parameters in order: (type or None, role). A buffer's type is None where only its tensors say it."""
    import torch

    path = directory / "challenge.py"
    with _sentence_of(path, "get_solve_signature raised "):
        declared = dict(make(directory).get_solve_signature())
    found: dict[str, tuple[str | None, str]] = {}
    for name, entry in declared.items():
        if not isinstance(entry, tuple) or len(entry) != 2 or entry[1] not in ("in", "out", "inout"):
            raise ChallengeFault(f"{path}: the signature of {name} is not (type, 'in', 'out' or 'inout'): {entry!r}")
        kind, direction = entry
        if not str(name).isidentifier():
            raise ChallengeFault(f"{path}: the signature names a parameter {name!r}, which is no name in C")
        if not isinstance(kind, type):
            raise ChallengeFault(f"{path}: the signature gives {name} no type but {kind!r}")
        if issubclass(kind, ctypes._Pointer):
            found[name] = (np.dtype(kind._type_).name, direction)
        elif issubclass(kind, ctypes.c_void_p | torch.Tensor):
            found[name] = (None, direction)
        elif issubclass(kind, ctypes._SimpleCData):
            found[name] = (np.dtype(kind).name, "scalar")
        elif kind in (int, float, bool):
            found[name] = ({int: "int32", float: "float32", bool: "bool"}[kind], "scalar")
        else:
            found[name] = ("object", "object")
    return found


# ---- test cases -------------------------------------------------------------------------------------------------


def _lazy(value: Any) -> bool:
    """Whether a value describes a tensor by shape and dtype without being one."""
    import torch

    return not isinstance(value, torch.Tensor) and hasattr(value, "shape") and hasattr(value, "dtype")


def _dtype(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def _tensor(value: Any) -> Any:
    """The tensor that a test case gives or describes; an output that is only described is taken as zeros."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().contiguous()
    empty = torch.empty(tuple(value.shape), dtype=getattr(torch, _dtype(value)))
    kind = type(value).__name__
    if kind == "RandTensor":
        return empty.uniform_(value.low, value.high)
    if kind == "RandnTensor":
        return empty.normal_(value.mean, value.std)
    if kind == "RandIntTensor":
        return empty.random_(value.low, value.high)
    if kind == "FullTensor":
        return empty.fill_(value.value)
    if kind == "OutTensor":
        return empty.zero_()
    raise ChallengeFault(f"a test case describes a tensor by a {kind}, which the judge does not know")


def _zeroed_empty() -> Any:
    """In this context memory that torch leaves uninitialised is 0, so that a case is the same every time."""
    import torch
    from torch.overrides import TorchFunctionMode

    uninitialised = (torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty)

    class ZeroedEmpty(TorchFunctionMode):
        def __torch_function__(
            self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
        ) -> Any:
            result = function(*args, **(kwargs or {}))
            return result.zero_() if function in uninitialised else result

    return ZeroedEmpty()


def _generate(directory: Path, which: str, seed: int, device: str = "cpu") -> list[dict]:
    """The test cases of a generator; the same for the same seed."""
    import torch

    path = directory / "challenge.py"
    challenge = make(directory, device)
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    with _sentence_of(path, f"generate_{which}_test raised "), _zeroed_empty():
        made = getattr(challenge, f"generate_{which}_test")()
    made = made if isinstance(made, list | tuple) else [made]
    if not all(isinstance(case, dict) for case in made):
        raise ChallengeFault(f"{path}: generate_{which}_test gives no dictionaries")
    return list(made)


@functools.lru_cache(maxsize=3)
def _kept(directory: Path, which: str, seed: int) -> list[dict]:
    return _generate(directory, which, seed)


def _described(directory: Path, which: str, seed: int) -> list[dict]:
    """The cases of a generator, for their shapes alone: a large one without its memory, where its code allows it."""
    if which != "performance":
        return _kept(directory, which, seed)
    try:
        return _generate(directory, which, seed, "meta")
    except ChallengeFault:  # it looks at values: they have to be there
        return _kept(directory, which, seed)


def _describe_case(path: Path, which: str, case: dict, signature: dict[str, tuple[str | None, str]]) -> dict:
    """Scalars, shapes and types of one case. Raises ChallengeFault where it does not fit the signature."""
    import torch

    scalars, shapes, types = {}, {}, {}
    for name, (declared, role) in signature.items():
        if name not in case:
            raise ChallengeFault(f"{path}: a case of generate_{which}_test has no {name}")
        value = case[name]
        if role == "object":
            continue
        if role == "scalar":
            value = value.item() if isinstance(value, torch.Tensor | np.generic) else value
            if not isinstance(value, int | float):
                raise ChallengeFault(f"{path}: {name} of a case of generate_{which}_test is no number: {value!r}")
            scalars[name] = value
            continue
        if not isinstance(value, torch.Tensor) and not _lazy(value):
            raise ChallengeFault(f"{path}: {name} of a case of generate_{which}_test is no tensor: {value!r}")
        dtype = _dtype(value)
        size = getattr(torch, dtype).itemsize
        if declared is not None and np.dtype(declared).itemsize != size:
            raise ChallengeFault(f"{path}: {name} is declared as {declared} but holds {dtype}")
        shapes[name], types[name] = list(value.shape), dtype
    return {"scalars": scalars, "shapes": shapes, "types": types}


def describe(request: dict, _: Arrays) -> tuple[dict, Arrays]:
    """What a challenge asks and which cases it has with a seed."""
    directory, seed = Path(request["directory"]), request["seed"]
    path = directory / "challenge.py"
    found = load_class(directory)
    signature = signature_of(directory)
    cases = []
    for which in ("example", "functional", "performance"):
        for index, case in enumerate(_described(directory, which, seed)):
            cases.append({"which": which, "index": index, **_describe_case(path, which, case, signature)})
    parameters = []
    for name, (declared, role) in signature.items():
        dtype = declared
        if role in ("in", "out", "inout"):
            dtypes = sorted({case["types"][name] for case in cases})
            if len(dtypes) > 1:
                raise ChallengeFault(f"{path}: {name} is of several types: {', '.join(dtypes)}")
            dtype = dtypes[0]
        parameters.append({"name": name, "dtype": dtype, "role": role})
    about = {
        "title": str(getattr(found, "name", directory.name)),
        "atol": float(found.atol),
        "rtol": float(found.rtol),
        "gpus": int(getattr(found, "num_gpus", 1)),
    }
    return {**about, "parameters": parameters, "cases": cases}, {}


def _bytes_of(tensor: Any) -> np.ndarray:
    """A tensor as a NumPy array of its type, bfloat16 included."""
    import torch

    flat = tensor.detach().reshape(-1).contiguous()
    raw = flat.view(torch.uint8).numpy() if flat.numel() else np.empty(0, np.uint8)
    return raw.view(_dtype(tensor)).reshape(tuple(tensor.shape))


def _from_array(array: np.ndarray) -> Any:
    """A tensor of its own with the contents of an array."""
    import torch

    if not array.size:
        return torch.empty(array.shape, dtype=getattr(torch, array.dtype.name))
    raw = torch.from_numpy(array.reshape(-1).view(np.uint8).copy())
    return raw.view(getattr(torch, array.dtype.name)).reshape(array.shape)


def inputs(request: dict, _: Arrays) -> tuple[dict, Arrays]:
    """What every buffer of a case holds before the call."""
    directory = Path(request["directory"])
    case = _kept(directory, request["which"], request["seed"])[request["index"]]
    roles = signature_of(directory)
    buffers = [name for name, (_, role) in roles.items() if role in ("in", "out", "inout")]
    import torch

    torch.manual_seed(request["seed"] + request["index"])  # for tensors that are only described
    with _sentence_of(directory / "challenge.py", ""):
        return {}, {name: _bytes_of(_tensor(case[name])) for name in buffers}


def _objects(directory: Path, keys: dict[str, int]) -> dict[str, Any]:
    found = {}
    for name, key in keys.items():
        seed, which, index = _of_object_key(key)
        found[name] = _kept(directory, which, seed)[index][name]
    return found


def save_object(request: dict, _: Arrays) -> tuple[dict, Arrays]:
    """Writes an object of a case into a file for a worker to load."""
    import torch

    directory, name = Path(request["directory"]), request["name"]
    torch.save(_objects(directory, {name: request["key"]})[name], request["path"])
    return {}, {}


# ---- the reference ----------------------------------------------------------------------------------------------


def _goes_by_name(challenge: Any, names: Iterable[str]) -> bool:
    """Whether the reference calls its parameters as the signature does; if not, it gets them in the same order."""
    try:
        inspect.signature(challenge.reference_impl).bind(**dict.fromkeys(names))
    except TypeError:
        return False
    return True


def _call(challenge: Any, named: dict[str, Any]) -> None:
    import torch

    with torch.no_grad():
        if _goes_by_name(challenge, named):
            challenge.reference_impl(**named)
        else:
            challenge.reference_impl(*named.values())


@contextmanager
def _in_float64() -> Iterator[None]:
    """In this context every floating type that a torch function is given is float64."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._pytree import tree_map

    wider = {torch.float32: torch.float64, torch.float16: torch.float64, torch.bfloat16: torch.float64}
    wider[torch.complex64] = torch.complex128
    narrowing = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)

    class Wider(TorchFunctionMode):
        def __torch_function__(
            self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
        ) -> Any:
            if function in narrowing:
                return args[0].double()
            if function is torch.Tensor.view:  # of other bits, perhaps
                return function(*args, **(kwargs or {}))
            args, kwargs = tree_map(
                lambda value: wider[value] if isinstance(value, torch.dtype) and value in wider else value,
                (args, kwargs or {}),
            )
            return function(*args, **kwargs)

    torch.set_default_dtype(torch.float64)
    try:
        with Wider():
            yield
    finally:
        torch.set_default_dtype(torch.float32)


def _widened(value: Any) -> Any:
    """A copy with its floating contents in float64."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value.clone()
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).double()
    return value


def reference(request: dict, arrays: Arrays) -> tuple[dict, Arrays]:
    """The outputs of the reference for given buffers; beside those of a floating type their float64 values."""
    directory = Path(request["directory"])
    signature = signature_of(directory)
    objects = _objects(directory, request["objects"])

    def arguments() -> dict[str, Any]:
        return {
            name: _from_array(arrays[name])
            if name in arrays
            else objects[name]
            if name in objects
            else request["scalars"][name]
            for name in signature
        }

    named = arguments()
    started = time.monotonic()
    with _sentence_of(directory / "challenge.py", "reference_impl raised "):
        _call(make(directory), named)
    outputs = [name for name, (_, role) in signature.items() if role in ("out", "inout")]
    results = {name: _bytes_of(named[name]) for name in outputs}
    floating = [name for name in outputs if named[name].is_floating_point()]
    reply = {"why_not_wide": ""}
    if floating and time.monotonic() - started < WIDE_SECONDS:
        wide = {name: _widened(value) for name, value in arguments().items()}
        try:
            with _in_float64():
                _call(make(directory, with_assertions=False), wide)
            results.update({f"{name}{WIDE}": wide[name].double().numpy() for name in floating})
        except Exception as error:  # its operations do not allow it: the judge does without
            reply["why_not_wide"] = f"{type(error).__name__}: {error}"[:300]
    return reply, results


# ---- what workers run -------------------------------------------------------------------------------------------


def reference_solve(directory: str, names: tuple[str, ...]) -> Callable[..., None]:
    """The challenge's reference as a solve of its own, on the device where its tensors are."""
    import torch

    challenge = make(Path(directory))
    by_name = _goes_by_name(challenge, names)

    @torch.no_grad()
    def solve(*arguments: Any) -> None:
        challenge.device = next(str(argument.device) for argument in arguments if hasattr(argument, "device"))
        if by_name:
            challenge.reference_impl(**dict(zip(names, arguments, strict=True)))
        else:
            challenge.reference_impl(*arguments)

    return solve


def copy_solve(roles: tuple[str, ...]) -> Callable[..., None]:
    """A solve that moves as many bytes as an ideal one does, from memory of its own to memory of its own."""
    import torch

    made: dict[int, tuple[Any, Any]] = {}

    def solve(*arguments: Any) -> None:
        size = 0
        for role, argument in zip(roles, arguments, strict=True):
            if role in ("in", "out", "inout"):
                size += argument.numel() * argument.element_size() * (2 if role == "inout" else 1)
                device = argument.device
        count = max(1, size // 8)  # elements of float32 that are read, and as many that are written
        if count not in made:
            made[count] = tuple(torch.empty(count, dtype=torch.float32, device=device) for _ in range(2))
        source, target = made[count]
        torch.mul(source, 1.0, out=target)  # a kernel, as in copy.py

    return solve


# ---- the process ------------------------------------------------------------------------------------------------

ANSWERS: dict[str, Callable[[dict, Arrays], tuple[dict, Arrays]]] = {
    "describe": describe,
    "inputs": inputs,
    "save_object": save_object,
    "reference": reference,
}


def end_with_the_judge(descriptor: int, folder: str) -> None:
    """Waits for the other end of a pipe to be closed, also while a reference hangs, and ends the process then."""
    poll = select.poll()
    poll.register(descriptor, 0)
    poll.poll()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def main() -> None:
    threading.Thread(target=end_with_the_judge, args=(int(sys.argv[1]), sys.argv[3]), daemon=True).start()
    requests, replies = os.fdopen(int(sys.argv[1]), "rb"), os.fdopen(int(sys.argv[2]), "wb")
    lower_limit(resource.RLIMIT_DATA, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    while (received := receive(requests)) is not None:
        request, arrays = received
        try:
            reply, results = ANSWERS[request["op"]](request, arrays)
        except ChallengeFault as fault:
            reply, results = {"fault": str(fault)}, {}
        except Exception as error:  # of foreign code through a path that names no line
            reply, results = {"fault": f"{request['directory']}: {type(error).__name__}: {error}"[:1000]}, {}
        send(replies, reply, results)


if __name__ == "__main__":
    main()
