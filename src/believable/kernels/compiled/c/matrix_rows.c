#include "arrays.h"

PyMethodDef matrix_rows_methods[] = {
    {NULL, NULL, 0, NULL},
};
