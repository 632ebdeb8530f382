#include "arrays.h"

PyMethodDef matrix_methods[] = {
    {NULL, NULL, 0, NULL},
};
