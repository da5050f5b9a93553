"""Random programs of the portable language whose results have the same bits on every device.

Nothing in them is undefined: signed integers are added and multiplied as unsigned ones, divisors are small
and positive, indices are masked, and all work-items of a group come to the same barriers. Floating point is
rounded once an operation.
"""

from __future__ import annotations

import random

import numpy as np

import usmpy

N, GROUP = 32, 8  # work-items
SIGNED = ("char", "short", "int", "long")
INTEGERS = (*SIGNED, *(f"u{type}" for type in SIGNED))
REALS = ("float", "double")
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "31",
    "32",
    "63",
    "100",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "65535",
    "-1",
]
NUMBERS += [
    "-2",
    "-128",
    "2147483647",
    "0x80000000u",
    "4294967295u",
    "1l << 40",
    "0x7fffffffffffffffl",
    "~0ul",
]
BUILTINS = {"abs": 1, "popcount": 1, "clz": 1, "ctz": 1, "bitselect": 3, "mad_hi": 3, "mad_sat": 3}
BUILTINS |= {"max": 2, "min": 2, "add_sat": 2, "sub_sat": 2, "hadd": 2, "rhadd": 2, "mul_hi": 2, "rotate": 2}
BUILTINS |= {"abs_diff": 2}
FIELDS = [("a", "char"), ("b", "long"), ("c[(@) & 3]", "int"), ("d", "float"), ("e", "ushort")]
FRACTIONS = ["0.0", "1.0", "-0.5", "0.1", "3.75", "1e10", "-1024.0", "0x1.8p-3", "255.5"]
KINDS = {"float": "FLOAT", "double": "DOUBLE"}
HEAD = """
#pragma OPENCL FP_CONTRACT OFF
#define OF_INT(v) h = h * 31 + (ulong)(v);
#define OF_FLOAT(v) h = h * 31 + (isnan(v) ? 7u : as_uint((v) + 0.0f)); /* of the zeros one */
#define OF_DOUBLE(v) h = h * 31 + (isnan(v) ? 7ul : as_ulong((v) + 0.0));
constant int table[8] = { 3, -1, 4, 0x7fffffff, -5, 9, 2, 6 };
enum { ONE = 1, TEN = 10, MINUS = -3 };
typedef struct { char a; long b; int c[4]; float d; ushort e; } record;
typedef struct { record r; uint n; } nested;
"""


def unsigned(type):
    """The type in which integers of a type are added: no operation overflows."""
    return "ulong" if type.endswith("long") else "uint"


