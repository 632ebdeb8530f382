"""Maps beside the libraries that fit the same ones. Speed is worth nothing at another place than the optimum.

What is compared is the probability of each row's label, with that at the optimum, which `optima.py` finds literally and
without believable; intervals are compared with two fits per score.
"""

from __future__ import annotations

from functools import partial

from benchmarks import data, fits, peers
from benchmarks.calls import Call, Operation

CELLS = "each cell's rows are placed at their mean score; counting the cells, which is done once, is not timed"
FLOAT32 = "scikit-learn computes the loss of float32 logits in float32, where rounding noise hides the minimum"
BETACAL = (
    "betacal stops at scikit-learn's tol=1e-4 and has no setting for it; "
    "the row below is the same method run to convergence"
)
NETCAL_BBQ = "netcal uses equal-width bins weighted by BIC, which gives a different calibration map"
TOL = "tol=1e-4 is scikit-learn's default"
BFGS = "probmetrics stops at the default tolerance of its BFGS (gtol=1e-5) and fits the vector in float32"
EVENTS, MANY = (10**4, 10**5, 10**6), (10**4, 3 * 10**4, 10**5)


def operations() -> list[Operation]:
    """In the order of the page."""
    return [
        *(_temperature(sizes, k) for sizes, k in (((3_125, 12_500, 50_000), 1000), ((10**3, 10**4, 10**5), 10))),
        *_platt(),
        *_beta(),
        _isotonic(),
        _venn_abers(),
        _bbq(),
        _vector(),
        _matrix(),
    ]


def _temperature(sizes: tuple[int, ...], k: int) -> Operation:
    calls = (
        Call(
            "believable TemperatureScaling", "believable", fits.ours("TemperatureScaling", input="logits"), fits.softmax
        ),
        Call(
            "scikit-learn _TemperatureScaling",
            "scikit-learn",
            peers.sklearn_temperature("float32"),
            fits.softmax,
            note=FLOAT32,
        ),
        Call("scikit-learn, float64 logits", "scikit-learn", peers.sklearn_temperature("float64"), fits.softmax),
        Call(
            "probmetrics TemperatureScalingCalibrator",
            "probmetrics",
            peers.probmetrics_fit("TemperatureScalingCalibrator", from_logits=True),
            fits.softmax,
        ),
        Call("calibre TemperatureScaler", "calibre", peers.calibre_temperature, fits.softmax),
    )
    title, short = f"Temperature, {k} classes, float32 logits", f"Temperature, {k} classes"
    return Operation(
        "temperature",
        title,
        sizes,
        partial(fits.logits, k=k),
        calls,
        fits.best_temperature,
        tiny=200,
        short=short,
        peak=k == 1000,
    )


def _platt() -> list[Operation]:
    smoothed = fits.ours("PlattScaling", input="logits", targets="smoothed")
    sigmoid = Call("scikit-learn _SigmoidCalibration", "scikit-learn", peers.sklearn_sigmoid, fits.sigmoid)
    return [
        Operation(
            "platt",
            "Platt, float64 logits, smoothed targets",
            EVENTS,
            fits.event_logits,
            (Call("believable PlattScaling, smoothed", "believable", smoothed, fits.sigmoid), sigmoid),
            fits.best_smoothed_platt,
            short="Platt, smoothed",
        ),
        Operation(
            "platt",
            "Platt, float64 logits, labels",
            EVENTS,
            fits.event_logits,
            (
                Call("believable PlattScaling", "believable", fits.ours("PlattScaling", input="logits"), fits.sigmoid),
                Call("scikit-learn LogisticRegression, C=inf", "scikit-learn", peers.sklearn_logistic, fits.sigmoid),
                Call(
                    "believable, 4096 cells",
                    "believable",
                    fits.ours_of_cells("PlattScaling", "logit"),
                    fits.sigmoid,
                    other=CELLS,
                ),
            ),
            fits.best_platt,
        ),
    ]


