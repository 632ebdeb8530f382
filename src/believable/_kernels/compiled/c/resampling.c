/* Sums by cell of outcomes that are drawn repeatedly, and of pairs of drawn labels. */
#include "arrays.h"

#define BLOCK 256 /* rows processed for every replicate before the next block */
#define FEW 32    /* for no more classes, the label is counted instead of searched */

/* --- labels drawn from the probabilities of their rows --- */

typedef struct {
    const double *uniform, *reached, *weights; /* (draws, n), (n, width), (n) or NULL */
    const int32_t *cells;                      /* (n, width); negative if an entry is not counted */
    double *out;                               /* (draws, n_cells) */
    Py_ssize_t n, width, n_cells;
} Labels;

/* Finds the label of each of some rows: how many of the running sums of its probabilities, except the last, are at most
 * the uniform number times the last. */
WIDER static void count_reached(const double *restrict uniform, const double *restrict columns, Py_ssize_t rows,
                                Py_ssize_t width, int64_t *restrict labels)
{
    const double *total = columns + (width - 1) * BLOCK;
    for (Py_ssize_t i = 0; i < rows; i++)
        labels[i] = 0;
    for (Py_ssize_t k = 0; k + 1 < width; k++)
        for (Py_ssize_t i = 0; i < rows; i++)
            labels[i] += uniform[i] * total[i] >= columns[k * BLOCK + i];
}

static void search_reached(const double *uniform, const double *reached, Py_ssize_t rows, Py_ssize_t width,
                           int64_t *labels)
{
    for (Py_ssize_t i = 0; i < rows; i++) {
        const double *row = reached + i * width, goal = uniform[i] * row[width - 1];
        Py_ssize_t low = 0, high = width - 1;
        while (low < high) {
            const Py_ssize_t middle = (low + high) / 2;
            if (goal >= row[middle])
                low = middle + 1;
            else
                high = middle;
        }
        labels[i] = low;
    }
}

static int add_labels(const Labels *job, Py_ssize_t start, Py_ssize_t stop)
{
    double columns[FEW * BLOCK];
    int64_t labels[BLOCK];
    int bad = 0;
    for (Py_ssize_t first = 0; first < job->n; first += BLOCK) {
        const Py_ssize_t rows = job->n - first < BLOCK ? job->n - first : BLOCK, width = job->width;
        const double *reached = job->reached + first * width;
        if (width <= FEW)
            for (Py_ssize_t i = 0; i < rows; i++)
                for (Py_ssize_t k = 0; k < width; k++)
                    columns[k * BLOCK + i] = reached[i * width + k];
        for (Py_ssize_t draw = start; draw < stop; draw++) {
            const double *uniform = job->uniform + draw * job->n + first;
            double *out = job->out + draw * job->n_cells;
            if (width <= FEW)
                count_reached(uniform, columns, rows, width, labels);
            else
                search_reached(uniform, reached, rows, width, labels);
            for (Py_ssize_t i = 0; i < rows; i++) {
                const int32_t cell = job->cells[(first + i) * width + labels[i]];
                if (cell >= job->n_cells)
                    bad = 1;
                else if (cell >= 0)
                    out[cell] += job->weights == NULL ? 1 : job->weights[first + i];
            }
        }
    }
    return bad;
}

/* label_sums(uniform, reached, cells, weights, out, n, width, n_cells, start, stop): adds the weights of drawn labels
 * to their cells, for the replicates from start to stop. */
static PyObject *label_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", "i", "?d", ">d", NULL};
    Array a[5];
    Py_ssize_t at[5];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 5, 5, at);
    const Labels job = {a[0].data, a[1].data, a[3].data, a[2].data, a[4].data, at[0], at[1], at[2]};
    int bad = !given || job.n < 1 || job.width < 1 || job.n_cells < 1 || a[1].size / job.width != job.n ||
              a[1].size % job.width != 0 || a[2].size != a[1].size || (job.weights != NULL && a[3].size != job.n) ||
              !is_within(at + 3, a[0].size / job.n) || at[4] > a[4].size / job.n_cells;
    if (!bad) {
        Py_BEGIN_ALLOW_THREADS;
        bad = add_labels(&job, at[3], at[4]);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 5);
    return bad ? unfit("label_sums") : Py_NewRef(Py_None);
}

