"""The tokens of C programs: matching brackets, functions at file scope, and replacement texts."""

from __future__ import annotations

import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .parser import Tree


class Refused(Exception):
    """The source is not in its language."""

    def __init__(self, message: str, file: str, line: int, word: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.word = word

    def describe(self, source: str, name: str) -> tuple[str, str]:
        """(place and message, log), in the form of compilers.

        source: the user's own text, whose file is called `name`.
        """
        lines = source.split("\n")
        place, shown = f"{self.file or name}:{self.line}:", ""
        if self.file == name and 0 < self.line <= len(lines):
            line = lines[self.line - 1].expandtabs(1).rstrip("\r")
            shown = f"{self.line:>5} | {line}\n"
            found = re.search(rf"(?<!\w){re.escape(self.word)}(?!\w)", line) if self.word else None
            if found:
                place += f"{found.start() + 1}:"
                shown += f"      | {' ' * found.start()}^\n"
        message = f"{place} error: {self.message}"
        return message, f"{message}\n{shown}"


TOKEN = re.compile(
    r"""(?P<blank>[ \t\f\v\r]+|\n)
    |(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
    |(?P<char>[uUL]?'(?:[^'\\\n]|\\.)*')
    |(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
    |(?P<name>[^\W\d]\w*|\$\w*)
    |(?P<sign>%:%:|%:|<:|:>|<%|%>|&&|\|\||<<=|>>=|[-+*/%&|^=!<>]=|\+\+|--|->|<<|>>|\.\.\.|.)""",
    re.X | re.S,
)
DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}", "%:": "#", "%:%:": "##"}
LINE_MARKER = re.compile(r'#\s*(?:line\s+)?([0-9]{1,9})\s+"((?:[^"\\]|\\.)*)"((?:\s+\d+)*)')
# Tokens of kind "end" after the last one: no code looks further ahead.
_LOOK_AHEAD = 4
MOST_BRACKETS = 250  # in one another; clang has 256


class Token(NamedTuple):
    kind: str
    text: str
    file: str
    line: int
    system: bool  # from a header of the system


def tokenize(text: str) -> list[Token]:
    """All of the text of a preprocessed file. A line that begins with # is one token."""
    tokens: list[Token] = []
    file, line, system = "", 1, False
    at, end, start_of_line = 0, len(text), True
    match = TOKEN.match
    while at < end:
        if start_of_line:
            stop = text.find("\n", at)
            stop = end if stop < 0 else stop
            if text[at:stop].lstrip().startswith("#"):
                directive = text[at:stop]
                tokens.append(Token("directive", directive, file, line, system))
                if marker := LINE_MARKER.match(directive.lstrip()):
                    line = int(marker[1]) - 1  # the newline that follows makes it right
                    file = re.sub(r"\\(.)", r"\1", marker[2])
                    system = "3" in marker[3].split()
                at, start_of_line = stop, False
                continue
        found = match(text, at)
        assert found is not None
        assert found.lastgroup is not None
        piece = found[0]
        tokens.append(Token(found.lastgroup, DIGRAPHS.get(piece, piece), file, line, system))
        if piece == "\n":
            line += 1
        else:
            line += piece.count("\n")
        start_of_line = piece == "\n"
        at = found.end()
    return tokens


# Words that may stand before a parenthesis without being the name of a function.
NO_NAMES = frozenset(
    [
        *("if", "for", "while", "switch", "return", "sizeof", "do", "else", "case", "default", "goto"),
        *("void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool"),
        *("struct", "union", "enum", "typedef", "const"),
        *("volatile", "static", "extern", "inline", "typeof", "__typeof__", "__attribute__", "_Alignas"),
        *("_Static_assert", "__extension__", "asm", "__asm__"),
    ]
)


class Function(NamedTuple):
    name: str
    start: int  # of the declaration
    named: int
    opened: int  # the parameters' parenthesis
    closed: int
    body: int  # its brace; -1: a prototype
    end: int
    kernel: bool


KERNEL = ("kernel", "__kernel")