def _beta() -> list[Operation]:
    cells = fits.ours_of_cells("BetaCalibration", "logit", expit=False)
    calls = (
        Call("believable BetaCalibration", "believable", fits.ours("BetaCalibration"), fits.beta),
        Call("betacal BetaCalibration", "betacal", peers.betacal_fit, fits.beta, note=BETACAL),
        Call("scikit-learn LogisticRegression, tol=1e-8", "scikit-learn", peers.sklearn_beta, fits.beta),
        Call("believable, 4096 cells", "believable", cells, fits.beta, other=CELLS),
    )
    return [Operation("beta", "Beta, float64 probabilities", EVENTS, data.binary, calls, fits.best_beta)]


def _isotonic() -> Operation:
    calls = (
        Call("believable IsotonicCalibration", "believable", fits.ours("IsotonicCalibration"), fits.transformed),
        Call("scikit-learn IsotonicRegression", "scikit-learn", peers.sklearn_isotonic, fits.transformed),
    )
    title = "Isotonic, float64 probabilities"
    return Operation("isotonic", title, EVENTS, data.binary, calls, fits.best_isotonic)


def _venn_abers() -> Operation:
    calls = (
        Call("believable VennAbers", "believable", fits.our_intervals, fits.as_it_is),
        Call("venn-abers VennAbers", "venn-abers", peers.venn_abers, fits.as_it_is),
        Call("MAPIE VennAbers", "mapie", peers.mapie_venn_abers, fits.as_it_is),
    )
    title = f"Venn–Abers, fit and intervals of {len(fits.TEST_SCORES)} scores"
    return Operation("venn-abers", title, (10**3, 10**4, 10**5), data.binary, calls, fits.literal_intervals)


def _bbq() -> Operation:
    calls = (
        Call("believable BBQ", "believable", fits.ours("BBQ"), fits.transformed),
        Call("netcal BBQ", "netcal", peers.netcal_bbq, fits.transformed, other=NETCAL_BBQ),
    )
    note = (
        "no two libraries fit the same calibration map, so the error is the distance from the probabilities "
        "that the labels were drawn from, at most 0.3"
    )
    return Operation("bbq", "BBQ", MANY, data.binary, calls, fits.population, right=0.3, note=note, tiny=1000)


def _vector() -> Operation:
    calls = (
        Call("believable VectorScaling, penalty=0", "believable", fits.ours("VectorScaling", penalty=0), fits.vector),
        Call(
            "probmetrics VectorScalingCalibrator",
            "probmetrics",
            peers.probmetrics_fit("VectorScalingCalibrator"),
            fits.vector,
            note=BFGS,
        ),
    )
    title = "Vector, 10 classes, float64 probabilities, no penalty"
    return Operation("vector", title, MANY, fits.probabilities, calls, fits.best_vector, tiny=1000)


def _matrix() -> Operation:
    calls = (
        Call(
            "believable DirichletCalibration, penalty=0",
            "believable",
            fits.ours("DirichletCalibration", penalty=0),
            fits.linear,
        ),
        Call(
            "scikit-learn LogisticRegression, tol=1e-8",
            "scikit-learn",
            peers.sklearn_softmax("lbfgs", 1e-8),
            fits.linear,
        ),
        Call("scikit-learn, tol=1e-4", "scikit-learn", peers.sklearn_softmax("lbfgs", 1e-4), fits.linear, note=TOL),
        Call(
            "scikit-learn, newton-cholesky", "scikit-learn", peers.sklearn_softmax("newton-cholesky", 1e-8), fits.linear
        ),
        Call(
            "probmetrics MatrixScalingCalibrator",
            "probmetrics",
            peers.probmetrics_fit("MatrixScalingCalibrator"),
            fits.linear,
            note=BFGS,
        ),
    )
    title = "Dirichlet, 10 classes, float64 probabilities, no penalty"
    return Operation("dirichlet", title, MANY, fits.probabilities, calls, fits.best_linear, tiny=1000)
