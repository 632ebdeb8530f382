/* exp and log of every entry of an array, which other files compute inside their loops: here on their own, for tests.
 * */
#include "exponential.h"
#include "logarithm.h"

typedef void (*Loop)(const double *, double *, Py_ssize_t);

#define LOOP(NAME, EXPRESSION)                                                                                         \
    WIDER static void NAME(const double *restrict from, double *restrict to, Py_ssize_t n)                             \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            const double x = from[i];                                                                                  \
            to[i] = EXPRESSION;                                                                                        \
        }                                                                                                              \
    }

LOOP(all_exp, exponential(x))
LOOP(all_log, logarithm(x))
LOOP(all_log_of_rest, logarithm_of_rest(x))
/* 1 / (1 + exp(-z)), from the exponential that is at most 1. */
INLINE double sigmoid_of(double z)
{
    const double small = exponential(z < 0 ? z : -z);
    return (z >= 0 ? 1.0 : small) / (1.0 + small);
}

LOOP(all_sigmoid, sigmoid_of(x))
/* For numbers in [-700, 700] only. */
LOOP(all_exp_within, exponential_within(x))
LOOP(all_exp_float_within, (double)exponential_float_within((float)x))

static PyObject *run(const char *name, PyObject *const *args, Py_ssize_t n_args, Loop loop)
{
    static const char *const TAKES[] = {"d", ">d", NULL};
    Array a[2];
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int fits = n_args == 2 && a[0].size == a[1].size;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS;
        loop(a[0].data, a[1].data, a[0].size);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 2);
    return fits ? Py_NewRef(Py_None) : unfit(name);
}

#define FUNCTION(NAME, LOOP_OF_IT)                                                                                     \
    static PyObject *NAME(PyObject *self, PyObject *const *args, Py_ssize_t n_args)                                    \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        return run(#NAME, args, n_args, LOOP_OF_IT);                                                                   \
    }

FUNCTION(exponentials, all_exp)
FUNCTION(exponentials_within, all_exp_within)
FUNCTION(exponentials_float_within, all_exp_float_within)
FUNCTION(sigmoids, all_sigmoid)
FUNCTION(logarithms, all_log)
FUNCTION(logarithms_of_rest, all_log_of_rest)

/* Each takes an array of float64 and one for the results. */
PyMethodDef elementary_methods[] = {
    METHOD(exponentials), METHOD(exponentials_within), METHOD(exponentials_float_within), METHOD(logarithms),
    METHOD(logarithms_of_rest), METHOD(sigmoids), NO_MORE_METHODS,
};
