#include "arrays.h"

PyMethodDef temperature_methods[] = {
    {NULL, NULL, 0, NULL},
};
