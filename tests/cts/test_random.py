"""usmpy.random: known answers, the same stream on every device, accuracy, statistics and bounds."""

import math
import threading

import numpy as np
import pytest
from backends import drawn

import usmpy
from usmpy.random import PHILOX, Generator

# Random123's published answers of philox4x32-10: counter, key, words.
KNOWN = [
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def philox(counter, key):
    """Philox4x32-10 in Python."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second % 2**32, first >> 32 ^ c[3] ^ k[1], first % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return tuple(c)


def words(seed, first, n):
    """The first n words from a block on."""
    key = (seed % 2**32, seed >> 32)
    blocks = range(first, first + -(-n // 4))
    return [word for b in blocks for word in philox((b % 2**32, b >> 32, 0, 0), key)][:n]


def longs(seed, first, n):
    found = words(seed, first, 2 * n)
    return [found[2 * k] | found[2 * k + 1] << 32 for k in range(n)]


def test_known_answers(queue):
    kernel = usmpy.ElementwiseKernel(
        "raw uint32 c, raw uint32 k",
        "raw uint32 z",
        "uint w[4]; philox4x32_10(c[0], c[1], c[2], c[3], k[0], k[1], w);\n"
        "for (int j = 0; j < 4; j++) z[j] = w[j];",
        preamble=PHILOX,
    )
    for counter, key, answer in KNOWN:
        assert philox(counter, key) == answer
        given = (usmpy.asarray(part, dtype="uint32", queue=queue) for part in (counter, key))
        out = usmpy.empty(4, dtype="uint32", queue=queue)
        assert tuple(kernel(*given, out=out, size=1).tolist()) == answer


def test_bits(device, queue):
    seed = 0x123456789ABCDEF
    generator = Generator(seed, queue=queue)
    assert generator.seed == seed
    assert generator.integers(0, 2**32, 9, dtype="uint32").tolist() == words(seed, 0, 9)
    assert generator.integers(0, 2**64, 5, dtype="uint64").tolist() == longs(seed, 3, 5)
    x = generator.random((2, 3), dtype="float32")
    assert x.asnumpy().reshape(-1).tolist() == [(w >> 8) / 2**24 for w in words(seed, 6, 6)]
    if device.has_fp64:
        assert generator.random(3).tolist() == [(w >> 11) / 2**53 for w in longs(seed, 8, 3)]
    else:
        assert generator.random(3).dtype == usmpy.float32


def test_the_stream_does_not_depend_on_shapes(queue):
    flat = Generator(5, queue=queue).integers(0, 1000, 1000).tolist()
    tall = Generator(5, queue=queue).integers(0, 1000, (100, 10)).asnumpy()
    assert tall.reshape(-1).tolist() == flat
    assert Generator(5, queue=queue).integers(0, 1000, 700).tolist() == flat[:700]
    host = Generator(5, device="host").integers(0, 1000, 1000)
    assert host.tolist() == flat


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_bits_of_the_host(device, queue, dtype):
    if dtype == "float64" and not device.has_fp64:
        pytest.skip("the device has no double precision")
    for name in ("random", "normal"):
        own, host = (
            getattr(Generator(11, **place), name)(size=5001, dtype=dtype).asnumpy()
            for place in ({"queue": queue}, {"device": "host"})
        )
        assert own.dtype == dtype
        assert own.tobytes() == host.tobytes()
    scaled = [
        Generator(3, **place).normal(-1, 2.5, 999, dtype=dtype)
        for place in ({"queue": queue}, {"device": "host"})
    ]
    assert scaled[0].asnumpy().tobytes() == scaled[1].asnumpy().tobytes()


# Accuracy.


def exact_normals(x, y, bits):
    """Box and Muller for two words of that many bits, in long double."""
    wide = np.longdouble
    scale = wide(2) ** bits
    near_one = np.array([2**bits - 1 - int(w) for w in x], dtype=wide)
    log = np.where(x >= 2 ** (bits - 1), np.log1p(-near_one / scale), np.log((x.astype(wide) + 1) / scale))
    eighth = 2 ** (bits - 3)
    octant = np.array([int(w) // eighth for w in y])
    rest = np.array([int(w) % eighth for w in y])
    rest = np.array([eighth - r if o % 2 else r for o, r in zip(octant, rest, strict=True)], dtype=object)
    angle = rest.astype(wide) / wide(eighth) * (np.arctan(wide(1)))
    sine, cosine = np.sin(angle), np.cos(angle)
    exchanged = ((octant + 1) >> 1) % 2 == 1
    a, b = np.where(exchanged, sine, cosine), np.where(exchanged, cosine, sine)
    radius = np.sqrt(-2 * log)
    return radius * np.where((octant >= 2) & (octant < 6), -a, a), radius * np.where(octant >= 4, -b, b)


@pytest.mark.parametrize(("name", "bits"), [("float", 32), ("double", 64)])
def test_normal_numbers_are_within_4_ulps(device, queue, name, bits):
    if bits == 64 and not device.has_fp64:
        pytest.skip("the device has no double precision")
    real = "float32" if bits == 32 else "float64"
    kernel = usmpy.ElementwiseKernel(
        f"uint{bits} x, uint{bits} y",
        f"{real} a, {real} b",
        f"{name} u, v; philox_normal_{name}(x, y, &u, &v); a = u; b = v",
        preamble=PHILOX,
    )
    chance = np.random.default_rng(4)
    edges = [0, 1, 2, 3, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1, 2**bits - 2]
    edges += [int(0.29289321881 * 2**bits) + k for k in (-1, 0, 1)]
    edges += [2**bits - 1 - e for e in edges] + [k * 2 ** (bits - 3) for k in range(8)]
    small = [int(2.0**e) for e in chance.random(2000) * (bits - 0.01)]
    values = [*edges, *small, *(2**bits - 1 - s for s in small)]
    values += [int(w) for w in chance.integers(0, 2**bits - 1, 4000, dtype="uint64")]
    x = np.array(values, dtype=f"uint{bits}")
    y = chance.permutation(x)
    found = kernel(usmpy.asarray(x, queue=queue), usmpy.asarray(y, queue=queue))
    for result, wanted in zip(found, exact_normals(x, y, bits), strict=True):
        ulp = np.spacing(np.maximum(np.abs(wanted), np.finfo(real).tiny).astype(real)).astype(np.longdouble)
        assert (np.abs(result.asnumpy().astype(np.longdouble) - wanted) / ulp).max() < 4


# Statistics: seeds are fixed, so that a result within the bounds stays there.


def check_uniform(counts, expected):
    """Pearson's chi-square within 5 standard deviations of its mean."""
    chi = ((counts - expected) ** 2 / expected).sum()
    degrees = counts.size - 1
    assert abs(chi - degrees) < 5 * math.sqrt(2 * degrees)


def test_uniform_numbers(queue):
    x = Generator(1, queue=queue).random(100_000, dtype="float32").asnumpy().astype("float64")
    assert x.min() >= 0
    assert x.max() < 1
    assert abs(x.mean() - 0.5) < 5 * math.sqrt(1 / 12 / x.size)
    assert abs(x.var() - 1 / 12) < 5 * math.sqrt(1 / 180 / x.size)
    check_uniform(np.histogram(x, 64, (0, 1))[0], x.size / 64)
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 5 / math.sqrt(x.size)


def test_normal_numbers(queue):
    x = Generator(2, queue=queue).normal(3, 2, 100_000, dtype="float32").asnumpy().astype("float64")
    z = (x - 3) / 2
    assert abs(z.mean()) < 5 / math.sqrt(z.size)
    assert abs(z.var() - 1) < 5 * math.sqrt(2 / z.size)
    assert abs((z**3).mean()) < 5 * math.sqrt(15 / z.size)
    assert abs((z**4).mean() - 3) < 5 * math.sqrt(96 / z.size)
    below = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in z])
    check_uniform(np.histogram(below, 64, (0, 1))[0], z.size / 64)
    for bound in (3, 4):  # the tails: Poisson's deviation of how many are beyond
        expected = z.size * math.erfc(bound / math.sqrt(2))
        assert abs((abs(z) > bound).sum() - expected) < 5 * math.sqrt(expected)
    assert abs(np.corrcoef(z[::2], z[1::2])[0, 1]) < 5 / math.sqrt(z.size / 2)


