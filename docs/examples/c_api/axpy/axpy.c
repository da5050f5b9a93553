/*
 * axpy(a, x, y): y = a * x + y for float32 arrays that the host reads, as a task of their queue. The call returns
 * at once with an Event; the arrays may be dropped right after it.
 */
#include <usmpy.h>

#include <stdio.h>
#include <stdlib.h>

static const UsmpyApi *usmpy;

typedef struct job {
    float a;
    const float *x;
    float *y;
    int64_t n;
} job;

/* On a thread of the queue, without the GIL, after all earlier work on x and y. */
static int run(void *argument, char *message, size_t size)
{
    const job *job = argument;
    if (job->a != job->a) {
        snprintf(message, size, "a is not a number");
        return 1;
    }
    for (int64_t i = 0; i < job->n; i++) {
        job->y[i] += job->a * job->x[i];
    }
    return 0;
}

static int describe(PyObject *array, const char *name, UsmpyArrayInfo *info)
{
    if (usmpy->array_info(array, info) < 0) {
        return -1;
    }
    if (info->dtype.code != 2 /* kDLFloat */ || info->dtype.bits != 32 || !info->c_contiguous || !info->host_reads) {
        PyErr_Format(PyExc_ValueError, "%s: a contiguous float32 array in memory that the host reads is allowed",
                     name);
        return -1;
    }
    return 0;
}

static PyObject *axpy(PyObject *module, PyObject *args)
{
    UsmpyArrayInfo x, y;
    PyObject *x_object, *y_object, *queue = NULL, *event = NULL;
    float a;
    (void)module;
    if (!PyArg_ParseTuple(args, "fOO:axpy", &a, &x_object, &y_object) || describe(x_object, "x", &x) < 0 ||
        describe(y_object, "y", &y) < 0) {
        return NULL;
    }
    if (x.size != y.size) {
        return PyErr_Format(PyExc_ValueError, "x has %lld elements and y has %lld; equal sizes are allowed",
                            (long long)x.size, (long long)y.size);
    }
    job *work = malloc(sizeof *work);
    if (work == NULL) {
        return PyErr_NoMemory();
    }
    *work = (job){a, x.data, y.data, y.size};
    const UsmpyAccess accesses[] = {{x_object, USMPY_MODE_READ}, {y_object, USMPY_MODE_READ_WRITE}};
    queue = usmpy->array_queue(y_object);
    if (queue != NULL) {
        event = usmpy->queue_submit(queue, run, work, free, accesses, 2, NULL, 0);
        Py_DECREF(queue);
    }
    if (event == NULL) {
        free(work); /* it is the caller's where the submission failed */
    }
    return event;
}

static int exec(PyObject *module)
{
    (void)module;
    usmpy = UsmpyApi_Import();
    return usmpy == NULL ? -1 : 0;
}

static PyMethodDef functions[] = {
    {"axpy", axpy, METH_VARARGS, "axpy(a, x, y) -> Event: y = a * x + y."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)exec},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* nothing here is written after the import */
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "axpy",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_axpy(void)
{
    return PyModuleDef_Init(&definition);
}
