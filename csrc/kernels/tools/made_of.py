"""The stored kernels, generated/FORM.zip, and their digests: what make_ptx.py and make_spirv.py share.

made_of.txt in each zip has digests for each file, of what it was made of, and of the file. With --digests the
scripts compare them with the sources and the files, which needs no compiler: a source that has changed since,
a file that is missing, and a file of no source are stale.
"""

import hashlib
import zipfile

import embed


class MissingCompiler(Exception):
    """Says which one."""


def _line(name, inputs, files):
    """The name alone where there is no file."""
    parts = ("\0".join(inputs).encode(), files[name]) if name in files else ()
    return " ".join([name, *(hashlib.sha256(part).hexdigest() for part in parts)])


def write(form, inputs, files):
    """`inputs` has for each file the texts that it was made of. The same files give the same zip."""
    lines = (_line(name, texts, files) for name, texts in inputs.items())
    made = {name: files[name] for name in inputs if name in files}
    made["made_of.txt"] = "".join(f"{line}\n" for line in lines).encode()
    with zipfile.ZipFile(embed.GENERATED / f"{form}.zip", "w") as archive:
        for name in sorted(made):
            member = zipfile.ZipInfo(name)  # of 1980-01-01
            member.create_system, member.external_attr = 3, 0o644 << 16  # Unix
            archive.writestr(member, made[name], zipfile.ZIP_DEFLATED, 9)


def stale(inputs, files):
    """The names of files that are not what the digests say."""
    lines = files.get("made_of.txt", b"").decode().splitlines()
    return [
        *(name for name, texts in inputs.items() if _line(name, texts, files) not in lines),
        *sorted(files.keys() - {"made_of.txt", *inputs}),
    ]


def main(form, inputs, make, options):
    """The exit status. `make` gives {name: bytes} of all files or some, or raises MissingCompiler."""
    files = embed.stored(form)
    if "--digests" in options:
        wrong = stale(inputs, files)
    else:
        try:
            made = make()
        except MissingCompiler as reason:
            print(reason)
            return 77
        if "--check" not in options:
            write(form, inputs, {**files, **made})
            return 0
        wrong = [name for name in made if files.get(name) != made[name]]
    for name in wrong:
        print(f"{name} is not what the sources give: run python csrc/kernels/tools/make.py")
    return 1 if wrong else 0
