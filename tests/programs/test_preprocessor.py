"""The preprocessor of portable programs for CUDA: what C says, with lines where they were."""

import pytest

from usmpy._compile.preprocessor import Preprocessor
from usmpy._compile.tokens import Refused


def words(source, **options):
    """The output without markers and with single blanks."""
    preprocessor = Preprocessor(options.get("folders", ()))
    for macro in options.get("define", ()):
        preprocessor.define(macro)
    text = preprocessor.run(source, "<source>")
    lines = (line for line in text.split("\n") if not line.startswith("# "))
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define A 1\nA B", "1 B"),
        ("#define A\nx A y", "x y"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define f(x) x + x\nf(1) f (2) f", "1 + 1 2 + 2 f"),
        ("#define f(x, y) y x\nf((1, 2), [3])", "[3] (1, 2)"),
        ("#define f() 1\nf() f( )", "1 1"),
        ("#define f(x) #x\nf(a  \"b\\n\" 'c')", '"a \\"b\\\\n\\" \'c\'"'),
        ("#define J(a, b) a##b\n#define A 1\nJ(A, B) J(x, 1) J(, y) J(z,)", "AB x1 y z"),
        ("#define J2(a, b) a##b\n#define J(a, b) J2(a, b)\n#define N 3\nJ(f, N)", "f3"),
        ("#define J(a, b) a ## b\nJ(+, +) J(<, <=)", "++ <<="),
        ("%:define J(a, b) a %:%: b %:%:b\n%:define S(a) %:a\nJ(x, 1) S(y) %:%:", 'x11 "y" ##'),
        ("#define V(...) f(__VA_ARGS__)\nV() V(1) V(1, 2)", "f( ) f( 1 ) f( 1, 2 )"),
        ("#define V(a, ...) f(a, ##__VA_ARGS__)\nV(1) V(1, 2, 3)", "f( 1 ) f( 1 ,2, 3)"),
        ("#define V(a...) f(a)\nV(1, 2)", "f( 1, 2 )"),
        ("#define f(x) (x)\n#define g f\ng(2) g", "( 2 ) f"),
        ("#define f(x) x f\nf(1)(2)", "1 f (2)"),
        ("#define EMPTY\n-EMPTY-x", "- -x"),
        ("#define M -1\nx-M", "x- -1"),
        ('"/* no */" /* yes */ \'"\' // all', '"/* no */" \'"\''),
        ("a /* b\nc */ d", "a d"),
        ("x \\\ny", "x y"),
        ("#define A 1 \\ \t\n 2\nA x\\  \r\ny", "1 2 xy"),
        ("#define LONG 1 + \\\n  2\nLONG", "1 + 2"),
        ("#define f(x) x\nf(1,\n)", None),
        ("#define f(x,\\\ny) x\nf(1,\n2) end", "1 end"),
        (
            '#define A 1\n#pragma push_macro("A")\n#undef A\n#pragma push_macro("A")\n#define A 2\nA\n'
            '#pragma pop_macro("A")\nA\n#pragma pop_macro( "A" )\nA\n#pragma pop_macro("A")\nA',
            "2 A 1 1",
        ),
        ("__LINE__\n__LINE__", "1 2"),
        ("#undef A\n#define A 1\n#undef A\nA", "A"),
    ],
)
def test_macros(source, expected):
    if expected is None:
        with pytest.raises(Refused, match="takes 1 arguments, 2 were given"):
            words(source)
    else:
        assert words(source) == expected


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("1", True),
        ("0", False),
        ("A", False),
        ("defined A", False),
        ("defined(N) && N == 4", True),
        ("!defined(N) || N >= 5", False),
        ("N * 2 - 7 == 1 && N % 3 == 1 && N / -3 == -1", True),
        ("(1 ? 2 : 3) == 2", True),
        ("0x10 == 020 && 16u == 16UL", True),
        ("'a' == 97", True),
        ("'\\n' == 10 && '\\'' == 39 && '\\0' == 0 && '\\777' == -1 && '\\x41' == 65", True),
        ("L'a' == 97 && u'\\u00c4' == 196 && 'ab' == 24930 && '\\\\' == 92", True),
        ("1 ? 0 : 1", False),
        ("0 ? 0 : 0 ? 0 : 3", True),
        ("1 ? 0 ? 0 : 1 : 0", True),
        ("(0 ? 1 : 2) + 1 == 3", True),
        ("1 || 0 && 0", True),
        ("2 - 1 - 1", False),
        ("- - 1 == 1 && !!3 && ~-1 == 0", True),
        ("-2 * 3 == -6 && 7 - 2 * 3 == 1 && 1 << 2 + 1 == 8", True),
        ("(" * 3000 + "1" + ")" * 3000, True),
        ("!" * 3001 + "1", False),
        ("1" + " ? 1" * 2000 + " : 0" * 2000, True),
        ("~0 == -1 && (5 & 4) && (1 | 2) == 3 && (7 ^ 2) == 5 && 1 << 3 == 8", True),
        ("F(3) == 6", True),
        ("0 && 1 / 0", False),
        ("true && !false", True),
        ("N > 3 /* a comment\n over lines */ && 1", True),
    ],
)
def test_conditions(condition, holds):
    define = ("N=4", "F(x)=2*x")
    assert words(f"#if {condition}\nyes\n#else\nno\n#endif", define=define) == ("yes" if holds else "no")
    nested = (
        f"#if 0\n#if {condition}\na\n#else\nb\n#endif\n#elif {condition}\nc\n#elif 1\nd\n#else\ne\n#endif"
    )
    assert words(nested, define=define) == ("c" if holds else "d")


