/* Arrays and numbers from Python: see arrays.h. */
#include "arrays.h"

static char type_of(const Py_buffer *view)
{
    const char *format = view->format == NULL ? "B" : view->format;
    /* ctypes names its byte order, also where it is that of the machine. */
    if (*format == '@' || *format == '=' || *format == (PY_LITTLE_ENDIAN ? '<' : '>'))
        format++;
    if (format[0] == '\0' || format[1] != '\0')
        return 0;
    if (*format == 'f' || *format == 'd')
        return view->itemsize == (*format == 'f' ? 4 : 8) ? *format : 0;
    if (*format == '?')
        return view->itemsize == 1 ? 'B' : 0;
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

/* Entries of an array may be unaligned, for example if it maps a file. C must not read them there. */
static int align(Array *array, int written)
{
    if ((uintptr_t)array->data % (size_t)array->view.itemsize == 0)
        return 1;
    if (written) {
        PyErr_SetString(PyExc_ValueError, "an array that is written to is not aligned");
        return 0;
    }
    if ((array->copy = malloc((size_t)array->view.len + 1)) == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    array->data = memcpy(array->copy, array->data, (size_t)array->view.len);
    return 1;
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
            if (array->type == 0 || strchr(types, array->type) == NULL) {
                PyErr_Format(PyExc_TypeError, "argument %zd must be an array of type %s, not %s", i, types,
                             array->view.format == NULL ? "bytes" : array->view.format);
            } else if (align(array, written)) {
                array->size = array->view.len / array->view.itemsize;
                continue;
            }
            PyBuffer_Release(&array->view);
        }
        drop_arrays(arrays, i);
        return 0;
    }
    return 1;
}

void drop_arrays(Array *arrays, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (arrays[i].type != 0) {
            free(arrays[i].copy);
            PyBuffer_Release(&arrays[i].view);
        }
}

int take_numbers(PyObject *const *args, Py_ssize_t n_args, Py_ssize_t from, Py_ssize_t n, Py_ssize_t *numbers)
{
    memset(numbers, 0, (size_t)n * sizeof *numbers);
    if (n_args != from + n) {
        PyErr_Format(PyExc_TypeError, "there must be %zd arguments, not %zd", from + n, n_args);
        return 0;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if ((numbers[i] = PyLong_AsSsize_t(args[from + i])) == -1 && PyErr_Occurred()) {
            memset(numbers, 0, (size_t)n * sizeof *numbers);
            return 0;
        }
    return 1;
}

int is_within(const Py_ssize_t *range, Py_ssize_t n)
{
    return range[0] >= 0 && range[0] <= range[1] && range[1] <= n;
}

void *room_for(Py_ssize_t n, size_t bytes)
{
    return n < 0 || (size_t)n > (size_t)PY_SSIZE_T_MAX / bytes - 1 ? NULL : malloc(((size_t)n + 1) * bytes);
}

PyObject *unfit(const char *name)
{
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s: the arrays do not fit together", name);
    return NULL;
}
