"""The built-in kernels as SPIR-V, for Level Zero: csrc/kernels/generated/spirv.zip.

python csrc/kernels/tools/make_spirv.py            writes the modules
python csrc/kernels/tools/make_spirv.py --check    exit status 1 if a module is not what the sources give
python csrc/kernels/tools/make_spirv.py --digests  the same by digests (made_of.py), without a compiler
python csrc/kernels/tools/make_spirv.py fill       one module; --check fill

Writing and --check need clang and llvm-spirv of release 14 (Debian 12: clang-14, llvm-spirv-14), which give
the same bytes every time; other releases give others.

Casts have one module for each kind of number that a source is read as; the types are specialization
constants, and the driver's compiler keeps the one pair that is asked for. The text of these kernels is made
here, around the conversions of cast.cl.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import embed
import made_of

RELEASE = "14"
# Optimised for size: a third of the bytes that clang writes without its passes. The driver's compiler
# vectorises.
CLANG = ["clang-14", "-target", "spir64-unknown-unknown", "-x", "cl", "-cl-std=CL1.2", "-Os"]
CLANG += ["-fno-vectorize", "-fno-slp-vectorize", "-fdiscard-value-names"]
CLANG += ["-Xclang", "-finclude-default-header", "-ffp-contract=off", "-emit-llvm", "-c"]
TRANSLATE = ["llvm-spirv-14", "--spirv-max-version=1.1"]
# {module: (source, options)}; with fp64 and, where that makes a difference, without.
MODULES = {name: (name, []) for name in embed.plain_modules()}
MODULES["sequence_fp64"] = ("sequence", ["-DUSM_HAS_FP64"])
for variant, options in embed.VARIANTS.items():
    double = variant.endswith(("float64", "complex128"))
    MODULES[variant] = (variant.partition(".")[0], [*options, "-DUSM_HAS_FP64"] if double else options)

# In the order of usm_dtype (csrc/core/layout/dtype.h): the kind of number that each is read as.
NUMBERS = {
    "bool": "narrow",
    "int8": "narrow",
    "int16": "narrow",
    "int32": "integer",
    "int64": "integer",
    "uint8": "narrow",
    "uint16": "narrow",
    "uint32": "natural",
    "uint64": "natural",
    "float16": "single",
    "float32": "single",
    "float64": "twofold",
    "complex64": "single",
    "complex128": "twofold",
    "bfloat16": "single",
}
KINDS = {"narrow": "int", "integer": "long", "natural": "ulong", "single": "float", "twofold": "double"}
WIDE = {"float64", "complex128", "twofold"}
for kind in KINDS:
    MODULES |= {f"cast_{kind}": (f"cast_{kind}", [])} if kind not in WIDE else {}
    MODULES[f"cast_{kind}_fp64"] = (f"cast_{kind}", ["-DUSM_HAS_FP64"])


def guarded(name, lines):
    """What needs fp64 is left out without it."""
    return ["#ifdef USM_HAS_FP64", *lines, "#endif"] if name in WIDE else lines


def expression(target, kind):
    """A number of this kind, re and im, as the target; by the macros of cast.cl."""
    if target == "bool":
        return f"(usm_mem_bool)(USM_IS_{kind}(re) || USM_IS_{kind}(im))"
    if target == "float16":
        return f"USM_HALF_{kind}(re)"
    if target == "bfloat16":
        return f"USM_BFLOAT_{kind}(re)"
    if "int" in target:
        exact = kind in ("narrow", "integer", "natural")
        return f"(usm_mem_{target})(re)" if exact else f"usm_saturate_{target}_{kind}(re)"
    return f"(usm_mem_{target})(re)"


def converter(target, kind):
    type_ = KINDS[kind]
    lines = []
    if "int" in target and kind in ("single", "twofold"):
        lines += [f"#define usm_target usm_mem_{target}"]
        lines += [f"#define usm_saturate usm_saturate_{target}_{kind}"]
        lines += [f"USM_SATURATE({type_})", "#undef usm_target", "#undef usm_saturate"]
    head = f"static usm_mem_{target} usm_{target}_of_{kind}({type_} re, {type_} im)"
    if target.startswith("complex"):
        lines += [f"{head} {{ usm_mem_{target} r; r.re = re; r.im = im; return r; }}"]
    else:
        lines += [f"{head} {{ return {expression(target, kind)}; }}"]
    return guarded(target, lines)


def reader(source):
    """An element of memory, aligned or not."""
    return guarded(
        source,
        [
            f"static usm_mem_{source} usm_read_{source}(global const char *from, uint unaligned)",
            "{",
            f"    usm_mem_{source} m;",
            "    if (unaligned) {",
            "        for (int i = 0; i < (int)sizeof m; i++) ((char *)&m)[i] = from[i];",
            "    } else {",
            f"        m = *(global const usm_mem_{source} *)from;",
            "    }",
            "    return m;",
            "}",
        ],
    )


def writer(target):
    return guarded(
        target,
        [
            f"static void usm_write_{target}(global char *to, usm_mem_{target} m, uint unaligned)",
            "{",
            "    if (unaligned) {",
            "        for (int i = 0; i < (int)sizeof m; i++) to[i] = ((char *)&m)[i];",
            "    } else {",
            f"        *(global usm_mem_{target} *)to = m;",
            "    }",
            "}",
        ],
    )


def element(kind):
    """One element: read as a number of the source's kind, converted, written."""
    type_ = KINDS[kind]
    lines = ["static void usm_element(global char *to, global const char *from, usm_types types)", "{"]
    lines += [f"    {type_} re = 0, im = 0;", "    switch (types.src) {"]
    for i, (source, own) in enumerate(NUMBERS.items()):
        case = [
            f"        case {i}: {{",
            f"            usm_mem_{source} m = usm_read_{source}(from, types.unaligned);",
            f"            re = USM_RE_{source}(m);",
            f"            im = USM_IM_{source}(m);",
            "            break;",
            "        }",
        ]
        lines += guarded(source, case) if own == kind else []
    lines += ["    }", "    switch (types.dst) {"]
    for i, target in enumerate(NUMBERS):
        case = [
            f"        case {i}:",
            f"            usm_write_{target}(to, usm_{target}_of_{kind}(re, im), types.unaligned);",
            "            break;",
        ]
        lines += guarded(target, case)
    return [*lines, "    }", "}"]


