"""Writes the built-in kernels as PTX, for CUDA: csrc/kernels/generated/ptx.zip. Builds have no compiler.

python csrc/kernels/tools/make_ptx.py            writes them, with libnvrtc of the version below
python csrc/kernels/tools/make_ptx.py --check    says which ones are not what the sources make today
python csrc/kernels/tools/make_ptx.py --digests  the same by digests (made_of.py), without libnvrtc

The target is an old one: drivers take it for every later device. strided, fill and sequence are modules of
their own. A module for a cast is put together when it is first needed (csrc/core/builtin/builtin_source.c):
head.ptx, a piece of cast_elements.ptx that converts one element, and cast.ptx, which walks over the axes.
"""

import collections
import ctypes
import glob
import os
import re
import sys

import embed
import made_of

VERSION = (12, 4)
TARGET = "compute_52"
OPTIONS = [
    "--gpu-architecture=" + TARGET,
    "--std=c++17",
    "--fmad=false",
    "-default-device",
    "--disable-warnings",
]

PRELUDE = """
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define kernel extern "C" __global__
#define USM_HAS_FP64 1
static inline ulong get_global_id(int d)
{
    return d == 0   ? (ulong)blockIdx.x * blockDim.x + threadIdx.x
           : d == 1 ? (ulong)blockIdx.y * blockDim.y + threadIdx.y
                    : (ulong)blockIdx.z * blockDim.z + threadIdx.z;
}
static inline ulong get_global_size(int d)
{
    return d == 0 ? (ulong)gridDim.x * blockDim.x : d == 1 ? (ulong)gridDim.y * blockDim.y
                                                           : (ulong)gridDim.z * blockDim.z;
}
static inline ulong get_local_id(int) { return threadIdx.x; }
static inline ulong get_group_id(int) { return blockIdx.x; }
static inline ulong get_num_groups(int) { return gridDim.x; }
#define local __shared__
#define barrier(memory) __syncthreads()
static inline uint atomic_inc(uint *at) { return atomicAdd(at, 1); }
static inline float as_float(uint x) { return __uint_as_float(x); }
static inline uint as_uint(float x) { return __float_as_uint(x); }
#define INFINITY __int_as_float(0x7f800000)
static inline ulong clz(ulong x) { return __clzll(x); }
"""

# In the names of usm_dtype_table, below USM_COMPUTED_DTYPES.
TYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
]
TYPES += ["float64", "bfloat16", "complex64", "complex128"]

CASTS = [f"cast {dst} {src}" for dst in TYPES for src in TYPES if dst != src]
FILES = [*embed.plain_modules(), *embed.VARIANTS, "head", "cast", "cast_elements"]

ELEMENT = """
extern "C" __constant__ const uint usm_dst_size = sizeof(usm_target), usm_src_size = sizeof(usm_source);
extern "C" __noinline__ void usm_element(char *to, const char *from)
{
    *(usm_target *)to = usm_convert(*(const usm_source *)from);
}
"""

# Elements that are not aligned go by way of memory that is.
WALK = """
extern "C" void usm_element(char *to, const char *from);
extern "C" __constant__ const uint usm_dst_size, usm_src_size;
static void usm_move(char *to, const char *from)
{
    ulong out[2], in[2];
    for (uint i = 0; i < usm_src_size; i++) {
        ((char *)in)[i] = from[i];
    }
    usm_element((char *)out, (const char *)in);
    for (uint i = 0; i < usm_dst_size; i++) {
        to[i] = ((char *)out)[i];
    }
}
#define FROM(p) (p)
USM_STRIDED_KERNEL(usm_cast, -1, -1, FROM, usm_element)
USM_STRIDED_KERNEL(usm_cast_unaligned, -1, -1, FROM, usm_move)
"""


REGISTER = re.compile(r"(%p|%rs|%rd|%r|%fd|%f)([1-9]\d*)(?!\w)")
# The registers that an instruction writes: the first operand, unless that is an address. An instruction under
# a predicate may write nothing.
WRITTEN = re.compile(r"\t(?!(?:st|red|bra|bar|call|ret)\b)[a-z][\w.]* (\{[^}]*\}|[^,\[]*)")


def candidates():
    """Where libnvrtc may be, the one that is asked for first."""
    if own := os.environ.get("USMPY_NVRTC_LIBRARY"):
        yield own
    for folder in sys.path:
        yield from sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libnvrtc.so.12")))
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    yield from (f"{home}/lib64/libnvrtc.so.12", "libnvrtc.so.12")


def find_compiler():
    """libnvrtc of VERSION; None where it is not installed."""
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        if (major.value, minor.value) == VERSION:
            return library
    return None


