"""The preprocessor for drivers and CUDA does what GCC's does, which preprocesses programs for the host."""

import random
import re
import subprocess

import pytest
from draws import seeds

from usmpy._compile import compiler
from usmpy._compile.preprocessor import Preprocessor
from usmpy._compile.tokens import TOKEN, Refused

pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")

REFUSED = ["refused"]


def tokens(text):
    lines = [line for line in text.split("\n") if not re.match(r"# \d", line)]
    found = [match[0] for match in TOKEN.finditer("\n".join(lines)) if match.lastgroup != "blank"]
    return [re.sub(r"(?<=,) +", "", word) for word in found]  # blanks that a macro without text leaves


def ours(case, folders=()):
    try:
        return tokens(Preprocessor(folders).run(case, "<source>"))
    except Refused:
        return REFUSED


def theirs(cases, options=()):
    """What GCC makes of each case, in one run. Cases are files of their own for its messages."""
    command = [*compiler.find_compiler().command, "-E", "-std=gnu11", "-fdiagnostics-color=never", *options]
    source = "".join(f'#line 1 "{k}"\n{case}\n#line 1 "end"\nEND_OF_CASE\n' for k, case in enumerate(cases))
    done = subprocess.run([*command, "-x", "c", "-"], input=source, capture_output=True, text=True)
    wrong = {int(case) for case in re.findall(r"^(\d+):\d+:\d+: (?:fatal )?error:", done.stderr, re.M)}
    parts = done.stdout.partition('# 1 "0"\n')[2].split("END_OF_CASE")[: len(cases)]
    assert len(parts) == len(cases), done.stderr
    return [REFUSED if k in wrong else tokens(part) for k, part in enumerate(parts)]


def compare(cases, options=(), folders=()):
    found = [
        (case, ours(case, folders), gcc) for case, gcc in zip(cases, theirs(cases, options), strict=True)
    ]
    assert [one for one in found if one[1] != one[2]][:3] == []
    return [one for _, one, _ in found]


NUMBERS = """
0 1 2 3u 7L 0x10 010 0b11 63 64 65ul -1 -2 0u 1ull 0x7fffffffffffffff 0x8000000000000000 18446744073709551615
9223372036854775807ll 'a' '\\0' '\\xff' '\\377' 'ab' '\\n' L'a' u'\\xffff' U'\\xffffffff' N M NONE F(2) IS_N
IS_NONE(M) F(defined|N) defined|N defined(NONE)
"""
NUMBERS = [word.replace("|", " ") for word in NUMBERS.split()]
WRONG = ["08", "1.5", "1uu", "1_000", "F", "1 2", "'", "(", "defined", "defined(", "defined 1", "x ? 1", ""]
SIGNS = ["+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", "&&", "||"]
SIGNS += ["+", "-", "*", "<", ">", "&&", "||", ","]
DEFINED = """
#define N 4
#define M -3
#define F(x) (2 * x)
#define IS_N defined(N)
#define IS_NONE(x) (defined NONE + x)
"""


