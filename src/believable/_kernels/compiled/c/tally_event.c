/* Scores of one event for a tally: their sums, and the slot of every row in the table. */
#include "event.h"
#include "exponential.h"
#include "tally.h"

#define LARGEST_DOUBLE 1.7976931348623157e308

enum { EVENT_WP = N_TALLY_SUMS, EVENT_WPP, EVENT_WY, N_EVENT_SUMS };

typedef struct {
    GivenRows rows;
    Grid grids[MOST_GRIDS];
    Py_ssize_t n_grids;
    int32_t *slots;        /* by row: twice the code, plus the outcome */
    double *probabilities; /* by row, if scores are logits */
} Pass;

/* Gives the rows of a block that are left out weight 0, and a score and label that change nothing; returns how many
 * rows are counted, or -1 if a weight is invalid. */
static Py_ssize_t leave_out(const GivenRows *rows, Block *block, Py_ssize_t at, Py_ssize_t n)
{
    Py_ssize_t n_counted = 0;
    int valid = 1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (block->w[i] == 0 || (rows->is_ignoring && label_of(&rows->labels, at + i) == rows->ignored)) {
            block->p[i] = 0.5, block->y[i] = 0, block->w[i] = 0;
        } else {
            valid &= is_weight(block->w[i]);
            n_counted++;
        }
    return valid ? n_counted : -1;
}

/* Whether what is counted is valid. */
WIDER static int is_valid(const Block *block, Py_ssize_t n, double low, double high)
{
    int32_t bad = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double p = block->p[i], y = block->y[i];
        bad += (p >= low ? 0 : 1) + (p <= high ? 0 : 1) + (y >= 0 ? 0 : 1) + (y <= 1 ? 0 : 1);
    }
    return bad == 0;
}

/* Finite for every logit, unlike 1 / (1 + exp(-z)). */
WIDER static void sigmoids(Block *block, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double z = block->p[i], e = exponential(-fabs(z));
        block->p[i] = (z < 0 ? e : 1) / (1 + e);
    }
}

static void add_block(const Block *block, Py_ssize_t n, Py_ssize_t n_counted, double *into)
{
    static const int SAME[][2] = {{SUM_W, W}, {SUM_W2, W2}, {SUM_TERMS + ROW_BRIER, BRIER}, {SUM_TERMS + ROW_NLL, NLL},
                                  {SUM_TERMS + ROW_CORRECT, CORRECT}, {SUM_TERMS + ROW_CONFIDENCE, CONFIDENCE},
                                  {SUM_TERMS + ROW_ENTROPY, ENTROPY}, {SUM_SPREAD, SPREAD},
                                  {SUM_SPREAD_VARIANCE, SPREAD_VARIANCE}, {SUM_W2_SQUARED, W2_SQUARED},
                                  {EVENT_WP, WP}, {EVENT_WY, WY}};
    double sums[N_SUMS];
    sum_block(block, filled(n), sums);
    for (size_t k = 0; k < sizeof SAME / sizeof *SAME; k++)
        into[SAME[k][0]] += sums[SAME[k][1]];
    into[SUM_N] += (double)n_counted;
    into[EVENT_WPP] += sums[DEVIATION] + sums[WP] / sums[W] * sums[WP];
}

WIDER static void add_cells(Block *block, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        block->code[i] += block->cell[i] + 1;
}

WIDER static void slots_of(const Block *block, Py_ssize_t n, int32_t *slots)
{
    for (Py_ssize_t i = 0; i < n; i++)
        slots[i] = 2 * block->code[i] + (int32_t)block->y[i];
}

static void write_slots(const Pass *pass, Block *block, Py_ssize_t at, Py_ssize_t n)
{
    const char type = pass->probabilities != NULL ? 'd' : pass->rows.scores.type;
    memset(block->code, 0, sizeof block->code);
    for (Py_ssize_t grid = 0; grid < pass->n_grids; grid++) {
        place(block, n, &pass->grids[grid], type, 1);
        add_cells(block, n);
    }
    slots_of(block, n, pass->slots + at);
}

