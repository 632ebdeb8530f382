#include "arrays.h"

PyMethodDef sorting_methods[] = {
    {NULL, NULL, 0, NULL},
};
