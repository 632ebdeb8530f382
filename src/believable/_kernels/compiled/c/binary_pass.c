/* One read of 1-D scores and their outcomes: the sums behind proper scores, and the sums of every cell on several
 * grids.
 *
 * Rows are summed by code, once (see event.h). The same read checks every row: scores must be in [0, 1], and labels 0,
 * 1, or shares between them. */
#include "event.h"

#define PART 65536     /* rows summed as one part, so that the result does not depend on the threads */
#define BY_ITSELF 4096 /* rows that a slot sums before it is added to its code */

typedef struct {
    Array scores, labels, weights;
    Grid grids[MOST_GRIDS];
    int n_grids, moments, soft;
    double *sums;          /* N_SUMS for each part */
    double *table, *more;  /* by code: moments of outcome 0 (of all rows, if labels are shares), and of outcome 1 */
    int32_t *codes;        /* used instead of the tables */
    int spilled;           /* something is in `more` */
} Pass;

/* Whether scores and labels are valid. */
WIDER static int is_valid(const Block *block, Py_ssize_t n)
{
    int32_t bad = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double p = block->p[i], y = block->y[i];
        bad += (p >= 0 ? 0 : 1) + (p <= 1 ? 0 : 1) + (y >= 0 ? 0 : 1) + (y <= 1 ? 0 : 1);
    }
    return bad == 0;
}

/* Deviations are from each part's own mean (Chan et al. 1983): a sum of squares minus a square would cancel. */
static void add_sums(double *into, const double *part)
{
    const double mine = into[W], others = part[W];
    if (mine > 0) {
        const double apart = into[WP] / mine - part[WP] / others;
        into[DEVIATION] += apart * apart * (mine / (mine + others) * others);
    }
    for (int k = 0; k < N_SUMS; k++)
        into[k] += part[k];
}

/* --- sums of codes ------------------------------------------------------------------------------------------------ */

static void spill(Pass *pass, Py_ssize_t at, Py_ssize_t entries)
{
    for (Py_ssize_t k = at; k < at + entries; k++) {
        pass->more[k] += pass->table[k];
        pass->table[k] = 0;
    }
    pass->spilled = 1;
}

INLINE void scatter_as(Pass *pass, Block *block, Py_ssize_t n, int moments, int soft)
{
    double *const table = pass->table;
    int32_t *const slot = block->cell;
    for (Py_ssize_t i = 0; i < n; i++)
        slot[i] = 2 * block->code[i] + (soft ? 0 : (int32_t)block->y[i]);
    for (Py_ssize_t i = n; i < n + AHEAD; i++)
        slot[i] = slot[n - 1];
    for (Py_ssize_t i = 0; i < n; i++) {
        const double p = block->p[i], w = block->w[i];
        double *const at = table + (Py_ssize_t)slot[i] * moments;
        PREFETCH(table + (Py_ssize_t)slot[i + AHEAD] * moments);
        add_row(at, 1, p, w, moments);
        if (soft)
            add_row(at + moments, block->y[i], p, w, moments);
        if (at[0] >= BY_ITSELF)
            spill(pass, at - table, soft ? 2 * moments : moments);
    }
}

static void scatter(Pass *pass, Block *block, Py_ssize_t n)
{
    if (pass->moments == 3)
        pass->soft ? scatter_as(pass, block, n, 3, 1) : scatter_as(pass, block, n, 3, 0);
    else
        scatter_as(pass, block, n, 7, pass->soft);
}

/* --- a range of rows ---------------------------------------------------------------------------------------------- */

/* Sums a range of rows; returns 0 if a row is invalid. */
static int run(Pass *pass, Py_ssize_t start, Py_ssize_t stop)
{
    Block block;
    double sums[N_SUMS];
    int has_logits = 0; /* a grid places scores by their logits */
    for (int grid = 0; grid < pass->n_grids; grid++)
        has_logits |= pass->grids[grid].table != NULL;
    memset(&block, 0, sizeof block);
    for (Py_ssize_t i = 0; i < ROWS; i++)
        block.w[i] = 1;
    for (Py_ssize_t at = start; at < stop; at += ROWS) {
        const Py_ssize_t n = stop - at < ROWS ? stop - at : ROWS, n_lanes = filled(n);
        widen(&pass->scores, at, n, block.p);
        widen(&pass->labels, at, n, block.y);
        if (pass->weights.data != NULL)
            widen(&pass->weights, at, n, block.w);
        if (!is_valid(&block, n))
            return 0;
        for (Py_ssize_t i = n; i < n_lanes; i++)
            block.p[i] = 0.5, block.w[i] = 0;
        if (pass->sums != NULL || has_logits)
            logarithms(&block, n_lanes);
        if (pass->sums != NULL) {
            sum_block(&block, n_lanes, sums);
            add_sums(pass->sums + at / PART * N_SUMS, sums);
        }
        if (pass->n_grids == 0)
            continue;
        memset(block.code, 0, sizeof block.code);
        for (int grid = 0; grid < pass->n_grids; grid++) {
            place(&block, n, &pass->grids[grid], pass->scores.type, 1);
            for (Py_ssize_t i = 0; i < n; i++)
                block.code[i] += block.cell[i] + 1;
        }
        if (pass->codes != NULL)
            memcpy(pass->codes + at, block.code, (size_t)n * sizeof(int32_t));
        else
            scatter(pass, &block, n);
    }
    return 1;
}

