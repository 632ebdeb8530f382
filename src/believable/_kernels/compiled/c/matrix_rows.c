/* What the rows of a matrix of probabilities, with one label each, add to the sums behind proper scores: one read.
 *
 * Rows come in tiles, as float64. Where classes are few a tile is turned on its side, because short rows do not
 * vectorise. The entry of a row's label is set aside: its 1 - p would be lost beside its p. */
#include "logarithm.h"

#define TILE_ROWS 64
#define TILE 16384      /* about this many entries */
#define FEW_CLASSES 32  /* tiles of no more classes are transposed */
#define LANES 8
#define TINY 2.2250738585072014e-308 /* 0 log 0 is 0: whatever the logarithm is, as long as it is finite */

enum { BRIER, NLL, CORRECT, CONFIDENCE, ENTROPY, OF_ROWS };
enum { W = OF_ROWS, W2, SPREAD, SPREAD_VARIANCE, W2X };
enum { W2XX = W2X + OF_ROWS, BY_CHANCE = W2XX + OF_ROWS, N_SUMS = BY_CHANCE + 2 };
enum { WP, DEVIATION, WY, W2Y, W2Y_BRIER, N_BY_CLASS };

/* Sums over the classes of each row. */
typedef struct {
    double top[TILE_ROWS], arg[TILE_ROWS], low[TILE_ROWS];
    double p[TILE_ROWS], squares[TILE_ROWS], cubes[TILE_ROWS];
    double p_log[TILE_ROWS], log_squares[TILE_ROWS], tilts[TILE_ROWS];
} Rows;

typedef struct {
    Array matrix, labels, weights;
    Py_ssize_t n, n_classes, padded, tile_rows; /* padded: classes up to whole lanes, each of them 0 */
    double *tile, *means;                       /* the tile; sums of p, squared deviations and means by class */
    double w[TILE_ROWS], own[TILE_ROWS], brier[TILE_ROWS];
    Py_ssize_t label[TILE_ROWS];
    double tolerance; /* tolerance of the sum of a row, which should be 1 */
    Rows rows;
} Job;

static int is_turned(const Job *job)
{
    return job->n_classes <= FEW_CLASSES;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

#define FILL(TYPE)                                                                                                     \
    do {                                                                                                               \
        const TYPE *from = (const TYPE *)job->matrix.data + start * n_classes;                                         \
        if (is_turned(job))                                                                                            \
            for (Py_ssize_t k = 0; k < n_classes; k++)                                                                 \
                for (Py_ssize_t i = 0; i < n; i++)                                                                     \
                    tile[k * TILE_ROWS + i] = (double)from[i * n_classes + k];                                         \
        else                                                                                                           \
            for (Py_ssize_t i = 0; i < n; i++)                                                                         \
                for (Py_ssize_t k = 0; k < n_classes; k++)                                                             \
                    tile[i * job->padded + k] = (double)from[i * n_classes + k];                                       \
    } while (0)

WIDER static void fill(const Job *job, double *tile, Py_ssize_t start, Py_ssize_t n)
{
    const Py_ssize_t n_classes = job->n_classes;
    if (job->matrix.type == 'f')
        FILL(float);
    else
        FILL(double);
}

static int64_t label_of(const Array *labels, Py_ssize_t i)
{
#define LABEL(TYPE) return (int64_t)((const TYPE *)labels->data)[i]
    OF_INTEGERS(labels->type, LABEL)
#undef LABEL
}

static double *entry(const Job *job, Py_ssize_t row, Py_ssize_t k)
{
    return job->tile + (is_turned(job) ? k * TILE_ROWS + row : row * job->padded + k);
}

/* Reads labels and weights of a tile, and the labels' entries; rows that pad the lanes have weight 0. Returns 0 if a
 * label is invalid. */
static int take_labels(Job *job, Py_ssize_t start, Py_ssize_t n)
{
    int valid = 1;
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++) {
        job->w[i] = i >= n ? 0 : job->weights.data == NULL ? 1 : ((const double *)job->weights.data)[start + i];
        const int64_t label = i < n ? label_of(&job->labels, start + i) : 0;
        const int fits = label >= 0 && label < (int64_t)job->n_classes;
        valid &= fits;
        job->label[i] = fits ? (Py_ssize_t)label : 0;
        job->own[i] = i < n ? *entry(job, i, job->label[i]) : 0.5;
    }
    return valid;
}

/* --- sums over classes -------------------------------------------------------------------------------------------- */

typedef struct {
    double p, squares, cubes, p_log, log_squares, tilts;
} Terms;

