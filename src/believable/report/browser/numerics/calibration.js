// `Calibration.audit`: what `believable.audit` computes, in the shape of `Audit.to_dict()`.
const Calibration = (() => {
  "use strict";

  const [SCHEMA, VERSION] = ["believable.Audit", 2];
  const NOTE_ON_SIMULATION =
    "The ends of the intervals of calibration errors are simulated. The simulations are those of Python, but rounding may change a draw, and an end then differs in its second digit. This is rare for the ECE, and common for the smooth ECE, the Kolmogorov–Smirnov error and the ICI if many scores are equal, 0 or 1.";

  // Audit the rows of input ({kind, scores, labels, weights, clusters, classes, pairs, groups, ...}); options are {bins,
  // strategy, level, seed, fix}, and onProgress is called with a share from 0 to 1 and a sentence.
  function audit(input, options = {}, onProgress = () => {}) {
    onProgress(0, "Checking the rows");
    const rows = Rows.checked(input);
    const settings = settingsOf(rows, options);
    onProgress(0.02, "Sorting the scores");
    const points = Count.pointsOf(Rows.curves(rows, settings.notion)[0]);
    onProgress(0.08, "Testing for miscalibration");
    let verdict = Judge.judge(rows, settings);
    const measuring = "Measuring the errors, each with its interval";
    const metrics = Measure.all(rows, settings, verdict, (share) => onProgress(0.15 + 0.35 * share, measuring));
    onProgress(0.5, rows.kind === "binary" ? "Examining the subgroups" : "Examining the classes");
    const parts = rows.kind === "binary" ? [] : Parts.byClass(rows, settings);
    const found = Parts.bySubgroup(rows, settings, (share) => onProgress(0.55 + 0.1 * share, "Examining the subgroups"));
    verdict = Parts.withSubgroups(verdict, found.known, found.parts.length);
    onProgress(0.65, "Drawing the curves");
    const lines = Curves.lines(points, settings.level, settings.seed);
    const fixed = fixedBy(input, rows, options, (share, words) => onProgress(0.68 + 0.28 * share, words));
    onProgress(0.97, "Writing the report");
    const gains = Rules.recalibrationGains(fixed.fix);
    verdict = Judge.withFindings(verdict, gains ? [gains] : []);
    const stats = Errors.statsOf(rows, settings.notion, settings.bins, settings.strategy);
    const dropped = input.dropped || {};
    const facts = { rows, points, stats, verdict, metrics, fix: fixed.fix, parts, subgroups: found.parts, dropped };
    const after = fixed.after ? withScores(rows, fixed.after) : null;
    const { slices, leftOut } = Slices.all({ before: rows, after }, settings, parts, found.parts, found.groups);
    const sums = Judge.sumsOf(rows);
    onProgress(1, "Done");
    return {
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
      dropped,
      classes: rows.classes.map(String),
      rates: rows.kind === "binary" ? [sums.wy / sums.w] : Array.from(sums.rates, (one) => one / sums.w),
      verdict,
      metrics,
      table: Judge.table(rows, settings),
      lines,
      parts,
      n_parts: rows.kind === "binary" ? 0 : rows.nClasses,
      subgroups: found.parts,
      fix: fixed.fix,
      no_fix: fixed.no_fix,
      versus: [],
      other: "",
      advice: Advice.advice(facts),
      caveats: [...fixed.caveats, ...Advice.caveats(facts)],
      notes: input.notes || [],
      command: "",
      made_on: today(),
      slices,
      left_out: leftOut,
      segments: null,
      segment_fix: null,
      package: "",
      text: { headline: Words.headline(verdict), details: Words.details(verdict) },
      methods: fixed.methods,
      approximations: approximations(metrics, fixed),
    };
  }

  // The same rows with other scores: a column, or one for each class.
  function withScores(rows, scores) {
    const columns = Array.isArray(scores) ? scores : [scores];
    return { ...rows, columns, scores: columns[0], curves: new Map(), predicted: null, sums: null };
  }

  function settingsOf(rows, { bins = 10, strategy = "uniform", level = 0.95, seed = 0 }) {
    if (!Number.isInteger(bins) || bins < 1) Rows.refuse(`n_bins must be an integer at least 1, got ${bins}`);
    if (strategy !== "uniform" && strategy !== "quantile") Rows.refuse(`strategy must be one of 'uniform' or 'quantile', got '${strategy}'`);
    if (!(level > 0 && level < 1)) Rows.refuse(`level must lie strictly between 0 and 1, got ${level}`);
    return { bins, strategy, level, seed, notion: rows.kind === "binary" ? "binary" : "confidence" };
  }

  // The recalibration, if it was asked for and the script that looks for one is there.
  function fixedBy(input, rows, options, onProgress) {
    const nothing = { methods: [], fix: null, after: null, no_fix: "it was not requested", caveats: [], approximations: [] };
    if (options.fix === false || typeof Fixes === "undefined") return nothing;
    const kept = { ...input, scores: rows.kind === "binary" ? rows.scores : rows.columns, labels: rows.labels, weights: rows.weights, clusters: rows.cluster, groups: rows.groups };
    return { ...nothing, ...Fixes.tried(kept, options, onProgress) };
  }

  function approximations(metrics, fixed) {
    const simulated = metrics.some(({ family, low }) => family === "calibration" && low !== null);
    return [...(simulated ? [NOTE_ON_SIMULATION] : []), ...(fixed.approximations || [])];
  }

  // The date where the page is, such as 2026-11-30.
  function today() {
    const now = new Date();
    const two = (n) => String(n).padStart(2, "0");
    return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  }

  return { audit };
})();

if (typeof module !== "undefined") module.exports = Calibration;
