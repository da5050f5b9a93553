// mean(x): a new array of no dimensions with the mean of a float64 array, on x's queue, with pybind11. The sum
// runs in a task; x's memory is held by the task, and the result is ordered behind it like any other work.
#include <usmpy.h>

#include <pybind11/pybind11.h>

#include <memory>
#include <numeric>

namespace py = pybind11;

namespace {

const UsmpyApi *usmpy;

struct Mean {
    const double *x;
    double *out;
    int64_t n;

    // Without the GIL, on a thread of the queue.
    static int run(void *argument, char *, size_t)
    {
        auto *self = static_cast<Mean *>(argument);
        *self->out = std::accumulate(self->x, self->x + self->n, 0.0) / static_cast<double>(self->n);
        return 0;
    }

    static void release(void *argument) { delete static_cast<Mean *>(argument); }
};

py::object checked(PyObject *object)
{
    if (object == nullptr) {
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(object);
}

py::object mean(py::object x)
{
    UsmpyArrayInfo in, out;
    if (usmpy->array_info(x.ptr(), &in) < 0) {
        throw py::error_already_set();
    }
    if (in.dtype.code != 2 || in.dtype.bits != 64 || !in.c_contiguous || !in.host_reads || in.size == 0) {
        throw py::value_error("x: a contiguous float64 array that the host reads, not empty, is allowed");
    }
    auto queue = checked(usmpy->array_queue(x.ptr()));
    auto result = checked(usmpy->array_empty(0, nullptr, in.dtype, USMPY_KIND_SHARED, queue.ptr()));
    if (usmpy->array_info(result.ptr(), &out) < 0) {
        throw py::error_already_set();
    }
    auto work = std::make_unique<Mean>(Mean{static_cast<const double *>(in.data), static_cast<double *>(out.data), in.size});
    const UsmpyAccess accesses[] = {{x.ptr(), USMPY_MODE_READ}, {result.ptr(), USMPY_MODE_WRITE}};
    checked(usmpy->queue_submit(queue.ptr(), Mean::run, work.get(), Mean::release, accesses, 2, nullptr, 0));
    work.release(); // the task's now
    return result;
}

} // namespace

PYBIND11_MODULE(statistics_of_arrays, module, py::mod_gil_not_used())
{
    usmpy = UsmpyApi_Import();
    if (usmpy == nullptr) {
        throw py::error_already_set();
    }
    module.def("mean", &mean, py::arg("x"), "The mean of a float64 array, as an array of no dimensions.");
}
