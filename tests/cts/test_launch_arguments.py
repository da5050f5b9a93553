"""Arguments of kernels, programs and questions that do not fit, and those that only just do."""

import pytest

import usmpy


def test_an_integer_pointer_takes_no_floats(queue, program):
    x = usmpy.zeros(4, dtype="float32", queue=queue)
    with pytest.raises(TypeError, match="a USMArray of float32 was given for"):
        program.add_one[4](x)


def test_half_floats_behind_a_pointer_to_their_bits(queue, program):
    x = usmpy.zeros(4, dtype="float16", queue=queue)
    program.put_uint16[4](x, 0x3C00).wait()
    assert x.tolist() == [1] * 4
    with pytest.raises(TypeError, match="a USMArray of float16 was given for"):
        program.put_int16[4](x, 0)


def test_a_buffer_with_gaps_is_no_value(queue, program):
    with pytest.raises(TypeError, match=r"argument 0 \(n\) of nothing: a memoryview was given for"):
        program.nothing[1](memoryview(bytes(8))[::2])


def test_bytes_of_no_length(queue, program):
    x = usmpy.zeros(5, dtype="float64" if queue.device.has_fp64 else "float32", queue=queue)
    with pytest.raises((ValueError, TypeError), match=r"0 bytes were given|float32 was given"):
        program.unpack[1](x, b"")


def test_a_program_with_many_kernels_names_some(queue):
    source = "".join(f"kernel void k{i}(global int *x) {{ x[0] = {i}; }}\n" for i in range(20))
    program = usmpy.Program(source, device=queue)
    with pytest.raises(KeyError, match=r"no kernel 'missing'; it has k\d+.*, \.\.\."):
        program["missing"]


def test_texts_without_utf8(queue):
    source = "kernel void a(int n) {}"
    for text, options in ((source + "// \udc80", ""), (source, "\udc80")):
        with pytest.raises(UnicodeEncodeError):
            usmpy.Program(text, device=queue, options=options)
    for language in ("spirv", "native"):  # ValueError too, where the device does not take it
        with pytest.raises(ValueError):
            usmpy.Program(b"source", device=queue, language=language, options="\udc80")


def test_questions_to_kernels_have_one_argument(program):
    with pytest.raises(TypeError, match="at most 1 positional"):
        program.add_one.max_work_group_size(1, 2)
