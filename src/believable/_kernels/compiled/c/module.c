/* The module believable._kernels.compiled._c: one table of functions from every other file. */
#include "arrays.h"

extern PyMethodDef binned_methods[];
extern PyMethodDef matrix_methods[];
extern PyMethodDef ranks_methods[];
extern PyMethodDef temperature_methods[];
extern PyMethodDef isotonic_methods[];
extern PyMethodDef laplace_methods[];
extern PyMethodDef sorting_methods[];
extern PyMethodDef deposits_methods[];
extern PyMethodDef resampling_methods[];
extern PyMethodDef tiles_methods[];
extern PyMethodDef binary_pass_methods[];
extern PyMethodDef coded_methods[];
extern PyMethodDef matrix_rows_methods[];
extern PyMethodDef cosine_methods[];
extern PyMethodDef elementary_methods[];
extern PyMethodDef logits_methods[];
extern PyMethodDef piecewise_methods[];
extern PyMethodDef logistic_methods[];
extern PyMethodDef tally_methods[];
extern PyMethodDef tally_classes_methods[];
extern PyMethodDef tally_event_methods[];

static PyMethodDef *const TABLES[] = {
    binned_methods,
    matrix_methods,
    ranks_methods,
    temperature_methods,
    isotonic_methods,
    laplace_methods,
    sorting_methods,
    deposits_methods,
    resampling_methods,
    tiles_methods,
    binary_pass_methods,
    coded_methods,
    matrix_rows_methods,
    cosine_methods,
    elementary_methods,
    logits_methods,
    piecewise_methods,
    logistic_methods,
    tally_methods,
    tally_classes_methods,
    tally_event_methods,
};

static int fill(PyObject *module)
{
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        if (PyModule_AddFunctions(module, TABLES[i]) != 0)
            return -1;
    return 0;
}

static PyModuleDef_Slot SLOTS[] = {
    {Py_mod_exec, (void *)(uintptr_t)fill},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef DEFINITION = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_c",
    .m_doc = "Kernels in C. Sizes are checked, and so is all that says where to read and write.",
    .m_slots = SLOTS,
};

PyMODINIT_FUNC PyInit__c(void)
{
    return PyModuleDef_Init(&DEFINITION);
}
