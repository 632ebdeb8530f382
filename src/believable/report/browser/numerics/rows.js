// The rows of an audit, checked, and the curves that a notion of calibration makes of them.
//
// A curve is {score, outcome, weight, row}: pairs of a score and whether its event occurred, their weights (null: all 1),
// and the row of each pair (null: pair i is that of row i).
const Rows = (() => {
  "use strict";

  const MAX_ROWS_ALIKE = 5; // so few scores may all be 0, or all 1, and still be accepted as probabilities
  const ROW_SUM_TOLERANCE = 1e-3;
  const [LIGHTEST_WEIGHT, HEAVIEST_WEIGHT] = [1e-100, 1e100]; // whose squares neither underflow nor overflow
  const LOOK_LIKE_CLASSES = "these look like predicted classes, not probabilities";

  // An error about the input: what is wrong, at which row, and what to do.
  function refuse(sentence, hint = "", row = null) {
    const error = new Error(hint ? `${sentence}; ${hint}` : sentence);
    error.name = "InputError";
    error.row = row;
    throw error;
  }

  // A number as Python's "{:.8g}" writes it, for a message.
  const brief = (value, digits = 8) => String(Number(value.toPrecision(digits)));

  // Return the rows, checked, without those of weight 0.
  function checked(input) {
    const several = input.kind === "multiclass";
    const columns = several ? input.scores : [input.scores];
    const n = columns[0] ? columns[0].length : 0;
    if (n === 0) refuse("predictions are empty: there is nothing to measure");
    if (several && columns.length < 2) refuse(`predictions have shape (${n}, 1): one column is ambiguous`, "one column per class is needed");
    if (several && input.pairs) refuse("pairs=True is for 1-D scores, confidences in an answer, with whether it was right");
    if (input.labels.length !== n) refuse(`actuals have ${input.labels.length} entries, predictions have ${n} rows`);
    if (input.weights) checkWeights(input.weights, n);
    for (const column of columns) checkProbabilities(column, columns);
    if (several) checkRowSums(columns, n);
    checkLabels(input.labels, several ? columns.length : 2);
    if (!input.pairs) refusePredictedClasses(columns, n);
    return kept(input, columns, n);
  }

  function kept(input, columns, n) {
    const weights = input.weights || null;
    let here = null; // the rows of positive weight, if there are others
    if (weights && weights.some((w) => w === 0)) here = Int32Array.from({ length: n }, (_, i) => i).filter((i) => weights[i] > 0);
    const chosen = (values) => (here ? pick(values, here) : values);
    const scores = columns.map((column) => clean(chosen(column)));
    const rows = {
      kind: input.kind,
      columns: scores,
      scores: scores[0],
      labels: chosen(input.labels),
      weights: weights ? Float64Array.from(chosen(weights)) : null,
      n: here ? here.length : n,
      pairs: Boolean(input.pairs),
      nClasses: input.kind === "multiclass" ? columns.length : 2,
      classes: input.classes || (input.kind === "multiclass" ? columns.map((_, k) => String(k)) : ["0", "1"]),
      cluster: null,
      nClusters: null,
      curves: new Map(),
    };
    if (input.clusters) setClusters(rows, chosen(input.clusters));
    rows.groups = (input.groups || []).map((group) => ({ ...group, codes: chosen(group.codes) }));
    return rows;
  }

  // -0 would be sorted apart from 0.
  function clean(column) {
    for (let i = 0; i < column.length; i++) if (column[i] === 0 && Object.is(column[i], -0)) return Float64Array.from(column, (p) => p + 0);
    return column;
  }

  function pick(values, here) {
    const found = new values.constructor(here.length);
    for (let i = 0; i < here.length; i++) found[i] = values[here[i]];
    return found;
  }

  // Clusters numbered from 0, without gaps.
  function setClusters(rows, given) {
    const distinct = [...new Set(given)].sort((a, b) => a - b);
    if (distinct.length < 2) refuse("clusters holds only one cluster: the variation between clusters needs at least two");
    const number = new Map(distinct.map((one, k) => [one, k]));
    rows.cluster = Int32Array.from(given, (one) => number.get(one));
    rows.nClusters = distinct.length;
  }

  // --- checks --------------------------------------------------------------------------------------------------------

  function checkProbabilities(column, all) {
    let fine = true;
    for (let i = 0; i < column.length; i++) if (!(column[i] >= 0 && column[i] <= 1)) { fine = false; break; }
    if (fine) return;
    const n = column.length;
    for (let i = 0; i < n; i++) {
      for (const one of all) {
        if (Number.isFinite(one[i])) continue;
        const what = Number.isNaN(one[i]) ? "NaN (missing)" : one[i] > 0 ? "inf" : "-inf";
        refuse(`predictions must be finite, got ${what} at row ${i}`, "drop or repair such rows first", i);
      }
    }
    let [low, high, row, value] = [Infinity, -Infinity, -1, 0];
    for (let i = 0; i < n; i++) {
      for (const one of all) {
        low = Math.min(low, one[i]);
        high = Math.max(high, one[i]);
        if (row < 0 && (one[i] < 0 || one[i] > 1)) [row, value] = [i, one[i]];
      }
    }
    let hint = "";
    if (low >= 0 && high > 10 && high <= 100) hint = "these look like percentages: divide by 100";
    else if (low < -1 || high > 1 + ROW_SUM_TOLERANCE) hint = "these look like logits";
    else if (low >= -ROW_SUM_TOLERANCE) hint = "if this is a rounding error, clip them to [0, 1] first";
    refuse(`predictions must lie in [0, 1], got ${brief(value)} at row ${row}`, hint, row);
  }

  function checkRowSums(columns, n) {
    for (let i = 0; i < n; i++) {
      let total = 0;
      for (const column of columns) total += column[i];
      if (Math.abs(total - 1) > ROW_SUM_TOLERANCE) refuse(`rows of predictions must sum to 1, got ${brief(total)} at row ${i}`, "divide by the row sums", i);
    }
  }

  function checkLabels(labels, nClasses) {
    const needed = nClasses === 2 ? "0 or 1" : `integers 0..${nClasses - 1}`;
    for (let i = 0; i < labels.length; i++) {
      if (!(labels[i] >= 0 && labels[i] < nClasses)) refuse(`actuals must be ${needed}, got ${brief(labels[i], 6)} at row ${i}`, "", i);
    }
  }

  function refusePredictedClasses(columns, n) {
    for (const column of columns) for (let i = 0; i < n; i++) if (column[i] !== 0 && column[i] !== 1) return;
    const alike = columns.every((column) => column.every((p) => p === column[0]));
    if (n <= MAX_ROWS_ALIKE && alike) return;
    const what = columns.length === 1 ? "all predictions are 0 or 1" : "all entries of predictions are 0 or 1";
    refuse(`${what}: ${LOOK_LIKE_CLASSES}`);
  }

  function checkWeights(weights, n) {
    if (weights.length !== n) refuse(`sample_weight must be one number per row, ${n} of them, got shape (${weights.length},)`);
    let high = 0;
    for (let i = 0; i < n; i++) {
      if (!Number.isFinite(weights[i])) {
        const what = Number.isNaN(weights[i]) ? "NaN (missing)" : weights[i] > 0 ? "inf" : "-inf";
        refuse(`sample_weight must be finite, got ${what} at row ${i}`, "drop or repair such rows first", i);
      }
      high = Math.max(high, weights[i]);
    }
    for (let i = 0; i < n; i++) if (weights[i] < 0) refuse(`sample_weight must not be negative, got ${brief(weights[i], 6)} at row ${i}`, "", i);
    if (high === 0) refuse("sample_weight is zero in every row: there is nothing to measure");
    for (let i = 0; i < n; i++) {
      if (weights[i] > 0 && weights[i] < LIGHTEST_WEIGHT) refuse(`sample_weight is ${brief(weights[i], 6)} at row ${i}, too small to be squared`, "set such weights to 0", i);
    }
    if (high > HEAVIEST_WEIGHT) refuse(`sample_weight reaches ${brief(high, 6)}, too large to be squared`, "divide the weights by their mean");
  }

  // --- curves --------------------------------------------------------------------------------------------------------

  // The curves of a notion: one for "binary" and "confidence", one of each class for "classwise" and "top_label".
  function curves(rows, notion) {
    if (!rows.curves.has(notion)) rows.curves.set(notion, made(rows, notion));
    return rows.curves.get(notion);
  }

  function made(rows, notion) {
    if (notion === "binary") return [{ score: rows.scores, outcome: rows.labels, weight: rows.weights, row: null }];
    if (notion === "classwise") return rows.columns.map((column, k) => classCurve(rows, k));
    const { top, score } = predicted(rows);
    const outcome = Uint8Array.from(top, (k, i) => (k === rows.labels[i] ? 1 : 0));
    if (notion === "confidence") return [{ score, outcome, weight: rows.weights, row: null }];
    return rows.columns.map((_, k) => {
      const row = Int32Array.from({ length: rows.n }, (__, i) => i).filter((i) => top[i] === k);
      return { score: pick(score, row), outcome: pick(outcome, row), weight: rows.weights && pick(rows.weights, row), row };
    });
  }

  // One class against the rest.
  function classCurve(rows, k) {
    const outcome = new Uint8Array(rows.n);
    for (let i = 0; i < rows.n; i++) outcome[i] = rows.labels[i] === k ? 1 : 0;
    return { score: rows.columns[k], outcome, weight: rows.weights, row: null };
  }

  // The most probable class of each row, the lowest of several, and its probability.
  function predicted(rows) {
    if (!rows.predicted) {
      const top = new Int32Array(rows.n);
      const score = Float64Array.from(rows.columns[0]);
      rows.columns.forEach((column, k) => {
        for (let i = 0; i < rows.n; i++) if (column[i] > score[i]) [top[i], score[i]] = [k, column[i]];
      });
      rows.predicted = { top, score };
    }
    return rows.predicted;
  }

  // Some of the rows, as rows of their own; clusters are numbered anew (null if there is only one).
  function taken(rows, here) {
    const columns = rows.columns.map((column) => pick(column, here));
    const some = { ...rows, columns, scores: columns[0], labels: pick(rows.labels, here), n: here.length, curves: new Map(), predicted: null, sums: null };
    some.weights = rows.weights && pick(rows.weights, here);
    some.groups = [];
    if (rows.cluster) {
      const given = pick(rows.cluster, here);
      const distinct = [...new Set(given)].sort((a, b) => a - b);
      const number = new Map(distinct.map((one, k) => [one, k]));
      some.cluster = given.map((one) => number.get(one));
      some.nClusters = distinct.length;
    }
    return some;
  }

  // One class against the rest, as rows of one event.
  function eventOf(rows, k) {
    const curve = curves(rows, "classwise")[k];
    const event = { ...rows, kind: "binary", columns: [curve.score], scores: curve.score, labels: curve.outcome, nClasses: 2, curves: new Map([["binary", [curve]]]), predicted: null, sums: null };
    return event;
  }

  return { checked, refuse, curves, predicted, taken, eventOf };
})();

if (typeof module !== "undefined") module.exports = Rows;
