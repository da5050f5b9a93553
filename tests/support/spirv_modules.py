"""SPIR-V modules for tests, written word by word: no compiler is needed, and nothing else is in them."""

from __future__ import annotations

import itertools
import struct


def instruction(opcode, *operands):
    words = list(itertools.chain.from_iterable(o if isinstance(o, list) else [o] for o in operands))
    return [len(words) + 1 << 16 | opcode, *words]


def text(string):
    data = string.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def _assemble(bound, body):
    header = [0x07230203, 0x00010000, 0, bound, 0]
    return struct.pack(f"<{len(header) + len(body)}I", *header, *body)


def add(constants=False):
    """
    kernel void add(global int *x, int n): x[get_global_id(0)] += n, in 64-bit physical addresses.

    With constants, that many more: 10 (int, SpecId 3), 200 (long, 4), 3000 (float, 5), 40000 (bool, 6).
    """
    void, uint, ulong, vector, pointer, of_input, function, identifier, main, x, n, label = range(1, 13)
    ids, i, place, old, new = range(13, 18)
    real, truth, narrow, wide, fraction, flag, forty, zero = range(18, 26)
    wide_narrow, fraction_narrow, chosen, sum_1, sum_2, sum_3, sum_4 = range(26, 33)
    added = sum_4 if constants else n
    decorations = [
        word
        for id_, spec in ((narrow, 3), (wide, 4), (fraction, 5), (flag, 6))
        for word in instruction(71, id_, 1, spec)
    ]
    values = [
        *instruction(22, real, 32),
        *instruction(20, truth),
        *instruction(50, uint, narrow, 10),
        *instruction(50, ulong, wide, 200, 0),
        *instruction(50, real, fraction, struct.unpack("<I", struct.pack("<f", 3000))[0]),
        *instruction(48, truth, flag),  # OpSpecConstantTrue
        *instruction(43, uint, forty, 40000),
        *instruction(43, uint, zero, 0),
    ]
    sums = [
        *instruction(113, uint, wide_narrow, wide),  # OpUConvert
        *instruction(109, uint, fraction_narrow, fraction),  # OpConvertFToU
        *instruction(169, uint, chosen, flag, forty, zero),  # OpSelect
        *instruction(128, uint, sum_1, n, narrow),
        *instruction(128, uint, sum_2, sum_1, wide_narrow),
        *instruction(128, uint, sum_3, sum_2, fraction_narrow),
        *instruction(128, uint, sum_4, sum_3, chosen),
    ]
    body = [
        *instruction(17, 4),  # OpCapability Addresses
        *instruction(17, 5),  # Linkage, for the decoration Import
        *instruction(17, 6),  # Kernel
        *instruction(17, 11),  # Int64
        *instruction(14, 2, 2),  # OpMemoryModel Physical64 OpenCL
        *instruction(15, 6, main, text("add"), identifier),  # OpEntryPoint Kernel
        *instruction(71, identifier, 11, 28),  # OpDecorate BuiltIn GlobalInvocationId
        *instruction(71, identifier, 22),  # Constant
        *instruction(71, identifier, 41, text("__spirv_BuiltInGlobalInvocationId"), 1),  # Import
        *(decorations if constants else []),
        *instruction(19, void),
        *instruction(21, uint, 32, 0),
        *instruction(21, ulong, 64, 0),
        *instruction(23, vector, ulong, 3),
        *instruction(32, pointer, 5, uint),  # CrossWorkgroup
        *instruction(32, of_input, 1, vector),  # Input
        *instruction(33, function, void, pointer, uint),
        *(values if constants else []),
        *instruction(59, of_input, identifier, 1),  # OpVariable
        *instruction(54, void, main, 0, function),  # OpFunction
        *instruction(55, pointer, x),
        *instruction(55, uint, n),
        *instruction(248, label),
        *instruction(61, vector, ids, identifier, 2, 32),  # OpLoad Aligned
        *instruction(81, ulong, i, ids, 0),  # OpCompositeExtract
        *instruction(70, pointer, place, x, i),  # OpInBoundsPtrAccessChain
        *instruction(61, uint, old, place, 2, 4),
        *(sums if constants else []),
        *instruction(128, uint, new, old, added),  # OpIAdd
        *instruction(62, place, new, 2, 4),  # OpStore
        *instruction(253),
        *instruction(56),
    ]
    return _assemble(33 if constants else 18, body)