INLINE Terms terms_of(double p)
{
    const double log_p = logarithm_of_normal(p > TINY ? p : TINY, 0, 0), p_log = p * log_p;
    const double not_p = 1 - p, tilt = not_p - p, square = p * p;
    return (Terms){p, square, square * p, p_log, p_log * log_p, not_p * p * (tilt * tilt)};
}

#define ADD_TERMS(INTO, I, X)                                                                                          \
    do {                                                                                                               \
        const Terms t = terms_of(X);                                                                                   \
        INTO p[I] += t.p;                                                                                              \
        INTO squares[I] += t.squares;                                                                                  \
        INTO cubes[I] += t.cubes;                                                                                      \
        INTO p_log[I] += t.p_log;                                                                                      \
        INTO log_squares[I] += t.log_squares;                                                                          \
        INTO tilts[I] += t.tilts;                                                                                      \
    } while (0)

/* Sums over the classes of a transposed tile, in which the entries of labels are 0 and stored in `own`; also finds the
 * largest entry, and the first class that has it. */
WIDER static void sum_turned(const double *tile, Py_ssize_t n_classes, const double *own, const Py_ssize_t *label,
                             Rows *rows)
{
    memset(rows, 0, sizeof *rows);
    for (Py_ssize_t k = 0; k < n_classes; k++) {
        const double *p = tile + k * TILE_ROWS, number = (double)k;
        for (Py_ssize_t i = 0; i < TILE_ROWS; i++) {
            rows->arg[i] = p[i] > rows->top[i] ? number : rows->arg[i];
            rows->top[i] = p[i] > rows->top[i] ? p[i] : rows->top[i];
            rows->low[i] = p[i] < rows->low[i] ? p[i] : rows->low[i];
            ADD_TERMS(rows->, i, p[i]);
        }
    }
    /* From here on, arg is whether the label is the first class with the largest entry. */
    for (Py_ssize_t i = 0; i < TILE_ROWS; i++) {
        const double before = (double)label[i] < rows->arg[i] ? 1 : 0;
        const double tied = own[i] == rows->top[i] ? before : 0;
        rows->arg[i] = own[i] > rows->top[i] ? 1 : tied;
        rows->top[i] = own[i] > rows->top[i] ? own[i] : rows->top[i];
    }
}

static double total(const double *lanes)
{
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/* The same for one row. */
WIDER static void sum_row(const double *row, Py_ssize_t padded, double own, Py_ssize_t label, Rows *rows, Py_ssize_t at)
{
    double p[LANES] = {0}, squares[LANES] = {0}, cubes[LANES] = {0}, p_log[LANES] = {0}, log_squares[LANES] = {0};
    double tilts[LANES] = {0}, top[LANES] = {0}, low[LANES] = {0};
    for (Py_ssize_t k = 0; k < padded; k += LANES)
        for (int j = 0; j < LANES; j++) {
            const double x = row[k + j];
            top[j] = x > top[j] ? x : top[j];
            low[j] = x < low[j] ? x : low[j];
            ADD_TERMS(, j, x);
        }
    double largest = own, least = 0;
    for (int j = 0; j < LANES; j++) {
        largest = top[j] > largest ? top[j] : largest;
        least = low[j] < least ? low[j] : least;
    }
    Py_ssize_t first = own < largest ? -1 : 0; /* ties go to the lowest class */
    while (first >= 0 && first < label && row[first] < own)
        first++;
    rows->top[at] = largest, rows->arg[at] = first == label, rows->low[at] = least;
    rows->p[at] = total(p), rows->squares[at] = total(squares), rows->cubes[at] = total(cubes);
    rows->p_log[at] = total(p_log), rows->log_squares[at] = total(log_squares), rows->tilts[at] = total(tilts);
}

/* Whether the rows of a tile are probabilities that sum to one, within the tolerance; a sum that is NaN never does. */
static int are_probabilities(const Job *job, Py_ssize_t n)
{
    int well = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double sum = job->rows.p[i] + job->own[i];
        well &= (job->rows.low[i] >= 0) & (job->own[i] >= 0) & (job->rows.top[i] <= 1);
        well &= (sum >= 1 - job->tolerance) & (sum <= 1 + job->tolerance);
    }
    return well;
}

/* --- sums over rows ----------------------------------------------------------------------------------------------- */