class Source:
    """The tokens of a program without blanks, and the text that is written for each.

    A few tokens of kind "end", which have no text, follow the last one.
    """

    def __init__(self, text: str) -> None:
        self.all = tokenize(text)
        last = self.all[-1] if self.all else Token("end", "", "", 1, False)
        self.all += [last._replace(kind="end", text="")] * _LOOK_AHEAD
        self.index = [i for i, token in enumerate(self.all) if token.kind not in ("blank", "directive")]
        self.tokens = [self.all[i] for i in self.index]
        self.text = [token.text for token in self.tokens]
        self.out = [token.text for token in self.all]
        self.match = self._match()
        self.tree: Tree | None = None  # once portable_words.py has read it

    def _match(self) -> dict[int, int]:
        """The index of the closing bracket for each opening one."""
        closing = {"(": ")", "[": "]", "{": "}"}
        stack: list[int] = []
        match: dict[int, int] = {}
        for i, text in enumerate(self.text):
            if text in closing:
                stack.append(i)
                if len(stack) > MOST_BRACKETS:
                    raise self.refuse(i, f"brackets are nested more than {MOST_BRACKETS} deep")
            elif text in (")", "]", "}"):
                if not stack or closing[self.text[stack[-1]]] != text:
                    raise self.refuse(i, f"'{text}' closes nothing")
                match[stack.pop()] = i
        if stack:
            raise self.refuse(stack[-1], f"'{self.text[stack[-1]]}' is not closed")
        return match

    def refuse(self, i: int, message: str) -> Refused:
        token = self.tokens[i]
        return Refused(message, token.file, token.line, token.text)

    def replace(self, i: int, text: str) -> None:
        self.out[self.index[i]] = text

    def prefix(self, i: int, text: str) -> None:
        self.out[self.index[i]] = text + self.out[self.index[i]]

    def suffix(self, i: int, text: str) -> None:
        self.out[self.index[i]] += text

    def erase(self, first: int, last: int) -> None:
        """Writes a blank for each token; newlines between them stay."""
        for i in range(first, last + 1):
            self.replace(i, " ")

    def skip(self, i: int) -> int:
        return self.match.get(i, i) + 1

    def attribute(self, i: int) -> int:
        """The index after an attribute that begins here; i if there is none."""
        if self.text[i] in ("__attribute__", "__attribute") and i + 1 in self.match:
            return self.skip(i + 1)
        return i

    def functions(self) -> list[Function]:
        """All functions that are defined or declared at file scope."""
        found = []
        i, n = 0, len(self.text)
        while i < n:
            start, named, opened = i, -1, -1
            while i < n:
                text = self.text[i]
                if (behind := self.attribute(i)) != i:
                    i = behind
                elif text == ";":
                    break
                elif text == "=":
                    while i < n and self.text[i] != ";":
                        i = self.skip(i)
                    opened = -1
                    break
                elif text == "{":
                    if opened >= 0:
                        break
                    i = self.skip(i)
                elif text == "(":
                    before = self.tokens[i - 1] if i > start else None
                    if opened < 0 and before and before.kind == "name" and before.text not in NO_NAMES:
                        named, opened = i - 1, i
                    i = self.skip(i)
                else:
                    i += 1
            if opened >= 0 and i < n:
                body = i if self.text[i] == "{" else -1
                end = self.match[i] if body >= 0 else i
                kernel = any(self.text[j] in KERNEL for j in range(start, opened))
                found.append(
                    Function(self.text[named], start, named, opened, self.match[opened], body, end, kernel)
                )
                i = end
            i += 1
        return found

    def split(self, first: int, last: int) -> list[tuple[int, int]]:
        """The parts of [first, last) between commas."""
        pieces, start, i = [], first, first
        while i < last:
            if self.text[i] == ",":
                pieces.append((start, i))
                start = i + 1
            i = self.skip(i)
        pieces.append((start, last))
        return [piece for piece in pieces if piece[0] < piece[1]]


def join(words: list[str]) -> str:
    """The words of a type with usual spacing: const float *."""
    text = ""
    for word in words:
        tight = not text or text[-1] in "(*[" or word in (")", "]", ",", "[")
        text += word if tight else " " + word
    return text
