"""Turns inline PTX into C++: the text of one `asm` statement into statements that call include/cudacpu/ptx.h.

What is not in the tables below raises Unsupported, with the instruction's name: nothing is guessed.
"""

import re

TYPES = {
    **{f"{kind}{bits}": f"uint{bits}_t" for kind in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    "f32": "float",
    "f64": "double",
    "pred": "bool",
}
NAME = r"[A-Za-z_$%][\w$.]*"
SPECIAL = {
    **{f"%{ptx}.{axis}": f"{name}.{axis}" for axis in "xyz" for ptx, name in
       (("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))},
    "%laneid": "::cudacpu::ptx::lane()",
    "%warpid": "(::cudacpu::ptx::thread() / 32)",
    "%nwarpid": "64u",
    "%lanemask_eq": "(1u << ::cudacpu::ptx::lane())",
    "%lanemask_lt": "((1u << ::cudacpu::ptx::lane()) - 1)",
    "%lanemask_le": "((2u << ::cudacpu::ptx::lane()) - 1)",
    "%lanemask_gt": "~((2u << ::cudacpu::ptx::lane()) - 1)",
    "%lanemask_ge": "~((1u << ::cudacpu::ptx::lane()) - 1)",
    "%clock": "static_cast<unsigned>(clock64())",
    "%clock64": "static_cast<uint64_t>(clock64())",
    "%globaltimer": "static_cast<uint64_t>(clock64())",
    "WARP_SZ": "32u",
    "%smid": "(::cudacpu::ptx::block() % 132)",
    "%nsmid": "132u",
    **{f"%cluster_{ptx}.{axis}": f"::cudacpu::{name}().{axis}" for axis in "xyz" for ptx, name in
       (("ctaid", "block_in_cluster"), ("nctaid", "cluster_shape"))},
    "%cluster_ctarank": "::cudacpu::cluster_rank()",
    "%cluster_nctarank": "::cudacpu::cluster_size()",
}  # fmt: skip

# What says how and when, never what: memory here is one, and every access happens at once.
CACHE = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak"}
SCOPES = {"cta", "cluster", "gpu", "sys", "gl"}
SPACES = {"global", "shared"}
APPROXIMATE = {"approx", "ftz", "rn", "full"}

# name -> (modifiers it may have, number of sources); the C++ function has the same name.
SIMPLE = {
    **dict.fromkeys(("add", "sub", "min", "max"), ({"rn", "ftz"}, 2)),
    **dict.fromkeys(("and", "or", "xor"), (set(), 2)),
    **dict.fromkeys(("shl", "shr"), (set(), 2)),
    **dict.fromkeys(("abs", "neg"), ({"ftz"}, 1)),
    **dict.fromkeys(("not", "cnot", "popc", "clz", "brev"), (set(), 1)),
    **dict.fromkeys(("ex2", "lg2", "sin", "cos", "tanh", "rcp", "sqrt", "rsqrt"), (APPROXIMATE, 1)),
    "div": (APPROXIMATE, 2),
    "fma": ({"rn", "ftz"}, 3),
    "bfe": (set(), 3),
    "bfi": (set(), 4),
    "prmt": (set(), 3),
    "copysign": (set(), 2),
}
COMPARISONS = {
    **{name: f"(a {op} b)" for name, op in (("eq", "=="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))},
    **{name: f"(a {op} b)" for name, op in (("lo", "<"), ("ls", "<="), ("hi", ">"), ("hs", ">="))},
    **{name: f"!(a {op} b)" for name, op in (("ltu", ">="), ("leu", ">"), ("gtu", "<="), ("geu", "<"))},
    "equ": "(a == b || a != a || b != b)",
    "neu": "(a != b)",
    "num": "(a == a && b == b)",
    "nan": "(a != a || b != b)",
}  # fmt: skip
ATOMICS = {"add": "Add", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor", "exch": "Exch",
           "cas": "CAS", "inc": "Inc", "dec": "Dec"}  # fmt: skip
NOTHING = re.compile(
    r"prefetchu?(\.\w+|::\w+)*|cp\.async\.commit_group|cp\.async\.wait_(group|all)|griddepcontrol\.\w+|fence\.proxy\.async"
    r"(\.\w+|::\w+)*|applypriority(\.\w+|::\w+)*"
)


class Unsupported(Exception):
    """An instruction, or a form of one, that is not translated."""


def split(text: str) -> list[str]:
    """Operands, at the commas outside brackets."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    return [*parts, part.strip()] if part.strip() else parts


class Translation:
    """The statements so far, and the registers that the text declares."""

    def __init__(self, operands: int) -> None:
        self.operands = operands
        self.registers = {}
        self.lines = []

    # ---- operands --------------------------------------------------------------------------------------------

    def variable(self, operand: str) -> str | None:
        """The C++ variable behind an operand: `%0`, or a register declared in the text."""
        if match := re.fullmatch(r"%(\d+)", operand):
            return f"cudacpu_asm{match[1]}" if int(match[1]) < self.operands else None
        return self.registers.get(operand)

    def source(self, kind: str, operand: str) -> str:
        """A C++ expression of a type for an operand that is read."""
        negated = operand.startswith("!")
        operand = operand.removeprefix("!").strip()
        variable = self.variable(operand)
        if variable:
            text = f"::cudacpu::ptx::get<{kind}>({variable})"
        elif operand in SPECIAL:
            text = f"static_cast<{kind}>({SPECIAL[operand]})"
        elif match := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", operand):
            text = f"::cudacpu::bits<float>(0x{match[1]}u)"
        elif match := re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", operand):
            text = f"::cudacpu::bits<double>(uint64_t(0x{match[1]}u))"
        elif re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)[uU]?|-?\d+\.\d*([eE][+-]?\d+)?", operand):
            text = f"static_cast<{kind}>({operand})"
        else:
            raise Unsupported(f"operand {operand}")
        return f"!{text}" if negated else text

    def target(self, operand: str) -> str:
        if operand == "_":
            return "::cudacpu::ptx::Sink().value"
        variable = self.variable(operand)
        if variable is None:
            raise Unsupported(f"operand {operand}")
        return variable

    def put(self, operand: str, value: str) -> None:
        self.lines.append(f"::cudacpu::ptx::put({self.target(operand)}, {value});")

    def address(self, operand: str, shared: bool) -> str:
        match = re.fullmatch(rf"\[\s*({NAME})\s*(?:([+-])\s*(-?\w+))?\s*\]", operand)
        if not match:
            raise Unsupported(f"address {operand}")
        base = self.source("uint32_t" if shared else "uint64_t", match[1])
        offset = f" {match[2]} {match[3]}" if match[2] else ""
        return f"::cudacpu::ptx::{'shared' if shared else 'generic'}({base}{offset})"

    # ---- instructions ----------------------------------------------------------------------------------------

    def instruction(self, text: str) -> None:
        if match := re.fullmatch(r"\.reg\s*\.(\w+)\s+(.*)", text, re.DOTALL):
            return self.declare(match[1], split(match[2]))
        guard = re.match(rf"@\s*(!?)\s*({NAME})\s+", text)
        if guard:
            text = text[guard.end() :]
        match = re.match(r"[a-z][\w.:]*", text)
        if not match or text[match.end() :].lstrip().startswith(":"):
            raise Unsupported(text.split()[0] if text.split() else text)
        name, operands = match[0], split(text[match.end() :])
        if guard:
            self.lines.append(f"if ({self.source('bool', guard[1] + guard[2])}) {{")
        try:
            self.translate(name, name.split("."), operands)
        except (IndexError, KeyError, ValueError):
            raise Unsupported(name) from None
        if guard:
            self.lines.append("}")
        return None

    def declare(self, kind: str, names: list[str]) -> None:
        if kind not in TYPES:
            raise Unsupported(f".reg .{kind}")
        for name in names:
            if match := re.fullmatch(rf"({NAME})<(\d+)>", name):
                all_names = [f"{match[1]}{i}" for i in range(int(match[2]))]
            else:
                all_names = [name]
            for one in all_names:
                variable = f"cudacpu_reg{len(self.registers)}"
                self.registers[one] = variable
                self.lines.append(f"{TYPES[kind]} {variable}{{}};")

    def translate(self, name: str, parts: list[str], operands: list[str]) -> None:
        base, modifiers = parts[0], parts[1:]
        if NOTHING.fullmatch(name):
            return
        for method in (self.memory, self.cooperate, self.tensor, self.convert, self.compute):
            if method(name, base, modifiers, operands):
                return
        raise Unsupported(name)

    def compute(self, name: str, base: str, modifiers: list[str], operands: list[str]) -> bool:
        kind = TYPES.get(modifiers[-1]) if modifiers else None
        if kind is None:
            return False
        rest = set(modifiers[:-1])
        if base in SIMPLE:
            allowed, count = SIMPLE[base]
            if rest - allowed or len(operands) != count + 1:
                return False
            shifted = base in ("shl", "shr", "bfe", "bfi")
            kinds = [kind, *(["uint32_t" if shifted else kind] * (count - 1))]
            if base == "bfi":
                kinds = [kind, kind, "uint32_t", "uint32_t"]
            values = [self.source(k, operand) for k, operand in zip(kinds, operands[1:], strict=True)]
            flush = "ftz" in rest
            if flush:
                values = [f"::cudacpu::ptx::flushed({value})" for value in values]
            call = f"::cudacpu::ptx::{base}_<{kind}>({', '.join(values)})"
            self.put(operands[0], f"::cudacpu::ptx::flushed({call})" if flush else call)
            return True
        if base in ("mul", "mad"):
            return self.multiply(base, kind, modifiers, operands)
        if base == "mov":
            return self.move(kind, rest, operands)
        if base == "setp" and len(operands) == 3 and not set(modifiers[1:-1]) - {"ftz"}:
            if "|" in operands[0] or "ftz" in modifiers:
                return False
            comparison = "!(a == b)" if modifiers[0] == "ne" else COMPARISONS[modifiers[0]]
            if modifiers[0] == "ne" and kind in ("float", "double"):
                comparison = "(a < b || a > b)"
            values = ", ".join(self.source(kind, operand) for operand in operands[1:])
            self.put(operands[0], f"[]({kind} a, {kind} b) {{ return {comparison}; }}({values})")
            return True
        if base == "selp" and len(operands) == 4 and not rest:
            a, b = (self.source(kind, operand) for operand in operands[1:3])
            self.put(operands[0], f"{self.source('bool', operands[3])} ? {a} : {b}")
            return True
        if base == "lop3" and len(operands) == 5 and not rest and kind == "uint32_t":
            values = ", ".join(self.source(kind, operand) for operand in operands[1:])
            self.put(operands[0], f"::cudacpu::ptx::lop3_({values})")
            return True
        if base == "shf" and modifiers[0] in "lr" and modifiers[1] in ("wrap", "clamp") and kind == "uint32_t":
            values = ", ".join(self.source(kind, operand) for operand in operands[1:])
            self.put(operands[0], f"__funnelshift_{modifiers[0]}{'c' * (modifiers[1] == 'clamp')}({values})")
            return True
        return False

    def multiply(self, base: str, kind: str, modifiers: list[str], operands: list[str]) -> bool:
        half = next((m for m in modifiers[:-1] if m in ("lo", "hi", "wide")), "")
        if set(modifiers[:-1]) - {"lo", "hi", "wide", "rn", "ftz"} or "ftz" in modifiers:
            return False
        if base == "mad" and (kind in ("float", "double") or half not in ("lo", "wide")):
            if "rn" not in modifiers or kind not in ("float", "double"):
                return False
            values = ", ".join(self.source(kind, operand) for operand in operands[1:])
            self.put(operands[0], f"::cudacpu::ptx::fma_<{kind}>({values})")
            return True
        if kind not in ("float", "double") and not half:
            return False
        a, b = (self.source(kind, operand) for operand in operands[1:3])
        product = f"::cudacpu::ptx::mul_{half or 'lo'}<{kind}>({a}, {b})"
        if base == "mad":
            wide = kind.replace("32", "64").replace("16", "32") if half == "wide" else kind
            product = f"::cudacpu::ptx::add_<{wide}>({product}, {self.source(wide, operands[3])})"
        self.put(operands[0], product)
        return True

    def move(self, kind: str, rest: set[str], operands: list[str]) -> bool:
        to, value = operands
        if rest:
            return False
        if value.startswith("{"):
            parts = split(value[1:-1])
            part = TYPES[f"b{8 * self.bytes(kind) // len(parts)}"]
            values = ", ".join(self.source(part, operand) for operand in parts)
            self.put(to, f"::cudacpu::ptx::pack<{kind}, {part}>({{{values}}})")
        elif to.startswith("{"):
            parts = split(to[1:-1])
            part = TYPES[f"b{8 * self.bytes(kind) // len(parts)}"]
            whole = self.source(kind, value)
            self.lines.append(f"{{ const {kind} cudacpu_whole = {whole};")
            for i, operand in enumerate(parts):
                self.put(operand, f"::cudacpu::ptx::part<{part}>(cudacpu_whole, {i})")
            self.lines.append("}")
        else:
            self.put(to, self.source(kind, value))
        return True

    @staticmethod
    def bytes(kind: str) -> int:
        return {"float": 4, "double": 8, "bool": 1}.get(kind) or int(re.sub(r"\D", "", kind)) // 8

    def convert(self, name: str, base: str, modifiers: list[str], operands: list[str]) -> bool:
        if base == "cvta":
            shared = any(m.startswith("shared") for m in modifiers)
            if set(modifiers) - {"to", "global", "shared", "shared::cta", "u64", "u32"}:
                return False
            if shared and "to" in modifiers:
                value = self.source("uint64_t", operands[1])
                self.put(operands[0], f"::cudacpu::shared_address(reinterpret_cast<void*>({value}))")
            elif shared:
                value = self.source("uint32_t", operands[1])
                self.put(operands[0], f"reinterpret_cast<uint64_t>(::cudacpu::ptx::shared({value}))")
            else:
                self.put(operands[0], self.source("uint64_t", operands[1]))
            return True
        if base != "cvt":
            return False
        if modifiers == ["rna", "tf32", "f32"]:
            self.put(operands[0], f"::cudacpu::ptx::tf32({self.source('float', operands[1])})")
            return True
        if modifiers[-2:] == ["f16", "f32"] and modifiers[:-2] == ["rn"]:
            self.put(operands[0], f"::cudacpu::ptx::half_bits({self.source('float', operands[1])})")
            return True
        if modifiers in (["rn", "f16x2", "f32"], ["rn", "bf16x2", "f32"]):
            values = ", ".join(self.source("float", operand) for operand in operands[1:])
            self.put(operands[0], f"::cudacpu::ptx::{modifiers[1]}({values})")
            return True
        if modifiers == ["f32", "f16"]:
            self.put(operands[0], f"::cudacpu::ptx::from_half({self.source('uint16_t', operands[1])})")
            return True
        to, kind = TYPES[modifiers[-2]], TYPES[modifiers[-1]]
        rest = modifiers[:-2]
        floats = {"float", "double"}
        value = self.source(kind, operands[1])
        if to in floats and kind in floats:
            if rest not in ([], ["rn"]):
                return False
        elif to in floats:
            if rest != ["rn"]:
                return False
        elif kind in floats:
            if rest not in (["rzi"], ["rni"], ["rmi"], ["rpi"]) or self.bytes(to) < 4:
                return False
            self.put(operands[0], f"::cudacpu::ptx::to_integer<{to}>({value}, '{rest[0][1]}')")
            return True
        elif rest:
            return False
        self.put(operands[0], f"static_cast<{to}>({value})")
        return True

    def memory(self, name: str, base: str, modifiers: list[str], operands: list[str]) -> bool:
        if base == "cp" and modifiers[0] == "async":
            return self.copy(modifiers[1:], operands)
        if base not in ("ld", "st", "atom", "red"):
            return False
        plain = [m.partition("::")[0] for m in modifiers if not m.startswith(("L1::", "L2::"))]
        if any(m.partition("::")[2] not in ("", "cta") for m in modifiers if not m.startswith(("L1::", "L2::"))):
            return False  # shared memory of another block
        kind = TYPES[plain[-1]]
        shared = "shared" in plain
        if base in ("atom", "red"):
            known = SPACES | SCOPES | {"relaxed", "acquire", "release", "acq_rel"}
            ops = [m for m in plain[:-1] if m not in known]
            if len(ops) != 1 or ops[0] not in ATOMICS:
                return False
            fetched = operands[0] if base == "atom" else "_"
            rest = operands[1:] if base == "atom" else operands
            ordered = bool({"acquire", "release", "acq_rel"} & set(plain))
            c_type = {"int64_t": "long long", "uint64_t": "unsigned long long"}.get(kind, kind)
            if kind == "int64_t" and ops[0] == "add":
                c_type = "unsigned long long"
            values = ", ".join(f"static_cast<{c_type}>({self.source(kind, operand)})" for operand in rest[1:])
            place = f"static_cast<{c_type}*>({self.address(rest[0], shared)})"
            fence = "__threadfence();" if ordered else ""
            self.lines.append(fence)
            self.put(fetched, f"atomic{ATOMICS[ops[0]]}({place}, {values})")
            self.lines.append(fence)
            return True
        order = next((m for m in plain if m in ("volatile", "relaxed", "acquire", "release")), "plain")
        allowed = SPACES | SCOPES | CACHE | {"volatile", "relaxed", "acquire", "release", "v2", "v4", "v8"}
        if set(plain[:-1]) - allowed:
            return False
        count = next((int(m[1:]) for m in plain if m in ("v2", "v4", "v8")), 1)
        where, what = (operands[1], operands[0]) if base == "ld" else (operands[0], operands[1])
        items = split(what[1:-1]) if what.startswith("{") else [what]
        if len(items) != count or len(operands) != 2:
            raise Unsupported(name)
        self.lines.append(f"{{ auto* cudacpu_at = {self.address(where, shared)};")
        if count > 1:
            # Aligned as a whole, and one access to whoever looks at accesses.
            vector = f"::cudacpu::ptx::Vector<{kind}, {count}>"
            if base == "ld":
                self.lines.append(f"const auto cudacpu_all = ::cudacpu::ptx::load<{vector}>(cudacpu_at);")
                for i, item in enumerate(items):
                    self.put(item, f"cudacpu_all.item[{i}]")
            else:
                values = ", ".join(self.source(kind, item) for item in items)
                self.lines.append(f"::cudacpu::ptx::store<{vector}>(cudacpu_at, {{{{{values}}}}});")
        elif base == "ld":
            self.put(what, f"::cudacpu::ptx::load_{order}<{kind}>(cudacpu_at)")
        else:
            self.lines.append(f"::cudacpu::ptx::store_{order}<{kind}>(cudacpu_at, {self.source(kind, what)});")
        self.lines.append("}")
        return True

    def copy(self, modifiers: list[str], operands: list[str]) -> bool:
        plain = [m for m in modifiers if not m.startswith("L2::")]
        if plain not in (["ca", "shared", "global"], ["cg", "shared", "global"],
                         ["ca", "shared::cta", "global"], ["cg", "shared::cta", "global"]):  # fmt: skip
            return False
        if len(operands) not in (3, 4) or "L2::cache_hint" in modifiers:
            return False
        to, source = self.address(operands[0], True), self.address(operands[1], False)
        sizes = [self.source("uint32_t", operand) for operand in operands[2:]]
        self.lines.append(f"::cudacpu::ptx::copy({to}, {source}, {', '.join([*sizes, sizes[0]][:2])});")
        return True

    def cooperate(self, name: str, base: str, modifiers: list[str], operands: list[str]) -> bool:
        if match := re.fullmatch(r"(?:bar|barrier)(?:\.cta)?\.(sync|arrive)(?:\.aligned)?", name):
            number, count = (self.source("uint32_t", operand) for operand in [*operands, "0"][:2])
            waits = str(match[1] == "sync").lower()
            plain = operands == ["0"]
            self.lines.append("__syncthreads();" if plain else f"::cudacpu::named_barrier({number}, {count}, {waits});")
        elif name == "bar.warp.sync":
            self.lines.append(f"__syncwarp({self.source('uint32_t', operands[0])});")
        elif base == "membar" or (base == "fence" and not set(modifiers) - SCOPES - {"sc", "acq_rel"}):
            self.lines.append("__threadfence();")
        elif re.fullmatch(r"barrier\.cluster\.(arrive|wait)(\.(release|acquire|relaxed|aligned))*", name):
            self.lines.append(f"__cluster_barrier_{modifiers[1]}();")
        elif base == "shfl" and modifiers[0] == "sync" and modifiers[2:] == ["b32"]:
            op = {"idx": "shuffle", "up": "shuffle_up", "down": "shuffle_down", "bfly": "shuffle_xor"}[modifiers[1]]
            value, lane, clamp, mask = (self.source("uint32_t", operand) for operand in operands[1:])
            to, _, found = (part.strip() for part in operands[0].partition("|"))
            self.lines.append(f"{{ const uint32_t cudacpu_lane = {lane}, cudacpu_clamp = {clamp};")
            operation = f"::cudacpu::WarpOp::{op}"
            self.put(to, f"::cudacpu::ptx::shuffle({operation}, {value}, cudacpu_lane, cudacpu_clamp, {mask})")
            if found:
                self.put(found, f"::cudacpu::ptx::is_in_range({operation}, cudacpu_lane, cudacpu_clamp)")
            self.lines.append("}")
        elif base == "vote" and modifiers[0] == "sync" and modifiers[1] in ("any", "all", "ballot"):
            predicate, mask = self.source("bool", operands[1]), self.source("uint32_t", operands[2])
            self.put(operands[0], f"__{modifiers[1]}_sync({mask}, {predicate})")
        elif base == "redux" and modifiers[0] == "sync":
            kind = TYPES[modifiers[2]].replace("int32_t", "int").replace("uint", "unsigned")
            value, mask = self.source(kind, operands[1]), self.source("uint32_t", operands[2])
            self.put(operands[0], f"__reduce_{modifiers[1]}_sync({mask}, {value})")
        elif name == "activemask.b32":
            self.put(operands[0], "__activemask()")
        elif name == "elect.sync":
            lane, _, predicate = operands[0].partition("|")
            mask = self.source("uint32_t", operands[1])
            self.lines.append(f"{{ const uint32_t cudacpu_mask = {mask}; __syncwarp(cudacpu_mask);")
            self.put(lane.strip(), "__ffs(cudacpu_mask) - 1")
            self.put(predicate.strip(), "__ffs(cudacpu_mask) - 1 == static_cast<int>(::cudacpu::ptx::lane())")
            self.lines.append("}")
        elif name == "nanosleep.u32":
            self.lines.append(f"__nanosleep({self.source('uint32_t', operands[0])});")
        elif name == "trap":
            self.lines.append("__trap();")
        else:
            return False
        return True

    def tensor(self, name: str, base: str, modifiers: list[str], operands: list[str]) -> bool:
        if match := re.fullmatch(r"ldmatrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?(\.shared(::cta)?)?\.b16", name):
            count = int(match[1])
            items = split(operands[0][1:-1]) if operands[0].startswith("{") else [operands[0]]
            address = self.address(operands[1], bool(match[3]))
            transposed = "true" if match[2] else "false"
            self.lines.append(f"{{ uint32_t cudacpu_words[{count}];")
            self.lines.append(f"::cudacpu::ptx::load_matrices<{count}, {transposed}>({address}, cudacpu_words);")
            for i, item in enumerate(items):
                self.put(item, f"cudacpu_words[{i}]")
            self.lines.append("}")
            return len(items) == count
        match = re.fullmatch(
            r"mma\.sync\.aligned\.m16n8k(4|8|16)\.row\.col\.(f32|f16)\.(f16|bf16|tf32)\.(f16|bf16|tf32)\.(f32|f16)",
            name,
        )
        if not match:
            return False
        depth, result, left, right, start = int(match[1]), *match.groups()[1:]
        if left != right or result != start or (result == "f16" and left != "f16"):
            return False
        if depth not in ({"tf32": (4, 8)}.get(left, (8, 16))):
            return False
        to, a, b, c = (split(operand[1:-1]) for operand in operands)
        part = "float" if result == "f32" else "uint32_t"
        sizes = [depth // 2, depth // 4] if left == "tf32" else [depth // 4, depth // 8]
        if [len(a), len(b)] != sizes or len(c) != len(to) or len(to) != (4 if result == "f32" else 2):
            return False
        self.lines.append(f"{{ {part} cudacpu_d[] = {{{', '.join(self.source(part, item) for item in c)}}};")
        for letter, items in (("a", a), ("b", b)):
            values = ", ".join(self.source("uint32_t", item) for item in items)
            self.lines.append(f"const uint32_t cudacpu_{letter}[] = {{{values}}};")
        format_name = {"f16": "Half", "bf16": "Bfloat", "tf32": "Tf32"}[left]
        self.lines.append(
            f"::cudacpu::ptx::multiply<::cudacpu::ptx::{format_name}, {depth}>(cudacpu_a, cudacpu_b, cudacpu_d);"
        )
        for i, item in enumerate(to):
            self.put(item, f"cudacpu_d[{i}]")
        self.lines.append("}")
        return True


def translate(text: str, operands: int) -> str:
    """C++ statements for PTX; the asm's operands are the variables cudacpu_asm0, cudacpu_asm1, ..."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).replace("%%", "%")
    translation = Translation(operands)
    # A brace is a scope where an instruction could begin, else a vector.
    statement, depth, scopes = "", 0, 0
    for character in text:
        if character in "{}" and depth == 0 and not statement.strip():
            translation.lines.append(character)
            scopes += 1 if character == "{" else -1
            statement = ""
            continue
        depth += (character in "{[(") - (character in "}])")
        if character == ";":
            translation.instruction(" ".join(statement.split()))
            statement = ""
        else:
            statement += character
    if statement.strip():
        translation.instruction(" ".join(statement.split()))
    if scopes != 0:
        raise Unsupported("{ without }")
    return " ".join(line for line in translation.lines if line)


def unquoted(literal: str) -> str:
    """The characters of a C string literal, as far as PTX needs them."""
    raw = re.fullmatch(r'R"(.{0,16}?)\((.*)\)\1"', literal, re.DOTALL)
    if raw:
        return raw[2]
    escapes = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
    return re.sub(r"\\(\r?\n|.)", lambda match: escapes.get(match[1], ""), literal[1:-1])
