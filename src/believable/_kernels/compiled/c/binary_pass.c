/* One read of 1-D scores and their outcomes: the sums behind proper scores, and the sums of every cell on several
 * grids.
 *
 * A row's cell grows with its score on every grid, so the sum of its cell numbers, its code, determines each of them:
 * rows are summed by code, once. The same read checks every row: scores must be in [0, 1], and labels 0, 1, or shares
 * between them. */
#include "coded.h"
#include "logarithm.h"

#define ROWS 256       /* rows of a block, whose buffers fit in the L1 cache */
#define AHEAD 16       /* rows whose slots are prefetched: the tables do not fit in a near cache */
#define PART 65536     /* rows summed as one part, so that the result does not depend on the threads */
#define LANES 8        /* rows of a block alternate among lanes: sums vectorise, and round less */
#define BY_ITSELF 4096 /* rows that a slot sums before it is added to its code */
#define MOST_GRIDS 8
#define MOST_CELLS (1 << 27) /* largest sum of cells of a code, so that positions and codes fit into an int32 */
#define LARGEST_LOGIT 36.75  /* logit of the float64 below 1, log(2^53 - 1), plus a little for rounding */

enum { W, W2, WP, WY, BRIER, NLL, CORRECT, CONFIDENCE, ENTROPY, SPREAD, SPREAD_VARIANCE, W2_SQUARED, DEVIATION };
#define N_SUMS 13

typedef struct {
    const double *edges;   /* n + 1 of them */
    const int32_t *table;  /* for logit-spaced cells: number of edges below the scores next to 1 */
    Py_ssize_t n, n_table; /* cells between {0} and {1}; last entry of the table */
    double reach;
} Grid;

typedef struct {
    Array scores, labels, weights;
    Grid grids[MOST_GRIDS];
    int n_grids, moments, soft;
    double *sums;          /* N_SUMS for each part */
    double *table, *more;  /* by code: moments of outcome 0 (of all rows, if labels are shares), and of outcome 1 */
    int32_t *codes;        /* used instead of the tables */
    int spilled;           /* something is in `more` */
} Pass;

typedef struct {
    double p[ROWS], y[ROWS], w[ROWS], log_p[ROWS], log_q[ROWS], place[ROWS], window[ROWS];
    int32_t code[ROWS], cell[ROWS + AHEAD], look[ROWS];
} Block;

/* --- from the arrays to float64 ----------------------------------------------------------------------------------- */

#define WIDEN(TYPE)                                                                                                    \
    for (Py_ssize_t i = 0; i < n; i++)                                                                                 \
        to[i] = (double)((const TYPE *)array->data)[start + i]

WIDER static void widen(const Array *array, Py_ssize_t start, Py_ssize_t n, double *to)
{
    OF_ENTRIES(array->type, WIDEN)
}

/* Blocks are padded to whole lanes with rows of weight 0. */
static Py_ssize_t filled(Py_ssize_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

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

/* Computes log p and log(1 - p), with 0 instead of -infinity, because 0 log 0 is 0 in the entropy. 1 - p is rounded,
 * and its rounding error is added back. */
WIDER static void logarithms(Block *block, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double p = block->p[i], q = 1 - p, log_p = logarithm(p);
        block->log_p[i] = p > 0 ? log_p : 0;
        block->log_q[i] = logarithm_of_normal(q > 0 ? q : 1, q > 0 ? (1 - q) - p : 0, 0);
    }
}

/* --- sums of rows ------------------------------------------------------------------------------------------------- */

static double total(const double *lanes)
{
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/* n is a multiple of LANES; rows beyond the block's have weight 0. */
WIDER static void sum_block(const Block *block, Py_ssize_t n, double *sums)
{
    double lane[N_SUMS + 1][LANES] = {{0}};
    for (Py_ssize_t start = 0; start < n; start += LANES)
        for (int j = 0; j < LANES; j++) {
            const Py_ssize_t i = start + j;
            const double p = block->p[i], y = block->y[i], w = block->w[i], w2 = w * w, q = 1 - p, not_y = 1 - y;
            const double log_p = block->log_p[i], log_q = block->log_q[i], tilt = q - p;
            const double brier = y * (q * q) + not_y * (p * p), impossible = (p > 0 ? 0 : y) + (q > 0 ? 0 : not_y);
            lane[W][j] += w;
            lane[W2][j] += w2;
            lane[WP][j] += w * p;
            lane[WY][j] += w * y;
            lane[BRIER][j] += w * brier;
            lane[NLL][j] -= w * (y * log_p + not_y * log_q);
            lane[CORRECT][j] += w * (p > 0.5 ? y : not_y);
            lane[CONFIDENCE][j] += w * (p > q ? p : q);
            lane[ENTROPY][j] -= w * (p * log_p + q * log_q);
            lane[SPREAD][j] += w * ((y - p) * tilt);
            lane[SPREAD_VARIANCE][j] += w2 * ((tilt * tilt) * (q * p));
            lane[W2_SQUARED][j] += w2 * brier;
            lane[N_SUMS][j] += w * impossible;
        }
    for (int k = 0; k < DEVIATION; k++)
        sums[k] = total(lane[k]);
    if (total(lane[N_SUMS]) > 0)
        sums[NLL] = (double)INFINITY;
    const double mean = sums[WP] / sums[W];
    double deviation[LANES] = {0};
    for (Py_ssize_t start = 0; start < n; start += LANES)
        for (int j = 0; j < LANES; j++) {
            const double away = block->p[start + j] - mean;
            deviation[j] += block->w[start + j] * (away * away);
        }
    sums[DEVIATION] = total(deviation);
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

/* --- cells -------------------------------------------------------------------------------------------------------- */

/* Writes the cell of each row among n cells to `cell`, and to `look` whether rounding may have changed it. */
WIDER static void place_uniform(Block *block, Py_ssize_t n, double cells, double window)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double product = block->p[i] * cells;
        const int32_t k = (int32_t)product;
        block->cell[i] = k;
        block->look[i] = product - k <= window;
    }
}

