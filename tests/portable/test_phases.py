"""Barriers: loops between them and a stack for each work-item do the same."""

import random
import re

import numpy as np
import pytest
from draws import seeds
from host_kernels import Local, build

from usmpy._compile import compiler, host, portable, portable_fibers, portable_phases
from usmpy._compile.portable_constants import CONSTANTS

pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")


def by_fibers(source, function, kernel, waiting):
    return portable_fibers.runner(kernel)


def is_by_phases(source):
    options = host._split_options("")
    text = host._preprocess(compiler.find_compiler(), options, CONSTANTS, source, "s")
    return "USM_ITEMS {" in portable.translate(text, "s")


class Writer:
    """A random kernel without races: a barrier separates writes to `shared` from reads by others."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.names = 0
        self.visible = [["l", "g", "n"]]

    def pick(self):
        return self.rng.choice([name for names in self.visible for name in names])

    def value(self):
        rng = self.rng
        kind = rng.randrange(5)
        if kind == 0:
            return str(rng.randrange(9))
        if kind == 1:
            return f"({self.pick()} * {rng.randrange(1, 5)} + {self.pick()})"
        if kind == 2:
            return f"(({self.pick()} ^ {self.pick()}) & 1023)"
        if kind == 3:
            return f"max({self.pick()}, {self.pick()} - {rng.randrange(9)})"
        return f"helper({self.pick()}, {self.pick()})"

    def declare(self):
        self.names += 1
        name = f"v{self.names}"
        value = self.value()
        how = self.rng.randrange(5)
        if how == 0:
            other = f"w{self.names}"
            text = f"const int {name} = {value}, {other}[2] = {{ {self.value()}, 3 }};"
            self.visible[-1] += [name, f"{other}[1]", f"{other}[l & 1]"]
            return text
        if how == 1:
            k = f"i{name}"
            text = f"int {name}[3]; for (int {k} = 0; {k} < 3; {k}++) {name}[{k}] = {k} + {value};"
            self.visible[-1] += [f"{name}[2]", f"{name}[g % 3]"]
            return text
        if how == 2:
            text = f"global const int *{name} = x + ({value} & 15);"
            self.visible[-1].append(f"{name}[2]")
            return text
        hidden = [name for names in self.visible[:-1] for name in names if re.fullmatch(r"v\d+", name)]
        hidden = [other for other in hidden if other not in self.visible[-1] and other not in value]
        if hidden and self.rng.random() < 0.5:
            name = self.rng.choice(hidden)
        self.visible[-1].append(name)
        return f"int {name} = {value};"

    def exchange(self):
        value, to = self.value(), self.declare_plain()
        return (
            f"shared[l] = {value}; barrier(CLK_LOCAL_MEM_FENCE); "
            f"{to} = shared[(l + {self.rng.randrange(5)}) % n]; barrier(CLK_LOCAL_MEM_FENCE);"
        )

    def declare_plain(self):
        self.names += 1
        self.visible[-1].append(f"v{self.names}")
        return f"int v{self.names}"

    def opaque(self):
        self.names += 1
        k, value = f"k{self.names}", self.value()
        return self.rng.choice(
            [
                f"for (int {k} = 0; {k} < 3; {k}++) {{ if ({k} == l % 3) continue; sum += {k} * {value}; }}",
                f"{{ int {k} = {value}; sum ^= {k}; }}",
                f"if (l & 1) sum += {value}; else {{ sum -= {self.value()}; }}",
                "switch (g & 3) { case 0: sum++; break; case 1: sum += 3; default: sum *= 2; }",
                f"sum = sum * 31 + {value};",
                f"if (g == {self.rng.randrange(96)}) {{ y[g] = sum + {value}; return; }} else sum++;",
            ]
        )

    def block(self, depth):
        self.visible.append([])
        text = "\n".join(self.statement(depth) for _ in range(self.rng.randrange(2, 5)))
        self.visible.pop()
        return "{\n" + text + "\n}"

    def statement(self, depth):
        kind = self.rng.randrange(9 if depth else 5)
        if kind < 2:
            return self.declare()
        if kind == 2:
            return self.exchange()
        if kind < 5:
            return self.opaque()
        self.names += 1
        count = f"c{self.names}"
        if kind == 5:
            head = (
                f"int {count} = 0, m{count} = n; {count} < {self.rng.randrange(1, 4)}; {count}++, m{count}--"
            )
            return f"for ({head}) {self.block(depth - 1)}"
        if kind == 6:
            test = f"(n + {self.rng.randrange(2)}) % 2"
            return f"if ({test}) {self.block(depth - 1)} else {self.block(depth - 1)}"
        if kind == 7:
            return f"int {count} = 0; while ({count}++ < 2) {self.block(depth - 1)}"
        return f"int {count} = 3; do {self.block(depth - 1)} while (--{count} > 1);"

    def kernel(self, name):
        body = "\n".join(self.statement(2) for _ in range(6)) + "\n" + self.exchange()
        names = " + ".join(name for name in self.visible[0])
        return f"""