/* Adds the sums of a range of rows to `into`; returns 0 if a row is invalid. */
static int run(const Pass *pass, Py_ssize_t start, Py_ssize_t stop, double *into)
{
    Block block;
    const GivenRows *const rows = &pass->rows;
    const int may_leave_out = rows->weights.data != NULL || rows->is_ignoring;
    const double low = rows->from_logits ? -LARGEST_DOUBLE : 0, high = rows->from_logits ? LARGEST_DOUBLE : 1;
    memset(&block, 0, sizeof block);
    for (Py_ssize_t at = start; at < stop; at += ROWS) {
        const Py_ssize_t n = stop - at < ROWS ? stop - at : ROWS, n_lanes = filled(n);
        widen(&rows->scores, at, n, block.p);
        widen(&rows->labels, at, n, block.y);
        if (rows->weights.data != NULL)
            widen(&rows->weights, at, n, block.w);
        else
            for (Py_ssize_t i = 0; i < n; i++)
                block.w[i] = 1;
        const Py_ssize_t n_counted = may_leave_out ? leave_out(rows, &block, at, n) : n;
        if (n_counted < 0 || !is_valid(&block, n, low, high))
            return 0;
        if (rows->from_logits)
            sigmoids(&block, n);
        if (pass->probabilities != NULL)
            memcpy(pass->probabilities + at, block.p, (size_t)n * sizeof(double));
        for (Py_ssize_t i = n; i < n_lanes; i++)
            block.p[i] = 0.5, block.y[i] = 0, block.w[i] = 0;
        logarithms(&block, n_lanes);
        if (n_counted > 0)
            add_block(&block, n, n_counted, into);
        write_slots(pass, &block, at, n);
        for (Py_ssize_t i = 0; n_counted < n && i < n; i++)
            if (block.w[i] == 0)
                pass->slots[at + i] = LEFT_OUT;
    }
    return 1;
}

/* tally_event(scores, labels, weights, sums, slots, probabilities, from_logits, is_ignoring, ignored, each, first,
 * last, edges, near_one, reach, edges, ...): adds the sums of the parts from first to last, of `each` rows, to `sums`
 * (parts, N_EVENT_SUMS), and writes the slots of their rows; probabilities are written if the scores are logits, and
 * None otherwise. Returns whether every row is valid; if not, the results are meaningless. */
static PyObject *tally_event(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "bBhHiIq", "?d", ">d", ">i", "?>d", NULL};
    enum { N_ARRAYS = 6, N_FIXED = 12 };
    Array a[N_ARRAYS], of_grids[2 * MOST_GRIDS];
    Py_ssize_t numbers[N_FIXED - N_ARRAYS], taken;
    (void)self;
    const Py_ssize_t n_grids = (n_args - N_FIXED) / 3;
    if (n_args < N_FIXED + 3 || n_args != N_FIXED + 3 * n_grids || n_grids > MOST_GRIDS) {
        PyErr_SetString(PyExc_TypeError, "tally_event: too few or too many arguments");
        return NULL;
    }
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, N_FIXED, N_ARRAYS, N_FIXED - N_ARRAYS, numbers);
    Pass pass = {.rows = given_rows(a, numbers), .n_grids = n_grids, .slots = a[4].data, .probabilities = a[5].data};
    const Py_ssize_t n_codes = take_grids(args + N_FIXED, n_grids, of_grids, pass.grids, &taken);
    const Py_ssize_t n = a[0].size, each = numbers[3], first = numbers[4], last = numbers[5];
    const Py_ssize_t n_parts = n > 0 && each > 0 ? (n - 1) / each + 1 : 0;
    PyObject *result = NULL;
    if (!given || PyErr_Occurred() || n_codes == 0 || a[1].size != n || (a[2].data != NULL && a[2].size != n) ||
        a[3].size != n_parts * N_EVENT_SUMS || a[4].size != n || (a[5].data != NULL) != pass.rows.from_logits ||
        (a[5].data != NULL && a[5].size != n) || !is_within(numbers + 4, n_parts)) {
        unfit("tally_event");
    } else {
        int valid = 1;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t part = first; part < last && valid; part++)
            valid = run(&pass, part * each, n - part * each < each ? n : (part + 1) * each,
                        (double *)a[3].data + part * N_EVENT_SUMS);
        Py_END_ALLOW_THREADS;
        result = PyBool_FromLong(valid);
    }
    drop_arrays(of_grids, taken);
    drop_arrays(a, N_ARRAYS);
    return result;
}

PyMethodDef tally_event_methods[] = {
    METHOD(tally_event),
    NO_MORE_METHODS,
};
