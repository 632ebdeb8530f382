/* Arrays from Python: see arrays.h. */
#include "arrays.h"

static char type_of(const Py_buffer *view)
{
    const char *format = view->format == NULL ? "B" : view->format;
    if (*format == '@' || *format == '=')
        format++;
    if (format[0] == '\0' || format[1] != '\0')
        return 0;
    if (*format == 'f' || *format == 'd')
        return *format;
    if (*format == '?')
        return 'B';
    const int is_signed = strchr("bhilq", *format) != NULL, is_unsigned = strchr("BHILQ", *format) != NULL;
    if (!is_signed && !is_unsigned)
        return 0;
    switch (view->itemsize) { /* a long is of 4 or 8 bytes */
    case 1: return is_signed ? 'b' : 'B';
    case 2: return is_signed ? 'h' : 'H';
    case 4: return is_signed ? 'i' : 'I';
    case 8: return is_signed ? 'q' : 'Q';
    default: return 0;
    }
}

int take_arrays(PyObject *const *args, Py_ssize_t n_args, const char *const *takes, Array *arrays)
{
    for (Py_ssize_t i = 0; takes[i] != NULL; i++) {
        const char *types = takes[i];
        Array *array = &arrays[i];
        const int optional = *types == '?';
        types += optional;
        const int written = *types == '>';
        types += written;
        memset(array, 0, sizeof *array);
        if (i >= n_args) {
            PyErr_SetString(PyExc_TypeError, "arrays are missing");
        } else if (optional && args[i] == Py_None) {
            continue;
        } else if (PyObject_GetBuffer(args[i], &array->view,
                                      PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0)) == 0) {
            array->type = type_of(&array->view);
            array->data = array->view.buf;
            if (array->type != 0 && strchr(types, array->type) != NULL) {
                array->size = array->view.len / array->view.itemsize;
                continue;
            }
            PyErr_Format(PyExc_TypeError, "argument %zd must be an array of type %s, not %s", i, types,
                         array->view.format == NULL ? "bytes" : array->view.format);
            PyBuffer_Release(&array->view);
            array->data = NULL;
        }
        drop_arrays(arrays, i);
        return 0;
    }
    return 1;
}

void drop_arrays(Array *arrays, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (arrays[i].type != 0)
            PyBuffer_Release(&arrays[i].view);
}