kernel void {name}(global const int *x, global int *y, local int *shared)
{{
    int l = get_local_id(0), sum = 0;
    const int g = get_global_id(0), n = get_local_size(0);
    shared[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    {body}
    y[g] = sum + {names};
}}
"""


HELPER = "static int helper(int a, int b) { return a > b ? a - b : (b & 255) + (int)get_local_id(0); }\n"


@pytest.mark.parametrize("seed", seeds(2))
def test_random_kernels(seed, monkeypatch):
    kernels = 3
    source = HELPER + "".join(Writer(100 * seed + i).kernel(f"f{i}") for i in range(kernels))
    assert is_by_phases(source)
    x = np.random.default_rng(seed).integers(0, 100, 120, dtype="i4")
    results = []
    for runner in (portable_phases.runner, by_fibers):
        monkeypatch.setattr(portable_phases, "runner", runner)
        monkeypatch.setattr(compiler, "_identify_processor", lambda runner=runner: runner.__name__)
        library = build(source, options="-O1")
        results.append([])
        for i in range(kernels):
            y = np.zeros(96, "i4")
            library.kernels[f"f{i}"](96, x, y, Local(24 * 4), local=24, boxes=2)
            results[-1].append(y)
    np.testing.assert_array_equal(*results)
    assert len(np.unique(results)) > 10


def assignments(seed):
    """A kernel's body, and for each variable the factor of x[i] that it has at the end, and what is added."""
    rng, text, ends = random.Random(seed), "", []
    for k in range(rng.randrange(2, 5)):
        factor, end = rng.randrange(1, 5), rng.choice([0, 0, -1, 7])
        kind = rng.choice(["char", "short", "int", "int", "long", "long"])
        text += f"{kind} v{k} = x[i] * ({kind}){factor}; "
        ends.append((factor, 0) if rng.random() < 0.4 else (0, end))
    text += "".join(f"v{k} = {end}; " for k, (factor, end) in enumerate(ends) if not factor)
    text += "int n = 0; do { barrier(CLK_LOCAL_MEM_FENCE); } while (++n < 1); "
    return text + "y[i] = " + " + ".join(f"v{k}" for k in range(len(ends))) + ";", ends


def test_assignments_before_a_barrier_stay_in_order():
    drawn = [assignments(seed) for seed in range(24)]
    library = build(
        "".join(
            f"kernel void f{k}(global const int *x, global long *y) {{ int i = get_global_id(0); {text} }}\n"
            for k, (text, _) in enumerate(drawn)
        )
    )
    x = np.arange(31, dtype="i4")[:24]
    for k, (text, ends) in enumerate(drawn):
        y = np.zeros(24, "i8")
        library.kernels[f"f{k}"](24, x, y, local=12)
        expected = sum(factor * x.astype("i8") + end for factor, end in ends)
        np.testing.assert_array_equal(y, expected, err_msg=text)


PHASES = {
    "top level": "t[l] = l; barrier(1); x[l] = t[0];",
    "loop": "for (int s = 4; s > 0; s /= 2) { t[l] += s; barrier(1); }",
    "while and do": "int s = 0; while (s++ < 3) { barrier(1); } do { barrier(1); t[l] = s--; } while (s);",
    "branch": "if (n) { barrier(1); t[l] = 1; } else barrier(2);",
    "one name twice": "for (int i = 0; i < 2; i++) barrier(1); for (int i = 0; i < 2; i++) t[l] += i;",
    "jumps within": "for (int i = 0; i < 2; i++) { if (i) break; } barrier(1); t[l] = 1;",
    "a return": "if (n == 100) return; barrier(1); t[l] = 1;",
    "some return": "if (l == 3) return; barrier(1); while (1) { if (l) return; else t[l]++; barrier(1); }",
    "an array": "int a[3] = { 1, 2, 3 }; barrier(1); t[l] = a[l % 3];",
    "a text": 'char a[4] = "abc"; barrier(1); t[l] = a[l % 3];',
    "a row": "int m[2][3] = { { 1 } }, (*row)[3] = m; barrier(1); t[l] = row[0][l % 3];",
    "sizes": "int a[3], b[sizeof(int) * 2]; b[l] = l; barrier(1); t[l] = b[l] + (int)sizeof(a);",
    "constants": "const int *const a = t + l, b = 3; barrier(1); t[l] = b + (a == t);",
    "a name that hides": "int a = 1; barrier(1); { int a = 2; t[l] = a; barrier(1); } t[l] += a;",
    "a parameter that is hidden": "for (int n = 0; n < 2; n++) { t[l] = n; barrier(1); } t[l] += n;",
    "more branches": "if (n == 7) barrier(1); else if (n) { t[l] = 1; barrier(1); } else if (!n) barrier(1);",
    "jumps in a loop": "do { barrier(1); for (;;) { if (l) break; else { l++; continue; } } } while (0);",
}
FIBERS = {
    "a jump out of a loop": "for (int i = 0; i < 9; i++) { barrier(1); if (i == 2) break; }",
    "a helper": "wait(1); t[l] = 1;",
    "a jump out of an expression": "int k = 2; while (k--) { n = ({ if (!k) break; 1; }); barrier(1); }",
    "a barrier in an expression": "t[l] = ({ barrier(1); 1; });",
    "a size of another variable": "int a[2]; int b[sizeof(a)]; b[0] = l; barrier(1); t[l] = b[0];",
    "a parameter that changes": "n++; barrier(1); t[l] = n;",
    "a goto": "if (n == 100) goto end; barrier(1); end: t[l] = 1;",
    "a switch": "switch (n) { case 1: barrier(1); break; }",
    "a struct": "struct { int a; } s = { 1 }; barrier(1); t[l] = s.a;",
    "an address": "int *p = &n; barrier(1); *p += 1; t[l] = n;",
}
KERNEL = """
static void wait(int n) { barrier(n); }
kernel void f(global int *x, int n, local int *t)
{
    int l = get_local_id(0);
    %s
    barrier(1);
    x[get_global_id(0)] = t[(l + 1) %% 4];
}
"""


@pytest.mark.parametrize("body", PHASES.values(), ids=PHASES)
def test_these_become_loops(body):
    assert is_by_phases(KERNEL % body)


@pytest.mark.parametrize("body", FIBERS.values(), ids=FIBERS)
def test_these_need_stacks_and_run(body):
    assert not is_by_phases(KERNEL % body)
    x = np.zeros(8, "i4")
    build(KERNEL % body, options="-O1").f(8, x, 1, Local(16), local=4)


HIDING = """
kernel void f(global int *x, int n, local int *t)
{
    int l = get_local_id(0), a = l + 1, sum = 0;
    t[l] = a;
    barrier(1);
    {
        int b = a, a = t[(l + 1) % 4];
        sum += a * b;
        barrier(1);
        for (int a = 0, l = 5; a < 2; a++, l += 3) {
            int sum = a + l;
            barrier(1);
            t[get_local_id(0)] = sum;
            barrier(1);
            { int n = t[0]; b += n; barrier(1); b += n; }
        }
        sum += a + b;
    }
    if (n) { int n = a; barrier(1); sum += n; } else barrier(1);
    barrier(1);
    x[get_global_id(0)] = sum * 100 + a * 10 + n;
}
"""


def test_names_that_hide_others_keep_their_values():
    assert is_by_phases(HIDING)
    x = np.zeros(8, "i4")
    build(HIDING, options="-O2").f(8, x, 1, Local(16), local=4)
    expected = []
    for local in np.arange(8) % 4:
        outer, inner = local + 1, (local + 1) % 4 + 1
        b = outer + 2 * 5 + 2 * 9
        expected.append((inner * outer + inner + b + outer) * 100 + outer * 10 + 1)
    assert x.tolist() == expected


CHANGED = {
    "a number": ("int p", "p += l; p++", "p - l - 1"),
    "in parentheses": ("int p", "(p) = l; ((p))--", "p + 4 - l"),
    "a member": ("pair p", "p.a += l", "p.a - l"),
    "an element": ("pair p", "p.b[1] += l; p.b[l & 1] += 0", "p.b[1] - l"),
    "a member of a member": ("other p", "(p.c).b[0] = l + 3", "p.c.b[0] - l"),
    "an element of an element": ("other p", "p.d[1].a = l + 3", "p.d[1].a - l"),
    "by its address": ("int p", "int *q = &p; *q += l", "p - l"),
}


@pytest.mark.parametrize(("parameter", "change", "value"), CHANGED.values(), ids=CHANGED)
def test_parameters_that_work_items_change(parameter, change, value):
    """Each work-item has its own parameters, in barrier kernels, too: all of them are 3."""
    source = "typedef struct { int a, b[2]; } pair; typedef struct { pair c, d[2]; } other;\n"
    source += f"kernel void f(global int *x, {parameter})\n{{ int l = get_local_id(0); {change}; barrier(1); "
    source += f"x[get_global_id(0)] = {value}; }}\n"
    assert not is_by_phases(source)
    x = np.zeros(8, "i4")
    given = 3 if parameter == "int p" else np.full(3 if "pair" in parameter else 9, 3, "i4").tobytes()
    build(source).f(8, x, given, local=4)
    assert x.tolist() == [3] * 8


def test_a_great_group_and_deep_private_memory(monkeypatch):
    source = """
    kernel void f(global int *x, int n)
    {
        int big[8000], l = get_local_id(0);
        for (int i = 0; i < 8000; i++) big[i] = i * l;
        if (n < 0) goto end;
        barrier(CLK_GLOBAL_MEM_FENCE);
        x[get_global_id(0)] = big[7000 + l % 1000];
        end:;
    }
    """
    x = np.zeros(1024, "i4")
    build(source).f(1024, x, 1, local=1024)
    lid = np.arange(1024)
    np.testing.assert_array_equal(x, (7000 + lid % 1000) * lid)


def test_stacks_that_cannot_be_had_are_no_crash():
    library = build("kernel void f(global int *x) { if (x[0]) return; barrier(1); x[0] = 1; }")
    with pytest.raises(MemoryError):
        library.f((1 << 25, 1), np.zeros(1, "i4"), local=1 << 25)
