"""The text of a program: generated lines, and pieces of the user's with their own line numbers."""

from __future__ import annotations

from ..errors import BuildError, _build_error
from .parameters import is_identifier
from .types import C_TYPES

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import FunctionType
    from typing import Any

    from .. import _core
    from .._python_kernels.program import HelperProgram

_TOKEN = (
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
    r"""|(?P<open>/\*)|(?P<bracket>[(){}\[\]])|\n|."""
)
_CLOSES = {")": "(", "]": "[", "}": "{"}


def split(value: Any) -> tuple[str, FunctionType | None]:
    """A text, or a Python function or kernel in its place: (the text or "", the function)."""
    function = getattr(value, "__wrapped__", value)
    return ("", function) if hasattr(function, "__code__") else (value, None)


def words(text: str) -> set[str]:
    """The identifiers of a text, comments included."""
    import re  # not while usmpy is imported

    return set(re.findall(r"[A-Za-z_]\w*", text))


def with_size(text: str) -> str:
    """The text with `n` for CuPy's spelling of it."""
    import re

    return re.sub(r"\b_ind\s*\.\s*size\s*\(\s*\)", "n", text)


def check_brackets(text: str, label: str) -> None:
    """BuildError where a bracket or a comment of the user's text is not closed, or closes nothing.

    Such a text would end the function around it, and the compiler would complain about lines that the user
    has not written.
    """
    import re

    opened: list[tuple[str, int]] = []
    line = 1
    for token in re.finditer(_TOKEN, text, re.S):
        if token["open"]:
            raise _refuse(text, label, line, "the comment is not closed")
        if bracket := token["bracket"]:
            if bracket not in _CLOSES:
                opened.append((bracket, line))
            elif not opened or opened.pop()[0] != _CLOSES[bracket]:
                raise _refuse(text, label, line, f"'{bracket}' closes nothing that is open")
        line += token[0].count("\n")
    if opened:
        bracket, line = opened[-1]
        raise _refuse(text, label, line, f"'{bracket}' is not closed")


def _refuse(text: str, label: str, line: int, problem: str) -> BuildError:
    shown = text.split("\n")[line - 1]
    message = f"<{label}>:{line}: error: {problem}"
    return _build_error(message, f"{message}\n{line:>5} | {shown}\n", "host")


class Source:
    """A program under construction. Compilers report lines of the user's pieces by the pieces' labels."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._pieces: dict[str, str] = {}
        self._functions: HelperProgram | None = None

    def add(self, *lines: str) -> None:
        self._parts += [f"{line}\n" for line in lines]

    def add_piece(self, label: str, text: str, end: str = "") -> None:
        """The user's text on lines of its own. label: the argument's name.

        end: what follows it. A compiler that misses something there reports the text's last line with code.
        """
        self._pieces[label] = text
        last = text.rstrip().count("\n") + 1
        ended = f'\n#line {last} "<{label}>"\n{end}' if end else ""
        self._parts.append(f'#line 1 "<{label}>"\n{text}{ended}\n#line 1 "<usmpy>"\n')

    def add_function(
        self,
        function: FunctionType,
        given: Sequence[tuple[str, str, bool]],
        results: Sequence[str] | None,
        device: _core.Device,
    ) -> tuple[str, list[str]]:
        """Add a Python function in place of a text; (a statement that calls it, the values of the results).

        given: of each argument its name here, its dtype's name, and whether it is a raw array. results: the
        names of the dtypes; None: it stores into raw arrays.
        """
        if self._functions is None:
            from .._python_kernels.program import HelperProgram

            dtypes = [*(dtype for _, dtype, _ in given), *(results or ())]
            self._functions = HelperProgram(dtypes, device.has_fp64)
        definitions, statement, values = self._functions.write(function, given, results)
        self._parts.append(f'{definitions}#line 1 "<usmpy>"\n')
        return statement, values

    def __str__(self) -> str:
        return "".join(self._parts)

    def _place(self, line: int) -> tuple[str, int]:
        """The label and number that the directives give to a line of the whole text."""
        import re

        label, number = "", 0
        for text in str(self).split("\n")[:line]:
            directive = re.fullmatch(r'#line (\d+) "<(\w+)>"', text)
            label, number = (directive[2], int(directive[1]) - 1) if directive else (label, number + 1)
        return label, number

    def explain(self, error: BuildError, name: str) -> BuildError:
        """The same error, with the line of the user's text that it is about in front."""
        import re

        found = re.search(r"<(\w+)>[:(](\d+)[^\n]*", error.log or str(error))
        label, number = (found[1], int(found[2])) if found else ("", 0)
        if label == "kernel":  # NVIDIA's OpenCL compiler counts the lines of the whole text
            label, number = self._place(number)
        said = str(error)
        lines = self._pieces.get(label, "").split("\n")
        if label in self._pieces and 0 < number <= len(lines):
            said = f"line {number} of {label}: {lines[number - 1].strip()}\n{said}"
        return BuildError(
            f"{name}: {said}", backend=error.backend, code=error.code, name=error.name, log=error.log
        )


def write_types(source: Source, names: Iterable[str], variables: Mapping[str, _core.DType]) -> None:
    """The extensions that the dtypes of these names need, and a typedef for each variable."""
    names = set(names)
    if "float16" in names:
        source.add("#pragma OPENCL EXTENSION cl_khr_fp16 : enable")
    if names & {"float64", "complex128"}:
        source.add("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    for letter, dtype in variables.items():
        source.add(f"typedef {C_TYPES[dtype.name]} {letter};")


def scalar(name: str, dtype: str) -> tuple[str, list[str]]:
    """(the parameter of a kernel for a number, lines that make the variable `name` of it).

    OpenCL C takes no bool, and half only where the device has it.
    """
    if dtype == "bool":
        return f"uchar usm_p_{name}", [f"const bool {name} = usm_p_{name} != 0;"]
    if dtype == "float16":
        return f"float usm_p_{name}", [f"const half {name} = (half)usm_p_{name};"]
    return f"const {C_TYPES[dtype]} {name}", []


def function_name(name: str, used: set[str]) -> str:
    """The kernel's name in the program: the user's, unless it has a meaning in C or in the texts."""
    from .._compile.portable_builtins import BUILTINS

    return f"usm_kernel_{name}" if name in used or name in BUILTINS or not is_identifier(name) else name


def result(name: str, dtype: str, place: str, returns: bool) -> tuple[str, str]:
    """(the lines before, the line behind the user's statements) for an output of that name.

    A variable holds the old value, which compilers do not read if the statements overwrite it. Statements
    that return would skip the store: for these, the name is the element itself.
    """
    if dtype == "bool":
        return f"bool {name} = {place} != 0;", f"{place} = {name};"
    if returns:
        return f"#define {name} {place}", f"#undef {name}"
    return f"{C_TYPES[dtype]} {name} = {place};", f"{place} = {name};"
