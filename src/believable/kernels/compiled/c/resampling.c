#include "arrays.h"

PyMethodDef resampling_methods[] = {
    {NULL, NULL, 0, NULL},
};