class Conditions:
    """Random conditions of #if."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def value(self, depth):
        rng = self.rng
        kind = rng.randrange(9) if depth else 0
        if kind < 2:
            return rng.choice(WRONG) if rng.random() < 0.01 else rng.choice(NUMBERS)
        if kind == 2:
            return f"{rng.choice('!-+~')} {self.value(depth - 1)}"
        if kind == 3:
            return f"{self.value(depth - 1)} ? {self.value(depth - 1)} : {self.value(depth - 1)}"
        sign = rng.choice(SIGNS)
        text = f"{self.value(depth - 1)} {sign} {self.value(depth - 1)}"
        return f"({text})" if rng.random() < 0.6 else text

    def case(self):
        value = self.value(self.rng.randrange(1, 5))
        names = [*re.findall(r"\w+", DEFINED), "NONE"]
        end = "".join(f"#undef {name}\n" for name in names if name.isupper())
        return f"{DEFINED}#if {value}\nyes\n#elif ({value}) - 1 > 0\nelse\n#else\nno\n#endif\n{end}"


@pytest.mark.parametrize("seed", seeds(2))
def test_conditions(seed):
    drawn = Conditions(seed)
    results = compare([drawn.case() for _ in range(600)])
    for one in (["yes"], ["else"], ["no"], REFUSED):
        assert results.count(one) > 10


WORDS = ("a", "1", "2.5e+3", '"s\\n"', "'\"'", "+", "-", "()", "(a)", "x1", "[", "<<", ";", ".", "L")


class Macros:
    """Random definitions of macros, and uses of them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.macros = {}  # their number of parameters, or -1; and whether they are variadic

    def use(self, depth=2, parameters=()):
        rng = self.rng
        if not self.macros or rng.random() < 0.3:
            return rng.choice([*WORDS, *parameters * 8])
        name = rng.choice([*self.macros])
        n, variadic = self.macros[name]
        if n < 0:
            return name
        if not depth or rng.random() < 0.1:
            return f"{name} x1"  # what follows a bare name may call it, by rules that C leaves open
        n = max(n - variadic, 0) + rng.randrange(3) * variadic if rng.random() < 0.98 else rng.randrange(4)
        arguments = ", ".join(self.argument(depth - 1, parameters) for _ in range(n))
        return f"{name}{rng.choice(['', ' '])}({arguments})"

    def argument(self, depth, parameters):
        return " ".join(self.use(depth, parameters) for _ in range(self.rng.choice([0, 1, 1, 2])))

    def word(self, parameters, variadic):
        rng = self.rng
        kind = rng.randrange(8)
        if not parameters or kind < 2:
            return self.use(1, parameters)
        name = rng.choice(parameters)
        if kind == 2:
            return f"#{name}"
        if kind == 3:
            left, right = (rng.choice([name, rng.choice(parameters), "p", "1", "x1"]) for _ in range(2))
            return f"{left} ## {right}"
        if variadic and kind == 4:
            return f"b, ## {parameters[-1]}"
        if variadic and kind == 5:
            inner = " ".join(self.word(parameters, False) for _ in range(rng.randrange(3)))
            return rng.choice([f"__VA_OPT__({inner})", f"q ## __VA_OPT__(k {inner})"])
        return name

    def define(self):
        rng = self.rng
        name = f"M{len(self.macros)}"
        n = rng.choice([-1, -1, 0, 1, 2, 2, 3])
        listed = parameters = ("x", "y", "z")[: max(n, 0)]
        variadic = n > 0 and rng.random() < 0.4
        if variadic:
            last, shown = rng.choice([("__VA_ARGS__", "..."), ("z", "z...")])
            parameters, listed = (*parameters[:-1], last), (*parameters[:-1], shown)
        body = " ".join(self.word(parameters, variadic) for _ in range(rng.randrange(5)))
        if "__VA_OPT__" in body:  # GCC expands what a text that it leaves out names
            body += f" {' '.join(parameters)}"
        self.macros[name] = n, variadic
        listed = f"({', '.join(listed)})" if n >= 0 else ""
        return f"#define {name}{listed} {body}"

    def case(self):
        lines = []
        for _ in range(self.rng.randrange(3, 9)):
            lines += [self.define(), *(f"{self.use()} {self.use()};" for _ in range(2))]
        return "\n".join([*lines, *(f"#undef M{k}" for k in range(9))])


@pytest.mark.parametrize("seed", seeds(2))
def test_macros(seed):
    results = compare([Macros(1000 * seed + k).case() for k in range(300)])
    assert 10 < results.count(REFUSED) < 200


FILES = {
    "one/a.h": "a1\n#include_next <a.h>\na1 end",
    "two/a.h": "a2\n#include_next <a.h>\n",
    "three/a.h": '#import "b.h"\na3',
    "two/b.h": "b2",
    "three/b.h": "b3\n#import <b.h>\n",
}


def test_files_that_are_imported_and_included_next(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    folders = [str(tmp_path / name) for name in ("one", "two", "three")]
    cases = ["#include <a.h>\n#import <b.h>\n#include <b.h>\n#include <a.h>", "#include_next <b.h>"]
    cases += ["#import <b.h>\n#import <b.h>\n#include <b.h>", "#include <b.h>\n#import <b.h>\n#include <b.h>"]
    cases += ['#import "nowhere.h"', "#include_next <nowhere.h>", "#import", f'#import "{folders[2]}/b.h"']
    for case in cases:
        compare([case], [f"-I{folder}" for folder in folders], folders)


def test_more_of_what_gcc_does():
    compare(
        [
            "#define V(...) #__VA_OPT__(a  __VA_ARGS__)\nV() V(1, 2)",
            "#define S(x) #x\n#define T(x) S(x)\n#define N (1)\nT((N)) T(a  N) T( - N) T(\"a  b\") T(\\ 'c')",
            "#define V(...) __VA_OPT__\nx",
            "#define V(...) __VA_OPT__(\nx",
            "#define V(...) __VA_OPT__(__VA_OPT__())\nx",
            "#define defined 1\nx",
            "#define D(x) defined x\n#define A 1\n#if D(A)\nyes\n#endif",
            "#define D(x) x\n#define A 1\n#if D(defined A)\nyes\n#endif",
            "#if u'\\u0041'\n#endif",
            "#define J(a, b) a ## b\nJ(+, -)",
        ]
    )