def test_names_that_are_defined_or_not():
    source = "#ifdef A\na\n#elifdef B\nb\n#else\nc\n#endif\n#ifndef A\nd\n#endif"
    assert words(source) == "c d"
    assert words(source, define=["B"]) == "b d"
    assert words(source, define=["A"]) == "a"


def test_lines_stay_where_they_are():
    source = "#define f(x, y) x y\n\n/* one\n two */ a\n#if 0\nb\n#endif\nf(c,\n\n d) e\n"
    source += "#pragma unroll 4\n\\\ng\nh"
    lines = Preprocessor().run(source, "<source>").split("\n")[1:]
    found = {word: i + 1 for i, line in enumerate(lines) for word in line.split()}
    assert {word: found[word] for word in "aceh"} == {"a": 4, "c": 8, "e": 10, "h": 14}
    assert found["#pragma"] == 11


def test_files(tmp_path):
    (tmp_path / "a.h").write_text('#pragma once\n#include "inner/b.h"\nint a;\n')
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.h").write_text('#include "c.h"\nint b;\n')
    (tmp_path / "inner" / "c.h").write_text("int c;\n")
    preprocessor = Preprocessor([str(tmp_path)])
    text = preprocessor.run('#include <a.h>\n#define A "a.h"\n#include A\nint d;\n', "<source>")
    assert [line for line in text.split("\n") if line.startswith("int")] == [f"int {c};" for c in "cbad"]
    assert '# 4 "<source>"\nint d;' in text
    assert [file.removeprefix(str(tmp_path)) for file in preprocessor.files] == [
        "/a.h",
        "/inner/b.h",
        "/inner/c.h",
    ]


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("\n#if 1\n", 2, "unterminated #if"),
        ("#endif", 1, "#endif without #if"),
        ("#else", 1, "#else without #if"),
        ("#if 0\n#else\n#else\n#endif", 3, "#else after #else"),
        ("#if 1\n#if 0\n#else\n#endif\n#else\n#elif 1\n#endif", 6, "#elif after #else"),
        ("#if 0\n#if 1\n#else\n#elifdef A\n#endif\n#endif", 4, "#elifdef after #else"),
        ("\n\n#error one two", 3, "#error one two"),
        ("#include <nowhere.h>", 1, "nowhere.h: No such file"),
        ("#include nothing", 1, "#include takes a file's name"),
        ("#nonsense", 1, "#nonsense is no directive"),
        ("#define f(x) x\n\nf(1", 3, "f: a parenthesis is not closed"),
        ("#define 1", 1, "#define takes a name"),
        ("#if (1\n#endif", 1, "#if (1: ')' is missing"),
        ("#if\n#endif", 1, "it ends early"),
        ("#if 1 2\n#endif", 1, "'2' is not expected"),
        ("\n#if ''\n#endif", 2, "#if '': '' is no character"),
        ("#if '\n#endif", 1, "#if ': ' is no character"),
        ("#if 1 ? 2\n#endif", 1, "':' is missing"),
        ("#if 1 : 2\n#endif", 1, "':' is not expected"),
        ("#if )\n#endif", 1, "')' is not expected"),
        ("#if (1 ? 2)\n#endif", 1, "')' is not expected"),
        ("#if 1 +\n#endif", 1, "it ends early"),
        ("#if 1e5\n#endif", 1, "1e5 is no integer"),
        ("#if " + "9" * 5000 + "\n#endif", 1, "is no integer"),
        ("#line " + "9" * 5000, 1, "#line takes a number"),
        ("#line \u00b2", 1, "#line takes a number"),
        ("#define f(x) x\n" + "f(" * 3000 + ")" * 3000, 2, "macros nest more than 60 deep"),
        (
            "#define a0 1\n" + "".join(f"#define a{i + 1} a{i} a{i}\n" for i in range(40)) + "a40",
            42,
            "macros expand to more than 250000 tokens",
        ),
    ],
)
def test_errors_name_their_line(source, line, message):
    with pytest.raises(Refused) as caught:
        words(source)
    assert message in caught.value.message
    assert (caught.value.file, caught.value.line) == ("<source>", line)


def test_files_that_include_each_other(tmp_path):
    (tmp_path / "a.h").write_text('#include "a.h"\n')
    with pytest.raises(Refused, match="more than 60 deep"):
        words("#include <a.h>", folders=[str(tmp_path)])
