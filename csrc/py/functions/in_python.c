/*
 * Functions of the module that are written in Python. Each one's Python module is imported by its first call,
 * so that `import usmpy` reads none of them; signatures and docstrings are those of csrc/py/stubs, as of all
 * others.
 */
#include "docstrings.h"
#include "py/args.h"

#define FUNCTIONS(EACH)                                            \
    EACH("usmpy._arrays.indexing", extract)                        \
    EACH("usmpy._arrays.indexing", place)                          \
    EACH("usmpy._arrays.indexing", put)                            \
    EACH("usmpy._arrays.indexing", put_along_axis)                 \
    EACH("usmpy._arrays.namespace_info", __array_namespace_info__) \
    EACH("usmpy._arrays.sets", isin)                               \
    EACH("usmpy._arrays.sets", searchsorted)                       \
    EACH("usmpy._arrays.sets", unique_all)                         \
    EACH("usmpy._arrays.sets", unique_counts)                      \
    EACH("usmpy._arrays.sets", unique_inverse)                     \
    EACH("usmpy._arrays.sets", unique_values)                      \
    EACH("usmpy._arrays.statistics", clip)                         \
    EACH("usmpy._arrays.statistics", diff)                         \
    EACH("usmpy._arrays.statistics", mean)                         \
    EACH("usmpy._arrays.statistics", std)                          \
    EACH("usmpy._arrays.statistics", var)                          \
    EACH("usmpy._inspection.allocations", live_allocations)        \
    EACH("usmpy._inspection.diagnose", diagnose)                   \
    EACH("usmpy._inspection.include", get_include)                 \
    EACH("usmpy._kernels.prebuild", prebuild)                      \
    EACH("usmpy._python_kernels.kernel", kernel)

static PyObject *pass_on(PyObject *self, const char *module, const char *name, PyObject *const *args,
                         Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *function = usmpy_function(usmpy_state_of_module(self), module, name);
    PyObject *result = function == NULL ? NULL : PyObject_Vectorcall(function, args, (size_t)nargs, kwnames);
    Py_XDECREF(function);
    return result;
}

#define FUNCTION(module, name)                                                             \
    static PyObject *enter_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs, \
                                  PyObject *kwnames)                                       \
    {                                                                                      \
        return pass_on(self, module, #name, args, nargs, kwnames);                         \
    }
FUNCTIONS(FUNCTION)

PyMethodDef usmpy_python_functions[] = {
#define ROW(module, name) USMPY_ROW(name),
    FUNCTIONS(ROW){0},
};
