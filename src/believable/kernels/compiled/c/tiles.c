#include "arrays.h"

PyMethodDef tiles_methods[] = {
    {NULL, NULL, 0, NULL},
};
