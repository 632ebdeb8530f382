#include "arrays.h"

PyMethodDef binary_pass_methods[] = {
    {NULL, NULL, 0, NULL},
};