@pytest.mark.parametrize("span", [1, 2, 7, 100, 3 * 2**30, 2**32 - 1, 2**32, 2**32 + 1, 3 * 2**61, 2**63])
def test_integers_have_no_bias(queue, span):
    n = 20_000
    x = Generator(span % 1000, queue=queue).integers(span, size=n, dtype="uint64").asnumpy()
    assert x.max() < span
    bins = min(span, 50)
    check = np.bincount((x.astype(object) * bins // span).astype("int64"), minlength=bins)
    if bins > 1:
        check_uniform(check, n / bins)


def test_draws_that_are_refused(queue):
    """3 * 2**30 refuses a quarter of the words: the next attempts have counters of their own."""
    seed, span = 9, 3 * 2**30
    wanted = []
    for k in range(400):
        attempt = 0
        while True:
            word = philox((k // 4, 0, attempt, 0), (seed, 0))[k % 4]
            if word * span % 2**32 >= 2**32 % span:
                break
            attempt += 1
        wanted.append(word * span >> 32)
    assert Generator(seed, queue=queue).integers(span, size=400).tolist() == wanted


# Bounds and arguments.


BOUNDS = [
    ("bool", 0, 1),
    ("int8", -128, 127),
    ("uint8", 0, 255),
    ("int16", -(2**15), 2**15 - 1),
    ("uint16", 0, 2**16 - 1),
    ("int32", -(2**31), 2**31 - 1),
    ("uint32", 0, 2**32 - 1),
    ("int64", -(2**63), 2**63 - 1),
    ("uint64", 0, 2**64 - 1),
]


def test_bounds_of_types(backend, queue):
    for dtype, low, high in drawn(backend, BOUNDS):
        check_bounds(queue, dtype, low, high)


def check_bounds(queue, dtype, low, high):
    generator = Generator(4, queue=queue)
    x = generator.integers(low, high + 1, 3000, dtype=dtype)
    assert x.dtype == dtype
    y = generator.integers(low, high, 3000, dtype=dtype, endpoint=True)
    if high - low < 256:
        for values in (x, y):
            assert sorted(set(values.tolist())) == list(range(low, high + 1))
    assert set(generator.integers(high, high, 9, dtype=dtype, endpoint=True).tolist()) == {high}
    assert set(generator.integers(low, low + 1, 9, dtype=dtype).tolist()) == {low}
    with pytest.raises(ValueError, match=f"high is {high + 2}, which is out of bounds for {dtype}"):
        generator.integers(low, high + 2, dtype=dtype)
    with pytest.raises(ValueError, match=f"low is {low - 1}, which is out of bounds for {dtype}"):
        generator.integers(low - 1, high, dtype=dtype)


def test_bad_arguments(device, queue):
    generator = Generator(4, queue=queue)
    for call, error, match in [
        (
            lambda: generator.integers(3, 3),
            ValueError,
            "low is 3 and high 3; there is no integer between them",
        ),
        (lambda: generator.integers(0), ValueError, "low is 0 and high 0"),
        (lambda: generator.integers(1.5), TypeError, "high is 1.5; an int"),
        (lambda: generator.integers(3, True), TypeError, "high is True; an int"),
        (
            lambda: generator.integers(3, dtype="float32"),
            TypeError,
            "dtype is float32; an integer type or bool",
        ),
        (lambda: generator.random(3, dtype="int32"), TypeError, "dtype is int32; float32 or float64"),
        (lambda: generator.normal(dtype="float16"), TypeError, "dtype is float16; float32 or float64"),
        (lambda: generator.normal(0, -1), ValueError, "scale is -1; 0 or more"),
        (lambda: generator.normal(0, math.nan), ValueError, "scale is nan"),
        (lambda: generator.normal("0"), TypeError, "loc is '0'; a number"),
        (lambda: generator.normal([0]), TypeError, r"loc is \[0\]; a number"),
        (lambda: generator.random(-1), ValueError, "-1"),
        (lambda: Generator(-1), ValueError, r"seed is -1; 0 to 2\*\*64 - 1"),
        (lambda: Generator(2**64), ValueError, "seed is 18446744073709551616"),
        (lambda: Generator(1.5), TypeError, "seed is 1.5; an int or None"),
        (lambda: Generator(True), TypeError, "seed is True; an int or None"),
        (lambda: Generator(1, queue=device), TypeError, "queue is a Device; a Queue or None"),
    ]:
        with pytest.raises(error, match=match):
            call()
    # A refused call takes nothing of the stream.
    assert generator.integers(0, 2**32, 4, dtype="uint32").tolist() == words(4, 0, 4)
    if not device.has_fp64:
        with pytest.raises(TypeError, match="random: float64 needs double precision"):
            generator.random(3, dtype="float64")


def test_placement(device, queue):
    assert Generator(1, queue=queue).random(3).queue == queue
    assert Generator(1, device=device).random(3).device == device
    assert Generator(1).random(3, queue=queue).queue == queue
    other = usmpy.Queue(device)
    assert Generator(1, queue=queue).random(3, queue=other).queue == other
    assert Generator(1, queue=queue).random((0, 3)).shape == (0, 3)
    assert Generator(1, queue=queue).random().shape == ()
    if device.has_usm_shared:
        assert Generator(1, queue=queue).normal(size=3, usm_type="shared").usm_type == "shared"


def test_seeds_differ(queue):
    found = {tuple(Generator(seed, queue=queue).integers(1000, size=20).tolist()) for seed in range(20)}
    assert len(found) == 20
    assert Generator().seed != Generator().seed
    assert repr(Generator(3)) == "Generator(seed=3)"


def test_names_of_numpy(queue):
    generator = usmpy.random.default_rng(3, queue=queue)
    assert generator.seed == 3
    assert usmpy.random.default_rng(generator) is generator
    assert generator.random(size=(2, 3)).shape == (2, 3)
    assert usmpy.random.default_rng().seed != usmpy.random.default_rng().seed
    with pytest.raises(TypeError, match=r"seed is 1\.5"):
        usmpy.random.default_rng(1.5)


def test_threads_share_a_stream_without_repeats(queue):
    generator = Generator(6, queue=queue)
    parts = []

    def draw():
        parts.append(generator.integers(0, 2**32, 40, dtype="uint32").tolist())

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = words(6, 0, 320)
    assert sorted(parts) == sorted(wanted[k : k + 40] for k in range(0, 320, 40))


def test_functions_of_the_module(queue, monkeypatch):
    monkeypatch.setattr(usmpy.random, "_default", None)  # the shared generator keeps its kernels
    usmpy.random.seed(4)
    assert usmpy.random.integers(0, 2**32, 4, dtype="uint32", queue=queue).tolist() == words(4, 0, 4)
    assert usmpy.random.random((2, 2), dtype="float32", queue=queue).shape == (2, 2)
    assert usmpy.random.normal(5, 0, 3, dtype="float32", queue=queue).tolist() == [5, 5, 5]
    usmpy.random.seed()
    assert usmpy.random.random(3, queue=queue).tolist() != usmpy.random.random(3, queue=queue).tolist()
    with pytest.raises(TypeError, match="seed is 'x'"):
        usmpy.random.seed("x")
