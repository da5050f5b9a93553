"""Programs that a grammar makes: the host and every OpenCL driver build them, and give the same bits."""

import numpy as np
import pytest
from fuzz_settings import examples
from hypothesis import given
from hypothesis import strategies as st

import usmpy

N, GROUP = 32, 8
BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"
LEAVES = [
    "a",
    "b",
    "i",
    "l",
    "x[i]",
    "x[(i * 7 + 3) % 32]",
    "tmp[l]",
    "tmp[7 - l]",
    "0u",
    "1u",
    "255u",
    "4294967295u",
]

# All is unsigned, so that nothing overflows, and no number of bits to shift or divisor is out of bounds.
TERMS = st.recursive(
    st.sampled_from(LEAVES),
    lambda term: st.one_of(
        st.tuples(term, st.sampled_from(["+", "-", "*", "&", "|", "^"]), term).map(
            lambda t: f"({' '.join(t)})"
        ),
        st.tuples(term, st.sampled_from(["/", "%"]), term).map(lambda t: f"({t[0]} {t[1]} ({t[2]} | 1u))"),
        st.tuples(term, st.sampled_from(["<<", ">>"]), term).map(lambda t: f"({t[0]} {t[1]} ({t[2]} & 31u))"),
        st.tuples(term, st.sampled_from(["<", ">=", "=="]), term, term).map(
            lambda t: f"({t[0]} {t[1]} {t[2]} ? {t[3]} : a)"
        ),
        st.tuples(st.sampled_from(["max", "min", "rotate", "hadd", "abs_diff", "mul_hi"]), term, term).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
        st.tuples(st.sampled_from(["popcount", "clz", "helper", "TWICE"]), term).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
        term.map(lambda t: f"((uint)(uchar){t})"),
        term.map(lambda t: f"((uint)(short){t})"),
    ),
    max_leaves=6,
)
STEPS = st.recursive(
    st.tuples(st.sampled_from(["a", "b", "y[i]"]), st.sampled_from(["=", "+=", "^="]), TERMS).map(
        lambda s: " ".join(s) + ";"
    ),
    lambda step: st.one_of(
        st.tuples(TERMS, step).map(lambda s: f"if ({s[0]} & 1u) {{ {s[1]} }}"),
        st.tuples(TERMS, step, step).map(lambda s: f"if ({s[0]} > 9u) {{ {s[1]} }} else {{ {s[2]} }}"),
        st.tuples(st.integers(1, 3), step).map(
            lambda s: f"for (uint k = 0; k < {s[0]}; k++) {{ {s[1]} a += k; }}"
        ),
        st.tuples(step, step).map(" ".join),
        st.tuples(TERMS, step).map(
            lambda s: f"switch ({s[0]} & 3u) {{ case 0: {s[1]} break; case 1: a++; default: b--; }}"
        ),
    ),
    max_leaves=3,
)
# Barriers are where all work-items come by: at the top, or in a loop that is the same for all.
PHASES = st.lists(
    st.one_of(
        STEPS,
        TERMS.map(lambda t: f"{BARRIER} tmp[l] = {t.replace('tmp[7 - l]', 'b')}; {BARRIER}"),
        STEPS.map(lambda s: f"for (uint r = 0; r < 2; r++) {{ {s} {BARRIER} }}"),
    ),
    min_size=1,
    max_size=4,
)


def source_of(phases):
    body = "\n    ".join(phases)
    return f"""
#define TWICE(v) ((v) * 2u)
static uint helper(uint v) {{ return v ^ (v >> 3); }}
kernel void f(global const uint *x, global uint *y)
{{
    local uint tmp[{GROUP}];
    uint i = get_global_id(0), l = get_local_id(0), a = i * 3u, b = x[i];
    tmp[l] = b;
    y[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    {body}
    y[i] += a ^ b;
}}
"""


@pytest.mark.not_sanitized("the drivers' compilers are no part of it")
def test_drivers_agree_with_the_host():
    values = np.random.default_rng(5).integers(0, 2**32, N, dtype="uint32")
    devices = [usmpy.Device("host"), *usmpy.get_devices("opencl")]
    for device in devices:
        _ = device.queue

    @examples(4)
    @given(PHASES)
    def check(phases):
        source = source_of(phases)
        results = []
        for device in devices:
            program = usmpy.Program(source, device=device)
            x = usmpy.asarray(values, device=device, copy=True)
            y = usmpy.zeros(N, dtype="uint32", device=device)
            program["f"][usmpy.NdRange(N, GROUP)](x, y)
            results.append(y.asnumpy())
        for device, result in zip(devices, results, strict=True):
            np.testing.assert_array_equal(result, results[0], err_msg=f"{device}\n{source}")

    check()
