/* Pieces of a matrix's rows, small enough for the L1 cache, and what a first pass over them computes. */
#ifndef BELIEVABLE_ROWS_H
#define BELIEVABLE_ROWS_H

#include "bins.h"

#define FEW_COLUMNS 32 /* rows of no more columns are processed side by side */
#define BESIDE 16      /* this many rows side by side; or this many lanes of a longer row */

#define MOST_ROWS 1024 /* rows of a piece */

/* The number of rows of a piece. */
Py_ssize_t rows_in_piece(Py_ssize_t width);

/* The labels of some rows as indices of columns, 0 in place of those that are none; whether all are. */
int labels_as_columns(const Array *labels, Py_ssize_t start, Py_ssize_t n, Py_ssize_t width, int32_t *column);

/* For some rows: the largest entry, its column (the lowest of several), the smallest entry, and the sum. Of a row with
 * NaN the sum is NaN, and the others mean nothing but that the column is one. */
void look_at_floats(const float *x, Py_ssize_t n, Py_ssize_t width, float *top, int32_t *column, float *low,
                    double *sum);
void look_at_doubles(const double *x, Py_ssize_t n, Py_ssize_t width, double *top, int32_t *column, double *low,
                     double *sum);

/* The sum of every row. */
void sum_float_rows(const float *x, Py_ssize_t n, Py_ssize_t width, double *sum);
void sum_double_rows(const double *x, Py_ssize_t n, Py_ssize_t width, double *sum);

/* Whether all of n numbers are in [0, 1]; NaN is not. */
int floats_inside(const float *x, Py_ssize_t n);
int doubles_inside(const double *x, Py_ssize_t n);

/* Whether these sums are within a tolerance, which may be infinite, of 1; NaN never is. */
int near_one(const double *sum, Py_ssize_t n, double tolerance);

/* The bin of each score; all must be in [0, 1]. */
void place_floats(const float *x, Py_ssize_t n, const Bins *bins, int32_t *bin);
void place_doubles(const double *x, Py_ssize_t n, const Bins *bins, int32_t *bin);

#endif