class Writer:
    """Writes a kernel, or a function that is like one."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.seed = seed
        self.names = 0
        # By scope: (text, type, whether it may be assigned), where @ is an index that may have any value.
        self.scopes = [[("i", "int", False), ("x[(@) & 63]", "int", False), ("table[(@) & 7]", "int", False)]]
        self.scopes[0] += [(word, "int", False) for word in ("ONE", "TEN", "MINUS")]
        self.helpers = []  # (name, types of parameters)
        self.changes = []  # the types that a function with pointers takes
        self.local = ()  # names of arrays in local memory, if there may be barriers
        self.jumps = False  # in a loop without barriers

    # Values. Each has the type that is asked for.

    def pick(self, *choices):
        return self.rng.choice(choices)

    def depth(self):
        return self.pick(1, 1, 2)

    def place(self, type, assigned=False):
        """An expression that names a value of the type, or None."""
        found = [
            text
            for scope in self.scopes
            for text, its, may_be in scope
            if its == type and (may_be or not assigned)
        ]
        if not found:
            return None
        return self.rng.choice(found).replace("@", self.integer(self.pick(*INTEGERS), 0))

    def integer(self, type, depth):
        rng = self.rng
        if depth <= 0:
            if rng.random() < 0.25:
                return f"({type})({rng.choice(NUMBERS)})"
            return self.place(type) or f"({type}){self.place('int')}"
        ways = [self.sum, self.sum, self.bits, self.bits, self.shift, self.quotient, self.test, self.branch]
        ways += [self.cast, self.builtin, self.builtin, self.from_real, self.sign, self.call]
        return rng.choice(ways)(type, depth - 1)

    def any_integer(self, depth):
        return self.integer(self.pick(*INTEGERS), depth)

    def value(self, type, depth):
        return self.integer(type, depth) if type in INTEGERS else self.real(type, depth)

    def sum(self, type, depth):
        to = unsigned(type)
        return (
            f"({type})(({to}){self.any_integer(depth)} {self.pick(*'+-*')} ({to}){self.any_integer(depth)})"
        )

    def bits(self, type, depth):
        return f"({type})({self.any_integer(depth)} {self.pick(*'&|^')} {self.any_integer(depth)})"

    def shift(self, type, depth):
        count = self.any_integer(depth) if self.rng.random() < 0.5 else str(self.rng.randrange(8))
        return f"({type})({self.any_integer(depth)} {self.pick('<<', '>>')} {count})"

    def quotient(self, type, depth):
        divisor = f"(({self.any_integer(depth)} & 15) + 1)"
        return f"({type})({self.any_integer(depth)} {self.pick('/', '%')} {divisor})"

    def condition(self, depth):
        rng = self.rng
        if rng.random() < 0.2:
            return f"({self.condition(depth - 1)} {self.pick('&&', '||')} {self.any_integer(depth)})"
        sign = self.pick("<", ">", "<=", ">=", "==", "!=")
        if rng.random() < 0.2:
            return f"({self.real(self.pick(*REALS), depth)} {sign} {self.real(self.pick(*REALS), depth)})"
        return f"({self.any_integer(depth)} {sign} {self.any_integer(depth)})"

    def test(self, type, depth):
        return f"({type}){self.condition(depth)}"

    def branch(self, type, depth):
        return f"({type})({self.condition(depth)} ? {self.any_integer(depth)} : {self.any_integer(depth)})"

    def cast(self, type, depth):
        return f"({type})({self.pick(*INTEGERS)}){self.any_integer(depth)}"

    def sign(self, type, depth):
        other = self.pick(*INTEGERS)
        return f"({type})({self.pick('~', '!', f'-({unsigned(other)})')}{self.integer(other, depth)})"

    def builtin(self, type, depth):
        x, y, z = values = [self.integer(type, depth) for _ in range(3)]
        name = self.pick(*BUILTINS, "convert", "clamp", "select")
        if name == "convert":
            return f"convert_{type}_sat({self.any_integer(depth)})"
        if name == "clamp":
            return f"clamp({x}, min({y}, {z}), max({y}, {z}))"
        if name == "select":
            return f"select({x}, {y}, ({type.replace('u', '')}){z})"
        return f"({type}){name}({', '.join(values[: BUILTINS[name]])})"

    def from_real(self, type, depth):
        mode = self.pick("", "_rte", "_rtp", "_rtn", "_rtz")
        return f"convert_{type}_sat{mode}({self.real(self.pick(*REALS), depth)})"

    def call(self, type, depth):
        if not self.helpers:
            return self.integer(type, depth)
        name, types = self.rng.choice(self.helpers)
        given = [self.value(one, depth - 1) for one in types]
        return f"({type}){name}({', '.join([*given, 'x', 'i'])})"

    def real(self, type, depth):
        rng = self.rng
        if depth <= 0:
            at = self.place(type) if rng.random() < 0.75 else f"({type})({rng.choice(FRACTIONS)})"
            return at or f"({type}){self.place('int')}"
        kind = rng.randrange(8)
        x, y = (self.real(type, depth - 1) for _ in range(2))
        if kind < 3:
            return f"({x} {self.pick(*'+-*')} {y})" if rng.random() < 0.8 else f"({x} / (fabs({y}) + 1))"
        if kind == 3:
            return f"({type}){self.any_integer(depth - 1)}"
        if kind == 4:
            name = self.pick("fabs", "floor", "ceil", "trunc", "rint", "round", "-")
            return f"{name}({x})"
        if kind == 5:
            return f"({self.condition(depth - 1)} ? {x} : {y})"
        if kind == 6:
            return f"fma({x}, {y}, {self.real(type, depth - 1)})"
        return f"({type}){self.real(self.pick(*REALS), depth - 1)}"

    # Statements.

    def new(self, letter="v"):
        self.names += 1
        return f"{letter}{self.names}"

    def keep(self, text, type, assigned=True):
        self.scopes[-1].append((text, type, assigned))

    def declare(self):
        rng = self.rng
        type = self.pick(*INTEGERS, *REALS)
        kind, name, value = rng.randrange(8), self.new(), self.value(type, self.depth())
        if kind == 0:
            size, second = self.pick(2, 4, 8), self.value(type, 1)
            self.keep(f"{name}[(@) & {size - 1}]", type)
            return f"{type} {name}[{size}] = {{ {value}, {second} }};"
        if kind == 1:
            return self.declare_record(name)
        if kind == 2:
            text = f"const bool {name} = {self.condition(1)};"
            self.keep(f"(int){name}", "int", False)
            return text
        if kind == 3:
            pointed = self.place(type, assigned=True)
            if pointed is not None and "[" not in pointed:
                self.keep(f"*{name}", type)
                return f"{type} *{name} = &{pointed};"
        hidden = [text for scope in self.scopes[1:-1] for text, _, _ in scope if text.isalnum()]
        if hidden and kind == 4:
            other = rng.choice(hidden)
            if not any(other in text for text, _, _ in self.scopes[-1]) and other not in value:
                name = other
                self.scopes = [[one for one in scope if name not in one[0]] for scope in self.scopes]
        self.keep(name, type)
        return f"{type} {name} = {value};"

    def declare_record(self, name):
        values = (
            f"{{ {self.integer('char', 1)}, {self.integer('long', 1)}, {{ {self.integer('int', 1)}, 2 }} }}"
        )
        is_nested = self.rng.random() < 0.5
        for part, type in FIELDS:
            self.keep(f"{name}{'.r' * is_nested}.{part}", type)
        return f"nested {name} = {{ {values}, 7 }};" if is_nested else f"record {name} = {values};"

    def assign(self):
        type = self.pick(*INTEGERS, *REALS)
        to = self.place(type, assigned=True)
        if to is None:
            return self.declare()
        if type in REALS:
            return f"{to} {self.pick('', '+', '-', '*')}= {self.real(type, self.depth())};"
        if self.rng.random() < 0.15 and type != "int" and type != "long":
            return f"{self.pick('++', '--')}{to};" if "*" in to else f"{to}{self.pick('++', '--')};"
        sign = self.pick("", "", "+", "-", "*", "&", "|", "^", "<<", ">>")
        of = self.pick(*INTEGERS) if sign in ("", "<<", ">>") else unsigned(type)
        value = self.integer(of, self.depth())
        return f"{to} {sign}= {value};"

    def observe(self):
        type = self.pick(*INTEGERS, *REALS)
        return f"OF_{KINDS.get(type, 'INT')}({self.value(type, 1)})"

    def block(self, depth, jumps=False):
        self.scopes.append([])
        outer, self.jumps, local, self.local = self.jumps, self.jumps or jumps, self.local, ()
        text = "\n".join(self.statement(depth) for _ in range(self.rng.randrange(1, 4)))
        self.scopes.pop()
        self.jumps, self.local = outer, local
        return "{\n" + text + "\n}"

    def choice(self, depth):
        text = f"if {self.condition(self.depth())} {self.block(depth - 1)}"
        if self.rng.random() < 0.5:
            text += f" else if {self.condition(1)} {self.block(depth - 1)}"
        return text + (f" else {self.block(depth - 1)}" if self.rng.random() < 0.5 else "")

    def loop(self, depth):
        name, count = self.new("k"), self.rng.randrange(1, 5)
        self.scopes.append([(name, "int", False)])
        inner = self.block(depth - 1, jumps=True)
        self.scopes.pop()
        return self.pick(
            f"for (int {name} = 0; {name} < {count}; {name}++) {inner}",
            f"for (int {name} = {count}; {name} > 0; {name}--) {inner}",
            f"{{ int {name} = 0; while ({name}++ < {count}) {inner} }}",
            f"{{ int {name} = {count}; do {inner} while (--{name} > 0); }}",
        )

    def switch(self, depth):
        parts = [f"case {k}: {self.block(depth - 1)} {self.pick('break;', '')}" for k in range(3)]
        parts.append(f"default: {self.block(depth - 1)}")
        return f"switch ({self.any_integer(1)} & 3) {{\n" + "\n".join(parts) + "\n}"

    def statement(self, depth):
        if self.local and self.rng.random() < 0.4:
            return self.together(depth)
        ways = [self.declare] * 4 + [self.assign] * 4 + [self.observe]
        if depth:
            ways += [lambda: self.choice(depth), lambda: self.loop(depth), lambda: self.switch(depth)]
        if self.jumps:
            ways.append(lambda: f"if {self.condition(1)} {self.pick('continue', 'break')};")
        return self.rng.choice(ways)()

    # Barriers, at places that all work-items of a group reach.

    def together(self, depth):
        rng = self.rng
        kind = rng.randrange(6) if depth else rng.randrange(3)
        barrier = f"barrier(CLK_{self.pick('LOCAL', 'GLOBAL')}_MEM_FENCE | CLK_LOCAL_MEM_FENCE);"
        if kind < 2:
            name, type = rng.choice(self.local)
            to, value = self.new(), self.value(type, self.depth())
            self.keep(to, type)
            place = f"{name}[(l + {rng.randrange(8)}) & 7]"
            return f"{name}[l] = {value}; {barrier} {type} {to} = {place}; {barrier}"
        if kind == 2:
            how, to = self.pick("add", "xor", "max", "min", "or"), self.new()
            value = self.integer("int", self.depth())
            self.keep(to, "int")
            text = f"if (l == 0) sum = 1; {barrier} atomic_{how}(&sum, {value}); {barrier}"
            return f"{text} int {to} = sum; {barrier}"
        name, count = self.new("k"), rng.randrange(1, 4)
        if kind == 3:
            test = self.pick("(get_group_id(0) & 1)", "(x[3] & 1)", "(i < 16)")
            return f"if {test} {self.uniform(depth - 1)} else {self.uniform(depth - 1)}"
        self.scopes.append([(name, "int", False)])
        inner = self.uniform(depth - 1)
        self.scopes.pop()
        if kind == 4:
            return f"for (int {name} = 0; {name} < {count}; {name}++) {inner}"
        return f"{{ int {name} = 0; while ({name}++ < {count}) {inner} }}"

    def uniform(self, depth):
        self.scopes.append([])
        text = "\n".join(self.statement(depth) for _ in range(self.rng.randrange(1, 4)))
        self.scopes.pop()
        return "{\n" + text + "\n}"

    # Functions.

    def helper(self):
        """A function that calls take for its value."""
        outer = self.scopes
        name, result = f"help{self.seed}_{len(self.helpers)}", self.pick(*INTEGERS)
        types = [self.pick(*INTEGERS, *REALS) for _ in range(self.rng.randrange(1, 4))]
        self.scopes = [outer[0], [(f"p{k}", type, True) for k, type in enumerate(types)]]
        body = "\n".join(self.statement(1) for _ in range(self.rng.randrange(1, 4)))
        value = self.integer(result, self.depth())
        self.scopes = outer
        self.helpers.append((name, types))
        listed = ", ".join(f"{type} p{k}" for k, type in enumerate(types))
        head = f"static {result} {name}({listed}, global const int *x, int i)"
        return f"{head}\n{{\nulong h = 0;\n{body}\nreturn ({result})({value} ^ h);\n}}\n"

    def changer(self):
        """A function that changes what its pointers lead to."""
        outer = self.scopes
        self.changes = [self.pick(*INTEGERS), self.pick(*REALS)]
        self.scopes = [outer[0], [(f"*p{k}", type, True) for k, type in enumerate(self.changes)]]
        self.scopes[1] += [(f"r->{part}", type, True) for part, type in FIELDS]
        body = "\n".join(self.assign() for _ in range(self.rng.randrange(1, 4)))
        self.scopes = outer
        listed = ", ".join(f"{type} *p{k}" for k, type in enumerate(self.changes))
        head = f"static void change{self.seed}({listed}, record *r, global const int *x, int i)"
        return f"{head}\n{{\n{body}\n}}\n"

    def change(self):
        names, record = [self.new() for _ in self.changes], self.new()
        text = "".join(f"{t} {v} = {self.value(t, 1)}; " for t, v in zip(self.changes, names, strict=True))
        text += f"record {record} = {{ 1, 2, {{ 3, 4 }}, 5.0f, 6 }}; "
        for name, type in zip(names, self.changes, strict=True):
            self.keep(name, type)
        for part, type in FIELDS:
            self.keep(f"{record}.{part}", type)
        return f"{text}change{self.seed}(&{', &'.join([*names, record])}, x, i);"

    def body(self, n, depth):
        """Statements, between variables that depend on the work-item, and what they have in the end."""
        types = self.rng.sample([*INTEGERS, *REALS], 4)
        self.scopes.append([(f"in_{type}", type, True) for type in types])
        lines = [f"{type} in_{type} = ({type})x[(i + {self.rng.randrange(64)}) & 63];" for type in types]
        lines += [self.change(), *(self.statement(depth) for _ in range(n))]
        lines += [
            f"OF_{KINDS.get(type, 'INT')}({text.replace('@', 'i')})" for text, type, _ in self.scopes[-1]
        ]
        return "\n".join(lines)

    def function(self):
        """A function of the work-item's number, and its helpers."""
        before = "".join([self.helper(), self.changer()])
        head = f"static ulong f{self.seed}(global const int *x, int i)"
        return f"{before}{head}\n{{\nulong h = 1;\n{self.body(4, 2)}\nreturn h;\n}}\n"

    def kernel(self):
        """A kernel with barriers, and its helpers."""
        before = "".join([self.helper(), self.changer()])
        self.scopes[0].append(("l", "int", False))
        self.local = tuple((f"shared_{type}", type) for type in self.rng.sample([*INTEGERS, *REALS], 2))
        arrays = "".join(f"local {type} {name}[{GROUP}]; " for name, type in self.local)
        return (
            f"{before}kernel void b{self.seed}(global const int *x, global ulong *out)\n{{\n"
            f"int i = get_global_id(0), l = get_local_id(0);\nulong h = 1;\n{arrays}local int sum;\n"
            f"{self.body(3, 1)}\nout[i] = h;\n}}\n"
        )


