"""A C preprocessor, for compilers that take only preprocessed text, and for checks. It keeps line numbers.

Its output has line markers ('# 1 "file"'), the user's pragmas, and no other line that begins with '#'.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from . import build_options
from .conditions import Expression
from .tokens import DIGRAPHS, TOKEN, Refused

_JOINED, _INSIDE = "\x01", "\x02"  # for a newline after a backslash; for one in a comment
_APART = "\x03"  # for a blank that nobody wrote, which # ignores
_SPLICE = re.compile(r"\\[ \t\f\v\0]*\n")  # blanks may follow the backslash, as GCC and clang have it
_COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.S)
_DIRECTIVE = re.compile(r"[ \t\f\v]*(?:#|%:)[ \t]*(\w*)(.*)", re.S)
NAME = "<source>"
_DEEPEST = 60  # of files in files, and of macros in arguments of macros
_MOST_TOKENS = 250_000  # that macros may expand to
_OPTIONAL = "__VA_OPT__"
_OMITTED = "no arguments for ..."  # among arguments
_NO_NAMES: frozenset[str] = frozenset()


class _Token(NamedTuple):
    kind: str
    text: str
    line: int
    hidden: frozenset[str]  # macros that are not expanded in it again


class _Macro(NamedTuple):
    parameters: list[str] | None  # None: an object-like macro
    variadic: bool
    body: list[_Token]


def _without_comments(text: str) -> str:
    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] in "\"'" else " " + _INSIDE * (found.count("\n") + found.count(_JOINED))

    text = _SPLICE.sub(_JOINED, text.replace("\r\n", "\n"))
    return _COMMENT.sub(blank, text)


def _tokens(text: str, line: int) -> list[_Token]:
    found = []
    for match in TOKEN.finditer(text):
        assert match.lastgroup is not None
        text = DIGRAPHS.get(match[0], match[0])
        pieces = "##" if text == "##" else [text]  # of two tokens, as written without the digraph
        found += [_Token(match.lastgroup, piece, line, _NO_NAMES) for piece in pieces]
        line += match[0].count("\n")
    return found


def _trim(tokens: list[_Token]) -> list[_Token]:
    first, last = 0, len(tokens)
    while first < last and tokens[first].kind == "blank":
        first += 1
    while last > first and tokens[last - 1].kind == "blank":
        last -= 1
    return tokens[first:last]


def _last(tokens: list[_Token], first: int) -> int:
    """Where the parenthesis closes that opens at first, or behind blanks; another token if none opens; -1."""
    depth = 0
    for i in range(first, len(tokens)):
        depth += (tokens[i].text == "(") - (tokens[i].text == ")")
        if not depth and tokens[i].kind != "blank":
            return i
    return -1


class Wishes:
    """The options that matter here."""

    def __init__(self, read: list[build_options.Option]) -> None:
        self.version = build_options.version_of(read)  # of OpenCL C
        self.defined = [(name, value) for name, value in read if name in ("-D", "-U")]
        self.folders = [value for name, value in read if name == "-I"]
        self.included = [value for name, value in read if name == "-include"]


def preprocess(source: str, constants: str, options: Wishes) -> str:
    """The preprocessed text of a program, whose file is called <source>. Raises Refused.

    constants: definitions before those of the options.
    """
    preprocessor = Preprocessor(options.folders)
    version = (
        f"#define __OPENCL_VERSION__ {options.version}\n#define __OPENCL_C_VERSION__ {options.version}\n"
    )
    preprocessor.macros = dict(_macros(constants + version))
    for option, value in options.defined:
        preprocessor.define(value) if option == "-D" else preprocessor.undefine(value)
    before = "".join(f'#include "{file}"\n' for file in options.included)
    return (preprocessor.run(before, NAME) if before else "") + preprocessor.run(source, NAME)


_known: dict[str, dict[str, _Macro]] = {}


def _macros(constants: str) -> dict[str, _Macro]:
    """What a text of definitions defines. It is read once: that takes longer than to read a short program."""
    if constants not in _known:
        preprocessor = Preprocessor()
        preprocessor.run(constants, "<usmpy>")
        _known[constants] = preprocessor.macros
    return _known[constants]


class Preprocessor:
    """The defined macros, the folders of headers, and the files that were read."""

    def __init__(self, folders: Iterable[str] = ()) -> None:
        self.folders = list(folders)
        self.files: list[str] = []
        self._following: list[str] = []  # folders behind that of the file, for #include_next
        self.macros: dict[str, _Macro] = {}
        self._once: set[str] = set()
        self._pushed: dict[str, list[dict[str, _Macro]]] = {}
        self._out: list[str] = []
        self._file = ""
        self._depth = 0
        self._nested = 0  # in arguments of macros
        self._in_condition = False
        self._expanded = 0  # tokens

    def define(self, text: str) -> None:
        """Defines a macro as the option -D does: NAME, NAME=VALUE or NAME(x)=VALUE."""
        head, equals, value = text.partition("=")
        self._define(f"{head} {value if equals else '1'}", 0)

    def undefine(self, name: str) -> None:
        self.macros.pop(name.strip(), None)

    def run(self, text: str, name: str) -> str:
        """The preprocessed text. Raises Refused."""
        self._out = []
        self._process(text, name)
        return "".join(self._out)

    # Lines.

    def _refuse(self, line: int, message: str, word: str = "") -> Refused:
        return Refused(message, self._file, line, word)

    def _mark(self, line: int) -> None:
        quoted = self._file.replace("\\", "\\\\").replace('"', '\\"')
        self._out.append(f'# {line} "{quoted}"\n')

    def _process(self, text: str, name: str) -> None:
        outer, self._file = self._file, name
        self._mark(1)
        # For each #if: whether its lines count, whether a branch was taken, whether the outer one counts, its
        # line, and whether #else was there.
        nested: list[list[bool | int]] = []
        block: list[str] = []
        line = start = 1

        def flush() -> None:
            if block:
                self._out.append(self._text(self.expand(_tokens("".join(block), start))))
                block.clear()

        for joined in _without_comments(text + "\n").split("\n")[:-1]:
            height = 1 + joined.count(_JOINED) + joined.count(_INSIDE)
            logical = joined.replace(_JOINED, "").replace(_INSIDE, "")
            directive = _DIRECTIVE.fullmatch(logical)
            wanted = all(level[0] for level in nested)
            if directive is None:
                start = start if block else line
                text = joined.replace(_JOINED, "").replace(_INSIDE, "\n") if wanted else ""
                block.append(text + "\n" * (height - text.count("\n")))
            else:
                word, rest = directive[1], directive[2]
                if self._condition(word, rest, line, nested, wanted):
                    block.append("\n" * height) if block else self._out.append("\n" * height)
                elif not wanted:
                    if not block:
                        start = line
                    block.append("\n" * height)
                else:
                    flush()
                    if not self._directive(word, rest, line, height):
                        self._out.append("\n" * height)
                if not block:
                    start = line + height
            line += height
        flush()
        if nested:
            raise self._refuse(int(nested[-1][3]), "unterminated #if")
        self._file = outer

    def _condition(
        self, word: str, rest: str, line: int, nested: list[list[bool | int]], wanted: bool
    ) -> bool:
        """Handles #if, #else and the like; whether it was one of them."""
        if word in ("if", "ifdef", "ifndef"):
            value = wanted and self._holds(word, rest, line)
            nested.append([value, value, wanted, line, False])
        elif word in ("elif", "elifdef", "elifndef", "else", "endif"):
            if not nested:
                raise self._refuse(line, f"#{word} without #if")
            level = nested[-1]
            if word != "endif" and level[4]:
                raise self._refuse(line, f"#{word} after #else")
            level[4] = word == "else"
            if word == "endif":
                nested.pop()
            elif word == "else":
                level[0] = bool(level[2]) and not level[1]
                level[1] = True
            else:
                value = bool(level[2]) and not level[1] and self._holds(word[2:], rest, line)
                level[0] = value
                level[1] = level[1] or value
        else:
            return False
        return True

    def _holds(self, word: str, rest: str, line: int) -> bool:
        if word in ("if", ""):
            return self._evaluate(rest, line) != 0
        name = rest.strip().split(" ")[0]
        if not name:
            raise self._refuse(line, f"#{word} without a name")
        return (name in self.macros) == word.endswith("ifdef")

    def _directive(self, word: str, rest: str, line: int, height: int) -> bool:
        """Handles any other directive; whether it wrote its own newlines."""
        if word == "define":
            self._define(rest, line)
        elif word == "undef":
            self.undefine(rest)
        elif word in ("include", "include_next", "import"):
            self._include(word, rest, line)
            self._mark(line + height)
            return True
        elif word == "error":
            raise self._refuse(line, f"#error{rest}")
        elif word == "line":
            pieces = self._text(self.expand(_tokens(rest, line))).split(None, 1)
            if not pieces or not re.fullmatch("[0-9]{1,9}", pieces[0]):
                raise self._refuse(line, "#line takes a number")
            self._out.append(f"# {pieces[0]} {pieces[1] if len(pieces) > 1 else self._quoted()}\n")
            return True
        elif word == "" and rest[:1].isdigit():  # a marker of another preprocessor
            self._out.append(f"# {rest.strip()}\n")
            return True
        elif word == "pragma" and rest.strip() == "once":
            self._once.add(self._file)
        elif found := re.fullmatch(r'\s*(push|pop)_macro\s*\(\s*"(\w+)"\s*\)\s*', rest * (word == "pragma")):
            pushed = self._pushed.setdefault(found[2], [])
            if found[1] == "push":
                pushed.append({name: macro for name, macro in self.macros.items() if name == found[2]})
            elif pushed:
                self.undefine(found[2])
                self.macros.update(pushed.pop())
        elif word == "pragma":
            self._out.append(f"#pragma{rest}" + "\n" * height)
            return True
        elif word not in ("", "warning", "ident", "sccs", "assert"):
            raise self._refuse(line, f"#{word} is no directive", word)
        return False

    def _quoted(self) -> str:
        return '"' + self._file.replace("\\", "\\\\").replace('"', '\\"') + '"'

    # Macros.

    def _define(self, rest: str, line: int) -> None:
        match = re.match(r"\s*([^\W\d]\w*)(\(([^)]*)\))?", rest)
        if match is None:
            raise self._refuse(line, "#define takes a name")
        parameters, variadic = None, False
        if match[2] is not None:
            parameters = [word.strip() for word in match[3].split(",") if word.strip()]
            if parameters and parameters[-1].endswith("..."):
                named = parameters.pop()[:-3].strip()
                parameters.append(named or "__VA_ARGS__")
                variadic = True
        if match[1] == "defined":
            raise self._refuse(line, "defined: not a name for a macro", "defined")
        body = _trim(_tokens(rest[match.end() :], line))
        body = self._with_options(body, line) if variadic else body
        self.macros[match[1]] = _Macro(parameters, variadic, body)

    def _with_options(self, body: list[_Token], line: int) -> list[_Token]:
        """A variadic macro's body, with each __VA_OPT__(...) as one token, which acts as a parameter does."""
        found, i = [], 0
        while i < len(body):
            last = _last(body, i + 1) if body[i].text == _OPTIONAL else i
            text = self._text(body[i : last + 1])
            if last < i or text.count(_OPTIONAL) > 1 or (last > i and body[last].text != ")"):
                raise self._refuse(
                    line, f"{_OPTIONAL} takes a text in parentheses, without another one", _OPTIONAL
                )
            found.append(body[i]._replace(text=text))
            i = last + 1
        return found

    @staticmethod
    def _text(tokens: list[_Token]) -> str:
        return "".join(" " if token.text == _APART else token.text for token in tokens)

    def expand(self, tokens: list[_Token]) -> list[_Token]:
        self._nested += 1
        try:
            return self._expand(tokens)
        finally:
            self._nested -= 1

    def _substituted(
        self, macro: _Macro, given: dict[str, list[_Token]], hidden: frozenset[str], name: _Token
    ) -> list[_Token]:
        """The tokens that replace a use of the macro, the last one first."""
        if self._nested > _DEEPEST:
            raise self._refuse(name.line, f"macros nest more than {_DEEPEST} deep", name.text)
        expanded: dict[str, list[_Token]] = {}  # arguments that are used without # and ##
        for token in macro.body if macro.variadic else ():
            if token.text.startswith(_OPTIONAL):
                chosen: list[_Token] = []
                if _trim(self.expand(given[(macro.parameters or [""])[-1]])):
                    part = macro._replace(body=_trim(_tokens(token.text.partition("(")[2][:-1], name.line)))
                    chosen = _trim(self._substitute(part, given, expanded, hidden, name.line))
                given[token.text] = expanded[token.text] = chosen
        tokens = self._substitute(macro, given, expanded, hidden, name.line)
        self._expanded += len(tokens) + 1
        if self._expanded > _MOST_TOKENS:
            raise self._refuse(name.line, f"macros expand to more than {_MOST_TOKENS} tokens", name.text)
        return self._apart(tokens)

    def _expand(self, tokens: list[_Token]) -> list[_Token]:
        out: list[_Token] = []
        waiting = tokens[::-1]
        while waiting:
            token = waiting.pop()
            if token.kind != "name" or token.text in token.hidden:
                out.append(token)
                continue
            if token.text == "__LINE__":
                out.append(token._replace(kind="number", text=str(token.line)))
                continue
            if token.text == "defined" and self._in_condition and self._nested == 1:
                out.append(self._defined(waiting, token.line))
                continue
            if token.text == "__FILE__":
                out.append(token._replace(kind="string", text=self._quoted()))
                continue
            macro = self.macros.get(token.text)
            if macro is None:
                out.append(token)
                continue
            hidden = token.hidden | {token.text}
            if macro.parameters is None:
                waiting += self._substituted(macro, {}, hidden, token)
                continue
            ahead = len(waiting)
            while ahead and waiting[ahead - 1].kind == "blank":
                ahead -= 1
            if not ahead or waiting[ahead - 1].text != "(":
                out.append(token)
                continue
            del waiting[ahead - 1 :]
            given, newlines = self._arguments(macro, waiting, token)
            waiting += [_Token("blank", "\n", token.line, _NO_NAMES)] * newlines
            waiting += self._substituted(macro, given, hidden, token)
        return out

    @staticmethod
    def _apart(tokens: list[_Token]) -> list[_Token]:
        """The tokens in reverse, between blanks, so that they do not join with their neighbours."""
        blank = _Token("blank", _APART, 0, _NO_NAMES)
        return [blank, *tokens[::-1], blank]

    def _arguments(
        self, macro: _Macro, waiting: list[_Token], name: _Token
    ) -> tuple[dict[str, list[_Token]], int]:
        """Takes the arguments from `waiting`, whose next token is after the parenthesis."""
        assert macro.parameters is not None
        arguments: list[list[_Token]] = [[]]
        depth, newlines = 1, 0
        while waiting:
            token = waiting.pop()
            if token.text == "\n":
                newlines += 1
                token = token._replace(text=" ")
            if token.text in ("(", "[", "{"):
                depth += token.text == "("
            elif token.text == ")":
                depth -= 1
                if not depth:
                    break
            full = macro.variadic and len(arguments) == len(macro.parameters)
            if token.text == "," and depth == 1 and not full:
                arguments.append([])
            else:
                arguments[-1].append(token)
        if depth:
            raise self._refuse(name.line, f"{name.text}: a parenthesis is not closed", name.text)
        n = len(macro.parameters)
        arguments = [_trim(argument) for argument in arguments]
        if not n and arguments == [[]]:
            arguments = []
        omitted = macro.variadic and (len(arguments) == n - 1 or arguments == [[]])
        if macro.variadic and len(arguments) == n - 1:
            arguments.append([])
        if len(arguments) != n:
            raise self._refuse(
                name.line, f"{name.text} takes {n} arguments, {len(arguments)} were given", name.text
            )
        given = dict(zip(macro.parameters, arguments, strict=True))
        return given | ({_OMITTED: []} if omitted else {}), newlines

    def _substitute(
        self,
        macro: _Macro,
        given: dict[str, list[_Token]],
        expanded: dict[str, list[_Token]],
        hidden: frozenset[str],
        line: int,
    ) -> list[_Token]:
        body, out, i = macro.body, [], 0
        while i < len(body):
            token = body[i]
            following = i + 1
            while following < len(body) and body[following].kind == "blank":
                following += 1
            pasted = self._is_paste(body, following)
            if token.text == "#" and macro.parameters is not None and following < len(body):
                name = body[following].text
                if name in given and not self._is_paste(body, i):
                    out.append(_Token("string", self._quoted_text(given[name]), line, _NO_NAMES))
                    i = following + 1
                    continue
            if self._is_paste(body, i):
                i = self._paste(body, i + 2, given, macro, out, line)
                continue
            if token.text in given:
                if not pasted and token.text not in expanded:
                    expanded[token.text] = self.expand(given[token.text])
                out += given[token.text] if pasted else self._apart(expanded[token.text][::-1])
                if pasted and not given[token.text]:
                    out.append(_Token("blank", "", line, _NO_NAMES))  # an empty operand of ##
            elif not (token.kind == "blank" and self._is_paste(body, i + 1)):
                out.append(token)
            i += 1
        return [token._replace(line=line, hidden=token.hidden | hidden) for token in out]

    @staticmethod
    def _quoted_text(tokens: list[_Token]) -> str:
        pieces: list[str] = []
        for token in tokens:
            if token.kind == "blank":
                pieces += [" "] * (token.text != _APART and pieces[-1:] not in ([], [" "]))
            elif token.kind in ("string", "char"):
                pieces.append(token.text.replace("\\", "\\\\").replace('"', '\\"'))
            else:
                pieces.append(token.text)
        text = "".join(pieces)
        backslashes = len(text) - len(text.rstrip("\\"))
        return f'"{text[: len(text) - backslashes % 2]}"'  # the last one would take the quotation mark

    @staticmethod
    def _is_paste(body: list[_Token], i: int) -> bool:
        return i + 1 < len(body) and body[i].text == "#" and body[i + 1].text == "#"

    def _paste(
        self,
        body: list[_Token],
        i: int,
        given: dict[str, list[_Token]],
        macro: _Macro,
        out: list[_Token],
        line: int,
    ) -> int:
        """Joins the token at i, the right operand of ##, to the last one of `out`. Returns the next index."""
        while i < len(body) and body[i].kind == "blank":
            i += 1
        if i == len(body):
            raise self._refuse(line, "a macro ends in ##")
        right = given.get(body[i].text, [body[i]]) if body[i].kind == "name" else [body[i]]
        while out and out[-1].kind == "blank" and out[-1].text != "":
            out.pop()
        if out and out[-1].text == "," and macro.variadic and body[i].text == (macro.parameters or [""])[-1]:
            if _OMITTED in given:
                out.pop()
            out += right
            return i + 1
        left = out.pop().text if out else ""
        text = left + (right[0].text if right else "")
        joined = _tokens(text, line) if text else [_Token("blank", "", line, _NO_NAMES)]
        if len(joined) > 1 and text != "##":
            raise self._refuse(line, f"{text}: ## does not make one token of this")
        out += joined + right[1:]
        return i + 1

    # Files.

    def _include(self, word: str, rest: str, line: int) -> None:
        words = rest.strip()
        if words[:1] not in ('"', "<"):
            words = self._text(self.expand(_tokens(rest, line))).strip()
        match = re.fullmatch(r'"([^"]+)"|<([^>]+)>', words)
        if match is None:
            raise self._refuse(line, f"#{word} takes a file's name")
        name = match[1] or match[2]
        own = os.path.dirname(self._file) if os.path.isfile(self._file) else ""
        folders = [own, *self.folders] if match[1] else self.folders
        if word == "include_next" and self._depth:
            folders = self._following
        places = ((os.path.join(folder, name), folders[i:]) for i, folder in enumerate(folders, 1))
        path, following = next((one for one in places if os.path.isfile(one[0])), ("", []))
        if not path:
            raise self._refuse(line, f"{name}: No such file", name)
        is_known = path in self._once or (word == "import" and path in self.files)
        if word == "import":
            self._once.add(path)
        if is_known:
            return
        if self._depth == _DEEPEST:
            raise self._refuse(line, f"{name}: files include each other more than {_DEEPEST} deep", name)
        if path not in self.files:
            self.files.append(path)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
        except OSError as error:
            raise self._refuse(line, f"{name}: {error.strerror}", name) from None
        outer, self._following = self._following, following
        self._depth += 1
        self._process(text, path)
        self._depth -= 1
        self._following = outer

    # Conditions.

    def _evaluate(self, text: str, line: int) -> int:
        self._in_condition = True
        try:
            tokens = self.expand(_tokens(text, line))
        finally:
            self._in_condition = False
        try:
            return Expression([token.text for token in tokens if token.kind != "blank"]).read()
        except ValueError as error:
            shown = text if len(text) < 80 else f"{text[:76]}..."
            raise self._refuse(line, f"#if{shown}: {error}") from None

    def _defined(self, waiting: list[_Token], line: int) -> _Token:
        """1 if the name behind `defined` is that of a macro. Takes it from the end of `waiting`."""
        words: list[str] = []
        while waiting and len(words) < (3 if words[:1] == ["("] else 1):
            token = waiting.pop()
            words += [token.text] * (token.kind != "blank")
        name = words[1] if len(words) == 3 and words[2] == ")" else "".join(words)
        if not re.fullmatch(r"[^\W\d]\w*", name):
            raise self._refuse(line, "defined takes the name of a macro", "defined")
        return _Token("number", str(int(name in self.macros)), line, _NO_NAMES)