typedef struct {
    const double *uniform, *chances, *weights; /* (draws, n), (n), (n) or NULL */
    const int32_t *cells;                      /* (n) */
    double *out;                               /* (draws, n_cells) */
    Py_ssize_t n, n_cells;
} Events;

static int add_events(const Events *job, Py_ssize_t start, Py_ssize_t stop)
{
    int bad = 0;
    for (Py_ssize_t draw = start; draw < stop; draw++) {
        const double *uniform = job->uniform + draw * job->n, *chances = job->chances, *weights = job->weights;
        double *out = job->out + draw * job->n_cells;
        for (Py_ssize_t i = 0; i < job->n; i++) {
            const int32_t cell = job->cells[i];
            if (cell >= job->n_cells)
                bad = 1;
            else if (cell >= 0)
                out[cell] += uniform[i] < chances[i] ? (weights == NULL ? 1 : weights[i]) : 0;
        }
    }
    return bad;
}

/* event_sums(uniform, chances, cells, weights, out, n, n_cells, start, stop): the same for events that occur if the
 * uniform number is below their probability. */
static PyObject *event_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "d", "i", "?d", ">d", NULL};
    Array a[5];
    Py_ssize_t at[4];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 5, 4, at);
    const Py_ssize_t n = at[0], n_cells = at[1];
    int bad = !given || n < 1 || n_cells < 1 || a[1].size != n || a[2].size != n ||
              (a[3].data != NULL && a[3].size != n) || !is_within(at + 2, a[0].size / n) ||
              at[3] > a[4].size / n_cells;
    if (!bad) {
        const Events job = {a[0].data, a[1].data, a[3].data, a[2].data, a[4].data, n, n_cells};
        Py_BEGIN_ALLOW_THREADS;
        bad = add_events(&job, at[2], at[3]);
        Py_END_ALLOW_THREADS;
    }
    drop_arrays(a, 5);
    return bad ? unfit("event_sums") : Py_NewRef(Py_None);
}

/* --- pairs of drawn labels --- */

/* Rows of one side of a tile whose label is not the one that was expected, by label (+) and by the one expected (-). */
typedef struct {
    Py_ssize_t *starts[2]; /* width + 1 of each */
    int32_t *rows[2];
} Sides;

typedef struct {
    const double *k;                 /* (n_a, n_b) */
    const int32_t *labels, *expected; /* (draws, n), (n) */
    Py_ssize_t n, width, a, n_a, b, n_b;
} Tile;

static int sort_side(const int32_t *labels, const int32_t *expected, Py_ssize_t n, Py_ssize_t width, Sides *sides)
{
    for (int side = 0; side < 2; side++) {
        const int32_t *by = side == 0 ? labels : expected;
        Py_ssize_t *ends = sides->starts[side]; /* of classes, and of all after them */
        memset(ends, 0, (size_t)(width + 1) * sizeof *ends);
        for (Py_ssize_t i = 0; i < n; i++) {
            if (labels[i] < 0 || labels[i] >= width || expected[i] < 0 || expected[i] >= width)
                return 1;
            ends[by[i]] += labels[i] != expected[i];
        }
        for (Py_ssize_t c = 0; c < width; c++)
            ends[c + 1] += ends[c];
        for (Py_ssize_t i = n; i-- > 0;) /* from behind: then every class's end becomes its start */
            if (labels[i] != expected[i])
                sides->rows[side][--ends[by[i]]] = (int32_t)i;
    }
    return 0;
}

/* Returns the sum of a row's entries at the rows whose label is a class, minus that at the rows where it was expected.
 * */
