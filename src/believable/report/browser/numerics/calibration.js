// `Calibration.audit`: what `believable.audit` computes, in the shape of `Audit.to_dict()`.
const Calibration = (() => {
  "use strict";

  const [SCHEMA, VERSION] = ["believable.Audit", 2];

  // Audit the rows of input ({kind, scores, labels, weights, clusters, classes, pairs, groups, ...}); options are {bins,
  // strategy, level, seed, fix}, and onProgress is called with a share from 0 to 1 and a sentence.
  function audit(input, options = {}, onProgress = () => {}) {
    onProgress(0, "Checking the rows");
    const rows = Rows.checked(input);
    const settings = settingsOf(rows, options);
    onProgress(0.05, "Sorting the scores");
    for (const curve of Rows.curves(rows, settings.notion)) Count.pointsOf(curve);
    onProgress(0.15, "Testing for miscalibration");
    let verdict = Judge.judge(rows, settings);
    onProgress(0.35, "Measuring the errors, each with its interval");
    const metrics = Measure.all(rows, settings, verdict, (share) => onProgress(0.35 + 0.3 * share, "Measuring the errors, each with its interval"));
    onProgress(0.65, "Drawing the curves");
    const lines = Curves.lines(Count.pointsOf(Rows.curves(rows, settings.notion)[0]), settings.level, settings.seed);
    const sums = Judge.sumsOf(rows);
    const result = {
      schema: SCHEMA,
      version: VERSION,
      title: input.title || "",
      taken: input.taken || "",
      kind: rows.kind,
      n: rows.n,
      effective_n: Judge.effectiveN(rows),
      n_clusters: rows.nClusters,
      weighted: rows.weights !== null,
      pairs: rows.pairs,
      dropped: input.dropped || {},
      classes: rows.classes.map(String),
      rates: rows.kind === "binary" ? [sums.wy / sums.w] : Array.from(sums.rates, (one) => one / sums.w),
      verdict,
      metrics,
      table: Judge.table(rows, settings),
      lines,
    };
    return finished(result, verdict);
  }

  function settingsOf(rows, { bins = 10, strategy = "uniform", level = 0.95, seed = 0 }) {
    if (!Number.isInteger(bins) || bins < 1) Rows.refuse(`n_bins must be an integer at least 1, got ${bins}`);
    if (strategy !== "uniform" && strategy !== "quantile") Rows.refuse(`strategy must be one of 'uniform' or 'quantile', got '${strategy}'`);
    if (!(level > 0 && level < 1)) Rows.refuse(`level must lie strictly between 0 and 1, got ${level}`);
    return { bins, strategy, level, seed, notion: rows.kind === "binary" ? "binary" : "confidence" };
  }

  function finished(result, verdict) {
    return { ...result, text: { headline: Words.headline(verdict), details: Words.details(verdict) } };
  }

  return { audit };
})();

if (typeof module !== "undefined") module.exports = Calibration;