def program(seeds):
    """A program of drawn functions, and of one kernel that calls all of them."""
    functions = "".join(Writer(seed).function() for seed in seeds)
    calls = "".join(f"out[{k * N} + i] = f{seed}(x, i);\n" for k, seed in enumerate(seeds))
    head = "kernel void f(global const int *x, global ulong *out)\n{\nint i = get_global_id(0);\n"
    return f"{HEAD}{functions}{head}{calls}}}\n"


def program_with_barriers(seeds):
    return HEAD + "".join(Writer(seed).kernel() for seed in seeds)


def numbers():
    rng = np.random.default_rng(5)
    x = rng.integers(-(2**31), 2**31, 64, dtype="i4")
    x[:16] = rng.integers(-9, 9, 16)
    return x


def runs(device, barriers):
    """Whether the device runs such kernels. The Level Zero driver in software has Intel's OpenCL driver build
    without optimisation, which then takes values behind barriers from other work-items if it reads SPIR-V.
    PoCL of Ubuntu 24.04 ends the process for some kernels with barriers (WorkitemLoops.cc, an assertion)."""
    return device.has_fp64 and not (barriers and device.name.startswith(("Software Level Zero", "cpu-")))


def run(seeds, device, barriers=False):
    """What a device computes: a row for each seed."""
    given = usmpy.asarray(numbers(), device=device, copy=True)
    space = usmpy.NdRange((N,), (GROUP,))
    if not barriers:
        out = usmpy.zeros(len(seeds) * N, dtype="uint64", device=device)
        usmpy.Program(program(seeds), device=device)["f"][space](given, out)
        return out.asnumpy().reshape(len(seeds), N)
    built, rows = usmpy.Program(program_with_barriers(seeds), device=device), []
    for seed in seeds:
        out = usmpy.zeros(N, dtype="uint64", device=device)
        built[f"b{seed}"][space](given, out)
        rows.append(out.asnumpy())
    return np.stack(rows)