WIDER static void sum_rows(Job *job, double *sums)
{
    double lane[N_SUMS][LANES] = {{0}};
    const Rows *const rows = &job->rows;
    for (Py_ssize_t start = 0; start < TILE_ROWS; start += LANES)
        for (int j = 0; j < LANES; j++) {
            const Py_ssize_t i = start + j;
            const double w = job->w[i], w2 = w * w, own = job->own[i], log_own = logarithm(own);
            const Terms its = terms_of(own);
            const double others = rows->squares[i], squares = others + its.squares, missed = 1 - own;
            const double entropy = -(rows->p_log[i] + its.p_log), brier = others + missed * missed;
            const double finite = own > 0 ? -log_own : 0;
            const double by_brier = 4 * (rows->cubes[i] + its.cubes - squares * squares);
            const double by_log = rows->log_squares[i] + its.log_squares - entropy * entropy;
            job->brier[i] = brier;
            lane[W][j] += w;
            lane[W2][j] += w2;
            lane[BRIER][j] += w * brier;
            lane[NLL][j] -= w * log_own;
            lane[CORRECT][j] += w * rows->arg[i];
            lane[CONFIDENCE][j] += w * rows->top[i];
            lane[ENTROPY][j] += w * entropy;
            lane[SPREAD][j] += w * ((1 - (rows->p[i] + own)) + 2 * (squares - own));
            lane[SPREAD_VARIANCE][j] += w2 * (rows->tilts[i] + its.tilts);
            lane[W2X + BRIER][j] += w2 * brier;
            lane[W2X + NLL][j] += w2 * finite;
            lane[W2X + CORRECT][j] += w2 * rows->arg[i];
            lane[W2X + CONFIDENCE][j] += w2 * rows->top[i];
            lane[W2X + ENTROPY][j] += w2 * entropy;
            lane[W2XX + BRIER][j] += w2 * (brier * brier);
            lane[W2XX + NLL][j] += w2 * (finite * finite);
            lane[W2XX + CORRECT][j] += w2 * rows->arg[i];
            lane[W2XX + CONFIDENCE][j] += w2 * (rows->top[i] * rows->top[i]);
            lane[W2XX + ENTROPY][j] += w2 * (entropy * entropy);
            lane[BY_CHANCE][j] += w2 * (by_brier > 0 ? by_brier : 0);
            lane[BY_CHANCE + 1][j] += w2 * (by_log > 0 ? by_log : 0);
        }
    for (int k = 0; k < N_SUMS; k++)
        sums[k] = total(lane[k]);
}

/* Sums of w p and of w (p - their mean)^2 over the rows of a tile, by class. */
WIDER static void sum_classes(const Job *job, Py_ssize_t n, double weight, double *wp, double *deviation)
{
    const double *const w = job->w;
    if (is_turned(job)) {
        for (Py_ssize_t k = 0; k < job->n_classes; k++) {
            const double *p = job->tile + k * TILE_ROWS;
            double lanes[LANES] = {0}, away[LANES] = {0};
            for (Py_ssize_t start = 0; start < TILE_ROWS; start += LANES)
                for (int j = 0; j < LANES; j++)
                    lanes[j] += w[start + j] * p[start + j];
            wp[k] = total(lanes);
            const double mean = wp[k] / weight;
            for (Py_ssize_t start = 0; start < TILE_ROWS; start += LANES)
                for (int j = 0; j < LANES; j++) {
                    const double d = p[start + j] - mean;
                    away[j] += w[start + j] * (d * d);
                }
            deviation[k] = total(away);
        }
        return;
    }
    double *const mean = job->means;
    memset(wp, 0, (size_t)job->padded * sizeof(double));
    memset(deviation, 0, (size_t)job->padded * sizeof(double));
    for (Py_ssize_t i = 0; i < n; i++)
        for (Py_ssize_t k = 0; k < job->padded; k++)
            wp[k] += w[i] * job->tile[i * job->padded + k];
    for (Py_ssize_t k = 0; k < job->padded; k++)
        mean[k] = wp[k] / weight;
    for (Py_ssize_t i = 0; i < n; i++)
        for (Py_ssize_t k = 0; k < job->padded; k++) {
            const double d = job->tile[i * job->padded + k] - mean[k];
            deviation[k] += w[i] * (d * d);
        }
}

/* Deviations are from each part's own mean (Chan et al. 1983): a sum of squares minus a square would cancel. */
WIDER static void add_classes(double *into, Py_ssize_t n_classes, double mine, const double *wp,
                              const double *deviation, double others)
{
    double *const wp_into = into + WP * n_classes, *const deviation_into = into + DEVIATION * n_classes;
    const double times = mine > 0 ? mine / (mine + others) * others : 0, per_mine = mine > 0 ? 1 / mine : 0;
    const double per_other = 1 / others;
    for (Py_ssize_t k = 0; k < n_classes; k++) {
        const double apart = wp_into[k] * per_mine - wp[k] * per_other;
        deviation_into[k] += deviation[k] + apart * apart * times;
        wp_into[k] += wp[k];
    }
}

/* --- a range of rows ---------------------------------------------------------------------------------------------- */

