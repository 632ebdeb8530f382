#include "arrays.h"

PyMethodDef laplace_methods[] = {
    {NULL, NULL, 0, NULL},
};