static int index_rows(const Array *scores, const Grid *grid, Py_ssize_t start, Py_ssize_t stop, int64_t *out)
{
    Block block;
    memset(&block, 0, sizeof block);
    for (Py_ssize_t at = start; at < stop; at += ROWS) {
        const Py_ssize_t n = stop - at < ROWS ? stop - at : ROWS;
        widen(scores, at, n, block.p);
        if (!is_valid(&block, n))
            return 0;
        logarithms(&block, n);
        place(&block, n, grid, scores->type, 0);
        for (Py_ssize_t i = 0; i < n; i++)
            out[at + i] = block.cell[i];
    }
    return 1;
}

/* binary_pass(scores, labels, weights, sums, table, more, codes, start, stop, edges, near_one, reach, edges, ...): for
 * the rows from start, a multiple of PART, to stop, adds the sums of every part to `sums`, and either the moments of
 * every code to `table` and `more` or the codes themselves to `codes`; outputs that are None are left out. Returns 1 if
 * `more` is used, 0 if not, -1 if a row is invalid. */
static PyObject *binary_pass(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "bBhHiIqQfd", "?d", "?>d", "?>d", "?>d", "?>i", NULL};
    Array a[7], of_grids[2 * MOST_GRIDS];
    (void)self;
    const Py_ssize_t n_grids = (n_args - 9) / 3;
    if (n_args < 9 || n_args != 9 + 3 * n_grids || n_grids > MOST_GRIDS) {
        PyErr_SetString(PyExc_TypeError, "binary_pass: too few or too many arguments");
        return NULL;
    }
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const Py_ssize_t n = a[0].size;
    Py_ssize_t range[2], taken;
    Pass pass = {.scores = a[0], .labels = a[1], .weights = a[2], .sums = a[3].data, .n_grids = (int)n_grids};
    pass.table = a[4].data, pass.more = a[5].data, pass.codes = a[6].data;
    pass.moments = a[2].data == NULL ? 3 : 7, pass.soft = is_soft(a[1].type);
    int fits = take_numbers(args, 9, 7, 2, range) && is_within(range, n) && range[0] % PART == 0 && a[1].size == n;
    fits &= (a[2].data == NULL || a[2].size == n) && (a[3].data == NULL || a[3].size == (n + PART - 1) / PART * N_SUMS);
    const Py_ssize_t n_codes = take_grids(args + 9, n_grids, of_grids, pass.grids, &taken);
    fits &= n_codes > 0;
    if (pass.codes != NULL)
        fits &= a[6].size == n;
    else if (n_grids > 0)
        fits &= a[4].size == n_codes * 2 * pass.moments && a[5].size == a[4].size;
    PyObject *result = NULL;
    if (PyErr_Occurred() || !fits) {
        unfit("binary_pass");
    } else {
        int valid;
        Py_BEGIN_ALLOW_THREADS;
        valid = run(&pass, range[0], range[1]);
        Py_END_ALLOW_THREADS;
        result = PyLong_FromLong(valid ? pass.spilled : -1);
    }
    drop_arrays(of_grids, taken);
    drop_arrays(a, 7);
    return result;
}

/* logit_index(scores, edges, near_one, out, reach, start, stop): the cells of some rows on one grid. */
static PyObject *logit_index(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "d", "i", ">q", NULL};
    Array a[4];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    Py_ssize_t range[2];
    const int given = take_numbers(args, n_args, 5, 2, range);
    const Grid grid = {a[1].data, a[2].data, a[1].size - 1, a[2].size - 1, given ? PyFloat_AsDouble(args[4]) : 0};
    PyObject *result = NULL;
    if (!given || PyErr_Occurred() || a[2].data == NULL || !is_safe(&grid) || a[3].size != a[0].size ||
        !is_within(range, a[0].size)) {
        unfit("logit_index");
    } else {
        int valid;
        Py_BEGIN_ALLOW_THREADS;
        valid = index_rows(&a[0], &grid, range[0], range[1], a[3].data);
        Py_END_ALLOW_THREADS;
        if (valid)
            result = PyBool_FromLong(1);
        else
            PyErr_SetString(PyExc_ValueError, "logit_index: a score is not in [0, 1]");
    }
    drop_arrays(a, 4);
    return result;
}

PyMethodDef binary_pass_methods[] = {
    METHOD(logit_index),
    METHOD(binary_pass),
    NO_MORE_METHODS,
};
