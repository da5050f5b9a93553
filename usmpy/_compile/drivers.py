"""Builds of Program with a driver's compiler: keys, sources and errors. csrc/py/programs/build.c calls these.

`driver` is the language that the driver takes sources in, by the name that Program has for it. Modules are
imported when a build needs them: loading a kept build takes less time than importing a translator.
"""

from __future__ import annotations

import re

from ..errors import BuildError
from . import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Device

# Words in a compiler's log that suggest a missing aspect of the device, by this aspect.
_ASPECT_WORDS = {"fp64": ("double", "fp64", "Float64", "complex128"), "fp16": ("half", "fp16", "Float16")}


# Options by which portable programs give the same bits (docs/numerics.md). CUDA and the host round correctly
# by default.
_ROUNDED = {
    "opencl": "-cl-fp32-correctly-rounded-divide-sqrt",
    "spirv": "-ze-fp32-correctly-rounded-divide-sqrt",
}
_FAST = ("-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations")


def _rounding(driver: str, device: Device, language: str, options: str) -> str:
    """The option of the driver for correctly rounded float32 division and square root, or ""."""
    has = "correctly_rounded_divide_sqrt" in device.single_fp_config
    asked = language == "portable" and not any(word in options for word in _FAST)
    return _ROUNDED.get(driver, "") if has and asked else ""


def key(driver: str, device: Device, source: str, language: str, options: str, check: bool) -> str:
    """The key of a kept build: all that the result depends on."""
    more = b""
    if driver == "cuda" and language != "ptx":
        from . import cuda_key

        more = cuda_key.identify(source, options)
    elif driver == "spirv":
        from . import spirv

        more = spirv.identify(source, options)
    elif driver == "opencl":
        from . import included

        more = included.identify(source, options)
    place = (device.backend, device.name, device.vendor, device.driver_version, "checked" * check)
    return cache.key(*place, _rounding(driver, device, language, options), options, language, source, more)


def load_builtin(_: bytes, *parts: bytes | str) -> bytes | None:
    """The binary of a built-in program that an earlier process built; parts: all that it depends on."""
    return cache.load(cache.key("builtin", *parts), ".bin")


def keep_builtin(binary: bytes, *parts: bytes | str) -> None:
    """Stores the binary of a built-in program."""
    cache.store(cache.key("builtin", *parts), ".bin", binary)


def prepare(
    driver: str, device: Device, source: str, language: str, options: str, check: bool
) -> tuple[str, str | bytes, str]:
    """The language, the program and the options that the driver gets; for the host, the path of a library.

    Raises BuildError if the source is wrong, BackendUnavailable if a translator is missing.
    """
    try:
        return _translate(driver, device, source, language, options, check)
    except BuildError as error:
        from .kernel_hints import explain

        explain(error, source, language)
        raise


def _translate(
    driver: str, device: Device, source: str, language: str, options: str, checked: bool
) -> tuple[str, str | bytes, str]:
    if driver == "c":
        from . import compiler

        return driver, compiler.program(source, language, options, checked), ""
    if driver == "cuda" and language != "ptx":
        from . import cuda

        return language, *cuda.prepare(source, language, options, checked)
    if language == "portable":
        # OpenCL C has more features. Those that other backends refuse are refused here, too.
        from .portable_check import check, for_driver

        check(source, options, device.backend)
        source = "".join(for_driver(source, options, device, checked))
    if driver == "spirv":
        from . import spirv

        module = spirv.prepare(source, language, options, device.has_fp16, device.has_fp64)
        return driver, module, _rounding(driver, device, language, options)
    return language, source, f"{_rounding(driver, device, language, options)} {options}".strip()


def _of_program(log: str, front: int) -> str:
    """The log of NVIDIA's compiler, which ignores #line, with the program's lines. front: those before."""
    number = re.compile(r"<kernel>:(\d+)")
    return number.sub(lambda at: f"<kernel>:{n}" if (n := int(at[1]) - front) > 0 else "<front>", log)


def failure(
    text: str,
    log: bytes | None,
    code: int,
    name: str,
    device: Device,
    program: tuple[str, str, str, int] | None,
) -> BuildError:
    """The error of a compiler, with its log, and hints. program: source, language, options, check."""
    output = (log or b"").decode("utf-8", "replace")
    if program is not None and program[1] == "portable" and "NVIDIA" in device.vendor:
        from .portable_check import for_driver

        head, rest = for_driver(program[0], program[2], device, bool(program[3]))
        if program[3]:
            head += rest.partition('# 1 "<source>"\n')[0] + "\n"
        output = _of_program(output, head.count("\n"))
    for aspect, words in _ASPECT_WORDS.items():
        if aspect not in device.aspects and any(word in output for word in words):
            text += f"; the device has no aspect {aspect} (Device.has_{aspect})"
            break
    message = f"{text}\n{output}" if output else text
    error = BuildError(message, backend=device.backend, code=code, name=name or None, log=output)
    if program is not None:
        from .kernel_hints import explain

        explain(error, program[0], program[1])
    return error
