/* where: choices between elements. */
#include "where.h"
#include "compare.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/mask.h"
#include "py/arrays/operands.h"

#include "core/ops/logic.h"

int usmpy_choose(usmpy_array *dst, usmpy_array *condition, usmpy_array *a, usmpy_array *b)
{
    const usm_view views[] = {usmpy_view(dst), usmpy_view(condition), usmpy_view(a), usmpy_view(b)};
    usm_error error;
    return usmpy_check(
        dst->state,
        usm_where_submit(usmpy_queue_of(dst->queue), 0, views, 4, usmpy_is_only_ours(dst), &error), &error);
}

/* arguments: condition, x1, x2, out, order. */
static PyObject *where(usmpy_state *state, PyObject *const *arguments)
{
    static const usmpy_elementwise row = {3, 1, false, USM_NO_DTYPE, usm_where_submit, 0};
    usmpy_destination to;
    if (usmpy_destination_parse(state, arguments[3], arguments[4], "where", &to) < 0) {
        return NULL;
    }
    PyObject *condition = usmpy_is_array(state, arguments[0]) ? usmpy_truth_of(state, arguments[0], "where")
                                                              : Py_NewRef(arguments[0]);
    PyObject *const operands[] = {condition, arguments[1], arguments[2]};
    PyObject *result = condition == NULL ? NULL : usmpy_elementwise_call(state, "where", operands, &row, &to);
    Py_XDECREF(condition);
    return result;
}
USMPY_FUNCTION(where)

static PyObject *where_or_nonzero(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    return nargs == 1 && kwnames == NULL ? usmpy_nonzero(usmpy_state_of_module(module), args[0], "where")
                                         : enter_where(module, args, nargs, kwnames);
}

PyMethodDef usmpy_where_functions[] = {
    USMPY_METHOD("where", where_or_nonzero, USMPY_DOC_where),
    {0},
};
