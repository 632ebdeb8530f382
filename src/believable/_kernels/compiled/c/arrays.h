/* Arrays and numbers from Python, through the buffer protocol alone: nothing here knows NumPy, so one build serves
 * every version of it. And what compilers are told beyond C itself. */
#ifndef BELIEVABLE_ARRAYS_H
#define BELIEVABLE_ARRAYS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sums, logarithms and the search for bins rely on every operation being rounded to its own type, as IEEE 754 says. */
#if FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2
#error "The kernels need float and double arithmetic without extra digits: on 32-bit x86, add -msse2 -mfpmath=sse."
#endif
#if defined(__FAST_MATH__) || defined(_M_FP_FAST)
#error "The kernels rely on NaN, infinity and the order of operations: compile them without -ffast-math or /fp:fast."
#endif
#if FLT_RADIX != 2 || DBL_MANT_DIG != 53 || FLT_MANT_DIG != 24
#error "The kernels read the bits of IEEE 754 numbers, which this compiler does not use."
#endif

/* The type of an entry: 'f' and 'd' for float32 and float64; 'b', 'h', 'i', 'q' for integers of 1, 2, 4, 8 bytes, and
 * 'B', 'H', 'I', 'Q' for those without a sign (booleans are 'B'); 0 for an array that was left out. */
typedef struct {
    Py_buffer view;
    void *data, *copy; /* copy: what is read instead of an array whose entries lie across words */
    Py_ssize_t size;   /* entries, over all axes */
    char type;
} Array;

/* The arrays at the front of the arguments, one for each entry of `takes`, which ends with NULL: the types allowed,
 * after '?' where it may be None and '>' where it is written to. All are in C order. 0 and an exception if one does not
 * fit; otherwise the caller lets go of them with drop_arrays. */
int take_arrays(PyObject *const *args, Py_ssize_t n_args, const char *const *takes, Array *arrays);
void drop_arrays(Array *arrays, Py_ssize_t n);

/* The n whole numbers that end the arguments, from the given place on. 0 and an exception if one is none, or if they
 * are not as many; then all are 0. */
int take_numbers(PyObject *const *args, Py_ssize_t n_args, Py_ssize_t from, Py_ssize_t n, Py_ssize_t *numbers);

/* Whether a range, (start, stop), lies within n rows. */
int is_within(const Py_ssize_t *range, Py_ssize_t n);

/* Memory for n entries of this many bytes, as from malloc; NULL, too, if there cannot be as much. */
void *room_for(Py_ssize_t n, size_t bytes);

/* Returns NULL, and sets a ValueError unless an exception is set already. */
PyObject *unfit(const char *name);

#define METHOD(NAME) {#NAME, (PyCFunction)(void (*)(void))NAME, METH_FASTCALL, NULL}
#define NO_MORE_METHODS {NULL, NULL, 0, NULL}

/* DO(TYPE) with the type of integers, or of all entries, that a letter stands for. */
#define OF_INTEGERS(letter, DO)                                                                                        \
    switch (letter) {                                                                                                  \
    case 'b': DO(int8_t); break;                                                                                       \
    case 'B': DO(uint8_t); break;                                                                                      \
    case 'h': DO(int16_t); break;                                                                                      \
    case 'H': DO(uint16_t); break;                                                                                     \
    case 'i': DO(int32_t); break;                                                                                      \
    case 'I': DO(uint32_t); break;                                                                                     \
    case 'q': DO(int64_t); break;                                                                                      \
    default: DO(uint64_t);                                                                                             \
    }
#define OF_ENTRIES(letter, DO)                                                                                         \
    switch (letter) {                                                                                                  \
    case 'd': DO(double); break;                                                                                       \
    case 'f': DO(float); break;                                                                                        \
    default: OF_INTEGERS(letter, DO)                                                                                   \
    }

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* Products that are added to something may be fused with the addition, where the processor can: faster, and rounded
 * once instead of twice, so that processors differ in the last digit. */
#if defined(__GNUC__) && !defined(__clang__)
#define FUSED __attribute__((optimize("fp-contract=fast")))
#else
#define FUSED
#endif

/* Prefetch memory that is written to soon. */
#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch((address), 1)
#else
#define PREFETCH(address) ((void)(address))
#endif

/* Versions for newer processors beside the plain one, chosen when the module is loaded: which not every C library can,
 * and older compilers do not know these processors. It is too early for the runtime of a sanitizer. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 &&         \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define WIDER __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDER
#endif

/* Before a loop: lets the compiler reorder a reduction, so that it can vectorise. */
#define AS_TEXT(...) #__VA_ARGS__
#if defined(__GNUC__)
#define TOGETHER(...) _Pragma(AS_TEXT(omp simd __VA_ARGS__))
#else
#define TOGETHER(...)
#endif

#endif