/* Adds the rows from start to stop to the sums of a part; 0 if a label or a row is invalid. */
static int run(Job *job, Py_ssize_t start, Py_ssize_t stop, double *sums, double *by_class)
{
    double of_tile[N_SUMS], *const wp = job->means + job->padded, *const deviation = wp + job->padded;
    for (Py_ssize_t at = start; at < stop; at += job->tile_rows) {
        const Py_ssize_t n = stop - at < job->tile_rows ? stop - at : job->tile_rows;
        fill(job, job->tile, at, n);
        if (!take_labels(job, at, n))
            return 0;
        for (Py_ssize_t i = 0; i < n; i++)
            *entry(job, i, job->label[i]) = 0;
        if (is_turned(job))
            sum_turned(job->tile, job->n_classes, job->own, job->label, &job->rows);
        else
            for (Py_ssize_t i = 0; i < n; i++)
                sum_row(job->tile + i * job->padded, job->padded, job->own[i], job->label[i], &job->rows, i);
        if (!are_probabilities(job, n))
            return 0;
        sum_rows(job, of_tile);
        for (Py_ssize_t i = 0; i < n; i++) {
            const double w = job->w[i], w2 = w * w;
            double *const of_label = by_class + job->label[i];
            *entry(job, i, job->label[i]) = job->own[i];
            of_label[WY * job->n_classes] += w;
            of_label[W2Y * job->n_classes] += w2;
            of_label[W2Y_BRIER * job->n_classes] += w2 * job->brier[i];
        }
        sum_classes(job, n, of_tile[W], wp, deviation);
        add_classes(by_class, job->n_classes, sums[W], wp, deviation, of_tile[W]);
        for (int k = 0; k < N_SUMS; k++)
            sums[k] += of_tile[k];
    }
    return 1;
}

/* matrix_sums(matrix, labels, weights, sums, by_class, tolerance, rows, first, last): adds the parts from first to
 * last, of `rows` rows each, to `sums` (parts, N_SUMS) and `by_class` (parts, N_BY_CLASS, classes). Returns True if all
 * entries are probabilities, labels are classes, and rows sum to one within the tolerance. If not, the sums are
 * meaningless. */
static PyObject *matrix_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"fd", "bBhHiIq", "?d", ">d", ">d", NULL};
    Array a[5];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    Py_ssize_t numbers[3];
    const int given = take_numbers(args, n_args, 6, 3, numbers);
    const double tolerance = given ? PyFloat_AsDouble(args[5]) : 0;
    const Py_ssize_t each = numbers[0], first = numbers[1], last = numbers[2], n = a[1].size;
    const Py_ssize_t n_classes = n > 0 ? a[0].size / n : 0, n_parts = n > 0 && each > 0 ? (n - 1) / each + 1 : 0;
    PyObject *result = NULL;
    Job *job = NULL;
    if (!given || PyErr_Occurred() || n_classes < 1 || a[0].size != n * n_classes ||
        (a[2].data != NULL && a[2].size != n) || !is_within(numbers + 1, n_parts) || a[3].size != n_parts * N_SUMS ||
        a[4].size != n_parts * N_BY_CLASS * n_classes) {
        unfit("matrix_sums");
    } else if ((job = calloc(1, sizeof *job)) == NULL) {
        PyErr_NoMemory();
    } else {
        job->matrix = a[0], job->labels = a[1], job->weights = a[2], job->n = n, job->n_classes = n_classes;
        job->tolerance = tolerance;
        job->padded = (n_classes + LANES - 1) / LANES * LANES;
        job->tile_rows = is_turned(job) || TILE / job->padded > TILE_ROWS ? TILE_ROWS : TILE / job->padded;
        job->tile_rows = job->tile_rows < 1 ? 1 : job->tile_rows;
        const Py_ssize_t entries = is_turned(job) ? n_classes * TILE_ROWS : job->tile_rows * job->padded;
        job->tile = calloc((size_t)(entries + 3 * job->padded), sizeof(double));
        int valid = 1;
        if (job->tile == NULL) {
            PyErr_NoMemory();
        } else {
            job->means = job->tile + entries;
            Py_BEGIN_ALLOW_THREADS;
            for (Py_ssize_t part = first; part < last && valid; part++)
                valid = run(job, part * each, n - part * each < each ? n : (part + 1) * each,
                            (double *)a[3].data + part * N_SUMS, (double *)a[4].data + part * N_BY_CLASS * n_classes);
            Py_END_ALLOW_THREADS;
            result = PyBool_FromLong(valid);
            free(job->tile);
        }
        free(job);
    }
    drop_arrays(a, 5);
    return result;
}

PyMethodDef matrix_rows_methods[] = {
    METHOD(matrix_sums),
    NO_MORE_METHODS,
};
