#include "arrays.h"

PyMethodDef isotonic_methods[] = {
    {NULL, NULL, 0, NULL},
};