# The numbers are those of csrc/core/builtin/builtin_source.c.
KERNEL = """
uint __attribute__((overloadable, const)) __spirv_SpecConstant(uint id, uint value);
#define USM_TYPES                                                                     \\
    usm_types types = {__spirv_SpecConstant(0, 0), __spirv_SpecConstant(1, 0), \\
                       __spirv_SpecConstant(2, 1), __spirv_SpecConstant(3, 1), __spirv_SpecConstant(4, 0)};
"""


def cast_source(kind):
    """cast.cl without its one pair of types, and a kernel for all sources of a kind."""
    text = embed.kernel_sources()["cast"]
    head, middle = text.split("typedef USM_JOIN(usm_mem_, USM_SRC) usm_source;", 1)
    middle = middle.split("usm_target;", 1)[1]
    middle, _ = middle.split("/* The function usm_convert, by the target. */", 1)
    lines = ["typedef struct usm_types { uint src, dst, src_size, dst_size, unaligned; } usm_types;"]
    for name, own in NUMBERS.items():
        lines += [*converter(name, kind), *writer(name), *(reader(name) if own == kind else [])]
    lines += element(kind)
    walk = text[text.index("#define USM_STRIDED_KERNEL") :].split("\n\n", 1)[0]
    changes = {
        "#define USM_STRIDED_KERNEL": "#define USM_WALK",
        "long n0 =": "USM_TYPES long n0 =",
        "STORE(to + i0 * (long)dst_size, LOAD(from + i0 * (long)src_size))": (
            "STORE(to + i0 * (long)dst_size, from + i0 * (long)src_size, types)"
        ),
        "STORE(to + i0 * dst_step, LOAD(from + i0 * src_step))": (
            "STORE(to + i0 * dst_step, from + i0 * src_step, types)"
        ),
    }
    for old, new in changes.items():
        assert walk.count(old) == 1, f"axes.h has another walk: {old}"
        walk = walk.replace(old, new)
    call = "USM_WALK(usm_cast, types.dst_size, types.src_size, , usm_element)"
    return "\n".join([head, middle, *lines, KERNEL, walk, call, ""])


def release(command):
    try:
        text = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    except OSError:
        return ""
    words = text.replace("LLVM version", "version").partition("version ")[2].split(".")
    return words[0] if words else ""


def text_of(name):
    source = MODULES[name][0]
    cast = source.startswith("cast_")
    return cast_source(source[len("cast_") :]) if cast else embed.kernel_sources()[source]


def make(names):
    """{name of the file: bytes}"""
    if not release("clang-14") == release("llvm-spirv-14") == RELEASE:
        raise made_of.MissingCompiler(
            f"clang-14 and llvm-spirv-14 are needed, of version {RELEASE}; --digests needs none"
        )
    with tempfile.TemporaryDirectory() as scratch:
        return {f"{name}.spv": compile(name, Path(scratch)) for name in names}


def compile(name, folder):
    source, options = MODULES[name]
    file, bitcode, module = (folder / f"{source}{suffix}" for suffix in (".cl", ".bc", ".spv"))
    file.write_text(text_of(name), encoding="utf-8")
    subprocess.run([*CLANG, *options, file.name, "-o", bitcode.name], check=True, cwd=folder)
    subprocess.run([*TRANSLATE, bitcode.name, "-o", module.name], check=True, cwd=folder)
    return module.read_bytes()


def inputs():
    """What each file is made of, by its name."""
    return {
        f"{name}.spv": [*CLANG, *options, *TRANSLATE, text_of(name)] for name, (_, options) in MODULES.items()
    }


def main(arguments):
    names = [name for name in arguments if not name.startswith("--")] or list(MODULES)
    return made_of.main("spirv", inputs(), lambda: make(names), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
