// The metrics of an audit, each with its interval and its noise floor; `auditing/measure.py` says the same.
const Measure = (() => {
  "use strict";

  const ERRORS = {
    binary: ["ece", "smece", "ace", "mce", "rmsce", "ks", "ici", "slope", "citl", "oe"],
    multiclass: ["ece", "sce", "tlce", "smece", "ace", "mce", "rmsce", "ks"],
  };
  const SCORES = ["brier", "nll"];
  const DISCRIMINATION = ["auc", "acc", "bss", "sharpness"];
  const [INTERVAL_DRAWS, FLOOR_DRAWS, FEWEST_FLOOR_DRAWS, MAX_ENTRIES] = [300, 1000, 200, 200000];
  const [SMALLEST_SMOOTH, MAX_ROWS_WITH_SMOOTH_FLOOR] = [1e-4, 200000000];
  const NO_SMOOTH_FLOOR = "with so many rows the noise floor is below 0.0005";

  // Name, best value, default bins and notion for a matrix.
  const FACTS = {
    ece: ["expected_calibration_error", 0, "uniform", "confidence"],
    sce: ["static_calibration_error", 0, "uniform", "classwise"],
    tlce: ["top_label_calibration_error", 0, "uniform", "top_label"],
    smece: ["smooth_calibration_error", 0, "", "confidence"],
    ace: ["adaptive_calibration_error", 0, "quantile", "classwise"],
    mce: ["maximum_calibration_error", 0, "uniform", "confidence"],
    rmsce: ["root_mean_square_calibration_error", 0, "uniform", "confidence"],
    ks: ["kolmogorov_smirnov_calibration_error", 0, "", "confidence"],
    ici: ["integrated_calibration_index", 0, "", "confidence"],
    slope: ["calibration_slope_intercept", 1, "", "confidence"],
    citl: ["calibration_in_the_large", 0, "", "confidence"],
    oe: ["observed_expected_ratio", 1, "", "confidence"],
    brier: ["brier_score", 0, "", ""],
    nll: ["negative_log_likelihood", 0, "", ""],
    auc: ["auc", 1, "", ""],
    acc: ["accuracy", 1, "", ""],
    bss: ["brier_skill_score", 1, "", ""],
    sharpness: ["sharpness", null, "", ""],
  };

  // Every metric that is defined for these rows; `onEach` is told the share that is done.
  function all(rows, settings, verdict, onEach = () => {}) {
    const families = [["calibration", ERRORS[rows.kind]], ["score", SCORES], ["discrimination", DISCRIMINATION]];
    const asked = families.flatMap(([family, aliases]) => aliases.map((alias) => [alias, family]));
    const found = [];
    asked.forEach(([alias, family], k) => {
      onEach(k / asked.length);
      let steps = 0;
      const onStep = () => onEach((k + ++steps / (steps + 20)) / asked.length); // how many steps there will be is unknown
      try {
        const one = measured(alias, family, rows, { ...settings, onStep }, verdict);
        if (one) found.push(one);
      } catch (error) {
        if (error.name !== "UndefinedError") throw error; // such as the AUC when all outcomes are the same
      }
    });
    return found;
  }

  function measured(alias, family, rows, settings, verdict) {
    const [name, best, bins, of] = FACTS[alias];
    const strategy = bins === "uniform" && alias !== "sce" ? settings.strategy : bins;
    const result = {
      name,
      alias,
      family,
      notion: family === "calibration" ? (rows.kind === "binary" ? "binary" : of === "confidence" ? settings.notion : of) : "",
      bins: bins ? `${settings.bins} ${strategy} bins` : "",
      ...NOTHING,
      best,
    };
    const numbers = family === "calibration" ? ofError(alias, rows, settings, verdict) : ofScore(alias, rows, settings);
    return numbers && { ...result, ...numbers };
  }

  const NOTHING = { value: null, low: null, high: null, floor: null, q95: null, p_value: null, best: null, note: "" };
  const told = (notes) => [...new Set(notes.filter(Boolean))].join("; ");

  function ofError(alias, rows, settings, verdict) {
    if (alias === "ece") {
      const { ece, low, high, floor, q95, ece_p_value } = verdict;
      return { value: ece, low, high, floor, q95, p_value: ece_p_value };
    }
    if (["slope", "citl", "oe"].includes(alias)) return ofClinic(alias, rows, settings, verdict);
    const question = Errors.ask(alias, rows, settings);
    const value = question.value();
    const found = { value };
    const notes = [];
    try {
      const ends = Inversion.interval(question, settings.level, INTERVAL_DRAWS, settings.seed);
      Object.assign(found, { low: ends.low, high: ends.high });
      notes.push(ends.note);
    } catch (error) {
      if (error.name !== "UndefinedError") throw error;
      notes.push(error.message);
    }
    const many = Judge.effectiveN(rows) > MAX_ROWS_WITH_SMOOTH_FLOOR;
    if (question.isFixedPoint && (value < SMALLEST_SMOOTH || many)) {
      if (many) notes.push(NO_SMOOTH_FLOOR);
    } else {
      const entries = rows.kind === "binary" ? 0 : rows.n * rows.nClasses;
      const draws = Math.max(Math.floor(FLOOR_DRAWS / Math.max(Math.floor(entries / MAX_ENTRIES), 1)), FEWEST_FLOOR_DRAWS);
      const { mean, q95, pValue } = Floor.floor(question, question.isFixedPoint ? INTERVAL_DRAWS : draws, settings.seed);
      Object.assign(found, { floor: mean, q95, p_value: rows.cluster ? null : pValue });
    }
    return { ...found, note: told(notes) };
  }

  // Slope, calibration-in-the-large and observed over expected, with the intervals of the clinical literature.
  function ofClinic(alias, rows, settings, verdict) {
    const curve = Rows.curves(rows, "binary")[0];
    const points = Count.pointsOf(curve);
    if (alias === "oe") {
      const sums = Judge.sumsOf(rows);
      if (sums.wp <= 0) return null;
      const value = sums.wy / sums.wp;
      return Number.isFinite(value) ? { value, low: verdict.ratio_low, high: verdict.ratio_high } : null;
    }
    const note = Logistic.noteOnClipping(Logistic.byLogit(points));
    const found = alias === "slope" ? Logistic.slope(points, settings.level) : Logistic.inTheLarge(points, settings.level);
    let { low, high } = found;
    const notes = [];
    if (alias === "slope" && verdict.slope_low !== null && verdict.slope_high !== null) [low, high] = [verdict.slope_low, verdict.slope_high];
    else if (rows.cluster) {
      const clustered = alias === "slope" ? Logistic.clusteredSlope : Logistic.clusteredShift;
      ({ low, high } = clustered(curve, rows.cluster, settings.level));
      if (rows.nClusters < 6) notes.push(`rough: ${rows.nClusters} clusters hardly show how much clusters differ`);
    }
    return { value: found.value, low, high, note: told([...notes, note]) };
  }

  function ofScore(alias, rows, settings) {
    if (alias === "auc") return ofRoc(rows, settings);
    const value = scoreOf(alias, rows);
    if (Number.isNaN(value)) return null;
    const found = { value };
    const notes = [];
    try {
      Object.assign(found, Resampling.interval(alias, rows, value, settings.level, INTERVAL_DRAWS, settings.seed));
      if (rows.cluster && rows.nClusters < 6) notes.push(`rough: ${rows.nClusters} clusters hardly show how much clusters differ`);
    } catch (error) {
      if (error.name !== "UndefinedError") throw error;
      notes.push(error.message);
    }
    const sums = Judge.sumsOf(rows);
    if (alias === "brier") found.floor = (sums.brier - sums.spread) / sums.w;
    if (alias === "nll") found.floor = sums.entropy / sums.w;
    return { ...found, note: told(notes) };
  }

  function scoreOf(alias, rows) {
    const sums = Judge.sumsOf(rows);
    if (alias === "brier") return sums.brier / sums.w;
    if (alias === "nll") return sums.nll / sums.w;
    if (alias === "acc") return sums.correct / sums.w;
    return Resampling.value(alias, rows);
  }

  function ofRoc(rows, settings) {
    const found = Roc.measured(rows, settings.level);
    if (!found) return null;
    if (rows.kind !== "binary" && rows.n * rows.nClasses > MAX_ENTRIES) {
      return { value: found.value, note: "no interval: it would take too long for so many rows and classes" };
    }
    const [low, high] = found.ends();
    const note = rows.cluster && rows.nClusters < 6 ? `rough: ${rows.nClusters} clusters hardly show how much clusters differ` : "";
    return { value: found.value, low, high, note };
  }

  return { all };
})();

if (typeof module !== "undefined") module.exports = Measure;
