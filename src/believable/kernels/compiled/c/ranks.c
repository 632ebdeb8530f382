#include "arrays.h"

PyMethodDef ranks_methods[] = {
    {NULL, NULL, 0, NULL},
};