/* The same for logit-spaced cells; a score of 0, or of at least `high`, must be looked up too. Two loops, because one
 * would not be vectorised. */
WIDER static void place_logit(Block *block, Py_ssize_t n, double per_unit, double middle, double window, double high)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double x = (block->log_p[i] - block->log_q[i]) * per_unit + middle, p = block->p[i];
        block->place[i] = x > 0 ? x : 0;
        block->window[i] = fabs(p - high / 2) < high / 2 ? window : 2;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        const int32_t k = (int32_t)block->place[i];
        block->cell[i] = k;
        block->look[i] = block->place[i] - k <= block->window[i];
    }
}

/* The entry of a table, if it is a valid cell. */
INLINE int32_t capped(int32_t cell, int32_t last)
{
    return (uint32_t)cell < (uint32_t)last ? cell : last;
}

/* Finds the number of inner edges below each score, by the rules of `uniform_floor` and `logit_floor`; with `apart`, 0
 * and 1 have their own cells, before and after the others. */
static void place(Block *block, Py_ssize_t n, const Grid *grid, char type, int apart)
{
    const double below_one = type == 'f' ? 5.960464477539063e-08 : 1.1102230246251565e-16; /* spacing of scores there */
    double high = 2;
    if (grid->table == NULL) {
        place_uniform(block, n, (double)grid->n, 4 * (double)grid->n * below_one);
    } else {
        const double per_unit = (double)grid->n / (2 * grid->reach), window = per_unit * 2 / (double)grid->n_table;
        high = 1 - (double)grid->n_table * below_one;
        place_logit(block, n, per_unit, grid->reach * per_unit + window, 2 * window, high);
    }
    int32_t open[ROWS];
    Py_ssize_t n_open = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        open[n_open] = (int32_t)i;
        n_open += block->look[i];
    }
    for (Py_ssize_t at = 0; at < n_open; at++) {
        const Py_ssize_t i = open[at];
        const double p = block->p[i];
        int32_t k = block->cell[i];
        if (p <= 0)
            k = -apart;
        else if (p >= 1 && apart)
            k = (int32_t)grid->n;
        else if (p >= high)
            k = capped(grid->table[(Py_ssize_t)((1 - p) / below_one)], (int32_t)grid->n - 1);
        else
            k -= p <= grid->edges[k] && k > 0;
        block->cell[i] = k;
    }
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

/* Whether no position can lie beyond the edges: the edges must reach as far as the largest logit plus its rounding
 * window. */
static int is_safe(const Grid *grid)
{
    if (grid->n < 1 || grid->n > MOST_CELLS)
        return 0;
    return grid->table == NULL || (grid->n_table >= 1 && grid->reach >= LARGEST_LOGIT + 2.0 / (double)grid->n_table);
}

/* --- a range of rows ---------------------------------------------------------------------------------------------- */

/* Sums a range of rows; returns 0 if a row is invalid. */
static int run(Pass *pass, Py_ssize_t start, Py_ssize_t stop)
{
    Block block;
    double sums[N_SUMS];
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
    static const char *const GRID[] = {"d", "?i", NULL};
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
    Py_ssize_t range[2], n_codes = 1;
    Pass pass = {.scores = a[0], .labels = a[1], .weights = a[2], .sums = a[3].data};
    pass.table = a[4].data, pass.more = a[5].data, pass.codes = a[6].data;
    pass.moments = a[2].data == NULL ? 3 : 7, pass.soft = is_soft(a[1].type);
    int fits = take_numbers(args, 9, 7, 2, range) && is_within(range, n) && range[0] % PART == 0 && a[1].size == n;
    fits &= (a[2].data == NULL || a[2].size == n) && (a[3].data == NULL || a[3].size == (n + PART - 1) / PART * N_SUMS);
    for (Py_ssize_t k = 0; k < n_grids && !PyErr_Occurred(); k++) {
        Array *own = &of_grids[2 * k];
        if (!take_arrays(args + 9 + 3 * k, 2, GRID, own))
            break;
        pass.n_grids++;
        const double reach = PyFloat_AsDouble(args[11 + 3 * k]);
        pass.grids[k] = (Grid){own[0].data, own[1].data, own[0].size - 1, own[1].size - 1, reach};
        n_codes += pass.grids[k].n + 1;
        fits &= is_safe(&pass.grids[k]) && n_codes <= MOST_CELLS;
    }
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
    drop_arrays(of_grids, 2 * pass.n_grids);
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