def compile(nvrtc, source, *options):
    """PTX, without the comments."""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), (PRELUDE + source).encode(), b"kernels", 0, None, None)
    words = [word.encode() for word in (*OPTIONS, *options)]
    code = nvrtc.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
    size = ctypes.c_size_t()
    get = (nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
    if code == 0:
        get = (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    get[0](program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value + 1)
    get[1](program, text)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    said = text.value.decode()
    if code != 0:
        raise SystemExit(said)
    return tidied(said)


def tidied(ptx):
    """Without comments, with short names, and few registers (renumbered)."""
    ptx = re.sub(r"[ \t]*//.*", "", ptx)
    ptx = re.sub(r"(?<=\S)[ \t]+", " ", re.sub(r"[ \t]+$", "", ptx, flags=re.M))
    ptx = re.sub(r"\n{2,}", "\n", ptx).lstrip("\n").replace("$L__BB", "$L")
    ptx = re.sub(r"\b\w+_param_(\d+)\b", r"a\1", ptx)
    for i, name in enumerate(dict.fromkeys(re.findall(r"\b_Z\w+", ptx))):
        ptx = re.sub(rf"\b{name}\b", f"usm_own_{i}", ptx)
    return "".join(map(renumbered, re.split(r"(?<=\n)(?={)", ptx)))


def renumbered(function):
    """The same function with other numbers of registers and labels, which halves what compression leaves.

    A register is local if an instruction writes it first and all others that name it follow before the next
    label. After the last of these its number is free for another one. What drivers compile does not change by
    that: they begin with a register for each value.
    """
    labels = {}
    function = re.sub(r"(?<=\$L)\d+_\d+", lambda m: str(labels.setdefault(m[0], len(labels) + 1)), function)
    # Assembler text of NVIDIA's headers, in a block of its own, declares %r0 to %r3, which hide others.
    function = re.sub(
        r"\.reg \.u32 %r0,.*?\n\t}", lambda m: re.sub(r"%r(?=[0-3]\b)", "%q", m[0]), function, flags=re.S
    )
    lines = function.splitlines(keepends=True)
    named = [REGISTER.findall(line) if not line.startswith("\t.reg") else [] for line in lines]
    block, blocks, last = 0, {}, {}  # blocks: behind which label a register is local, or None
    for i, line in enumerate(lines):
        block += line.startswith("$L")
        written = REGISTER.findall(match[1]) if (match := WRITTEN.match(line)) else []
        for register in named[i]:
            if blocks.setdefault(register, block if register in written else None) != block:
                blocks[register] = None
            last[register] = i
    counts, numbers, free = collections.Counter(), {}, collections.defaultdict(list)

    def add(kind):
        counts[kind] += 1
        return counts[kind]

    numbers |= {register: add(register[0]) for register in blocks if blocks[register] is None}
    for i, registers in enumerate(named):
        for register in registers:
            if register not in numbers:
                unused = free[register[0]]
                numbers[register] = min(unused) if unused else add(register[0])
                free[register[0]] = [number for number in unused if number != numbers[register]]
        for register in set(registers):
            if blocks[register] is not None and last[register] == i:
                free[register[0]].append(numbers[register])
        if registers:
            lines[i] = REGISTER.sub(lambda m: f"{m[1]}{numbers[m.groups()]}", lines[i])
    return re.sub(
        r"(?<=\t)(\.reg \.\w+ (%\w+))<\d+>", lambda m: f"{m[1]}<{counts[m[2]] + 1}>", "".join(lines)
    )


def without_spaces(name):
    """The source without the names of address spaces, which the compiler's own headers use."""
    return re.sub(r"\bglobal\b ?", "", embed.kernel_sources()[name])


def split_head(ptx):
    """(the lines that a module begins with, the others)"""
    lines = ptx.splitlines(keepends=True)
    head = [line for line in lines if line.startswith((".version", ".target", ".address_size"))]
    return "".join(head), "".join(line for line in lines if line not in head)


def element(nvrtc, dst, src, text):
    source = f"#define USM_DST {dst}\n#define USM_SRC {src}\n{text}"
    _, rest = split_head(compile(nvrtc, source, "-rdc=true"))
    function = re.search(r"\.visible \.func usm_element.*?\n}\n", rest, re.S)
    sizes = re.findall(r"^\.visible (\.const .*usm_(?:dst|src)_size.*\n)", rest, re.M)
    assert function is not None, rest
    assert "call" not in function[0], function[0]
    assert len(sizes) == 2, rest
    return "".join(sizes) + function[0].removeprefix(".visible ")


def sources():
    """The text and the options of each file, by its name; the elements of casts have one for all pairs."""
    found = {name: [without_spaces(name)] for name in embed.plain_modules()}
    for variant, options in embed.VARIANTS.items():
        found[variant] = [without_spaces(variant.partition(".")[0]), *options]
    axes = "\n".join(embed.expand(embed.SOURCES / "axes.h", set())) + "\n"
    found["head"] = found["cast"] = [re.sub(r"\bglobal\b ?", "", axes) + WALK, "-rdc=true"]
    found["cast_elements"] = [without_spaces("cast") + ELEMENT, "-rdc=true", *TYPES]
    return found


def inputs():
    """What each file is made of, by its name."""
    common = ["{}.{}".format(*VERSION), *OPTIONS, PRELUDE]
    return {f"{name}.ptx": [*common, *own] for name, own in sources().items()}


def make():
    """{name of the file: bytes}"""
    nvrtc = find_compiler()
    if nvrtc is None:
        version = "{}.{}".format(*VERSION)
        raise made_of.MissingCompiler(
            f"libnvrtc {version} is not installed: pip install nvidia-cuda-nvrtc-cu12=={version}.*"
        )
    found = sources()
    text, *_ = found.pop("cast_elements")
    del found["head"]
    files = {name: compile(nvrtc, *own) for name, own in found.items()}
    files["head"], walk = split_head(files["cast"])
    files["cast"] = re.sub(r"^\.extern [^{}]*?;\n", "", walk, flags=re.M)
    pieces = (f"// {name}\n{element(nvrtc, *name.split()[1:], text)}" for name in CASTS)
    files["cast_elements"] = "".join(pieces)
    return {f"{name}.ptx": text.encode() for name, text in files.items()}


if __name__ == "__main__":
    sys.exit(made_of.main("ptx", inputs(), make, sys.argv[1:]))
