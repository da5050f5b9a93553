"""The digests of generated/*/made_of.txt: for each stored kernel, of what it was made of, and of the file.

make_ptx.py and make_spirv.py write them. With --digests these compare them with the sources and the files,
which needs no compiler: a source that has changed since, a file that is missing, and a file of no source are
stale.
"""

import hashlib


def _line(path, inputs):
    """The name alone where there is no file."""
    parts = ("\0".join(inputs).encode(), path.read_bytes()) if path.is_file() else ()
    return " ".join([path.name, *(hashlib.sha256(part).hexdigest() for part in parts)])


def write(folder, inputs):
    """`inputs` has for the name of each file the texts that it was made of."""
    lines = (_line(folder / name, texts) for name, texts in inputs.items())
    (folder / "made_of.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def stale(folder, inputs):
    """The names of files that are not what the digests say."""
    lines = (folder / "made_of.txt").read_text(encoding="utf-8").splitlines()
    others = {path.name for path in folder.iterdir()} - {"made_of.txt", *inputs}
    return [
        *(name for name, texts in inputs.items() if _line(folder / name, texts) not in lines),
        *sorted(others),
    ]