INLINE double net(const double *row, const Sides *sides, Py_ssize_t c)
{
    double found[2];
    for (int side = 0; side < 2; side++) {
        const int32_t *rows = sides->rows[side];
        const Py_ssize_t stop = sides->starts[side][c + 1];
        Py_ssize_t j = sides->starts[side][c];
        double even = 0, odd = 0;
        for (; j + 1 < stop; j += 2) {
            even += row[rows[j]];
            odd += row[rows[j + 1]];
        }
        found[side] = even + odd + (j < stop ? row[rows[j]] : 0);
    }
    return found[0] - found[1];
}

/* Returns the sum over a tile of k_ij <D_i, D_j>, with D_i = e_label - e_expected; sets `bad` if a label is invalid. */
static double tile_sum(const Tile *tile, Py_ssize_t draw, Sides *sides, int *bad)
{
    const int32_t *labels = tile->labels + draw * tile->n, *expected = tile->expected;
    double total = 0;
    if (sort_side(labels + tile->b, expected + tile->b, tile->n_b, tile->width, sides)) {
        *bad = 1;
        return 0;
    }
    for (Py_ssize_t i = 0; i < tile->n_a; i++) {
        const int32_t label = labels[tile->a + i], other = expected[tile->a + i];
        if (label < 0 || label >= tile->width || other < 0 || other >= tile->width)
            *bad = 1;
        else if (label != other)
            total += net(tile->k + i * tile->n_b, sides, label) - net(tile->k + i * tile->n_b, sides, other);
    }
    return total;
}

/* pair_sums_of_labels(k, labels, expected, out, width, a, n_a, b, n_b, start, stop): adds to out, for each replicate
 * from start to stop, the sum over rows a.. and columns b.. of k_ij <D_i, D_j>. */
static PyObject *pair_sums_of_labels(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    static const char *const TAKES[] = {"d", "i", "i", ">d", NULL};
    Array a[4];
    Py_ssize_t at[7];
    (void)self;
    if (!take_arrays(args, n_args, TAKES, a))
        return NULL;
    const int given = take_numbers(args, n_args, 4, 7, at);
    const Py_ssize_t n = a[2].size;
    const Tile tile = {a[0].data, a[1].data, a[2].data, n, at[0], at[1], at[2], at[3], at[4]};
    int bad = !given || tile.width < 1 || tile.width > INT32_MAX || n < 1 || n > INT32_MAX || tile.a < 0 ||
              tile.b < 0 || tile.n_a < 1 || tile.n_b < 1 || tile.n_a > n - tile.a || tile.n_b > n - tile.b ||
              a[0].size / tile.n_a != tile.n_b || a[0].size % tile.n_a != 0 || !is_within(at + 5, a[1].size / n) ||
              at[6] > a[3].size;
    const size_t starts = bad ? 0 : (size_t)(tile.width + 1) * sizeof(Py_ssize_t);
    const size_t rows = bad ? 0 : (size_t)tile.n_b * sizeof(int32_t);
    char *room = NULL;
    if (bad) {
        unfit("pair_sums_of_labels");
    } else if ((room = malloc(2 * (starts + rows))) == NULL) {
        PyErr_NoMemory();
    } else {
        Sides sides = {{(Py_ssize_t *)room, (Py_ssize_t *)(room + starts)},
                       {(int32_t *)(room + 2 * starts), (int32_t *)(room + 2 * starts + rows)}};
        double *out = a[3].data;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t draw = at[5]; draw < at[6]; draw++)
            out[draw] += tile_sum(&tile, draw, &sides, &bad);
        Py_END_ALLOW_THREADS;
        if (bad)
            unfit("pair_sums_of_labels");
    }
    free(room);
    drop_arrays(a, 4);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

PyMethodDef resampling_methods[] = {
    METHOD(label_sums),
    METHOD(event_sums),
    METHOD(pair_sums_of_labels),
    NO_MORE_METHODS,
};
