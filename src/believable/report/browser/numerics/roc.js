// The area under the ROC curve, and its interval: DeLong's variance (Obuchowski's, for clusters) on the logit scale, and
// Newcombe's interval where an outcome is rare. `metrics/_roc_variance.py` says the same.
const Roc = (() => {
  "use strict";

  const [FEW_OF_AN_OUTCOME, NO_VARIANCE, HALVINGS] = [20, 1e-12, 60];

  // The AUC of points, and the placements of positives and of negatives at each score.
  function placements(positive, negative) {
    const [allPositive, allNegative] = [Count.sum(positive), Count.sum(negative)];
    const above = new Float64Array(positive.length);
    const below = new Float64Array(positive.length);
    let [yes, no, won] = [0, 0, 0];
    for (let i = 0; i < positive.length; i++) {
      no += negative[i];
      yes += positive[i];
      above[i] = (no - negative[i] / 2) / allNegative;
      below[i] = (allPositive - yes + positive[i] / 2) / allPositive;
      won += positive[i] * above[i];
    }
    return { value: won / allPositive, above, below };
  }

  function outcomes(points) {
    return [points.wy, points.w.map((w, i) => Math.max(w - points.wy[i], 0))];
  }

  function value(points) {
    const [positive, negative] = outcomes(points);
    if (!(Count.sum(positive) > 0) || !(Count.sum(negative) > 0)) return NaN;
    return placements(positive, negative).value;
  }

  function variancesOf(squares, totals, n) {
    return squares.map((square, k) => (square / totals[k] ** 2) * (n[k] > 1 ? n[k] / (n[k] - 1) : Infinity));
  }

  function ofPoints(points) {
    const weights = outcomes(points);
    const squares = [points.w2y, points.w2.map((w2, i) => Math.max(w2 - points.w2y[i], 0))];
    const { value: found, above, below } = placements(...weights);
    const totals = weights.map(Count.sum);
    const n = squares.map((one, k) => totals[k] ** 2 / Count.sum(one));
    const sums = [above, below].map((at, k) => {
      let total = 0;
      for (let i = 0; i < at.length; i++) total += squares[k][i] * (at[i] - found) ** 2;
      return total;
    });
    return { value: found, parts: variancesOf(sums, totals, n), shared: 0, n, units: n, nUnits: Count.sum(points.n), off: null };
  }

  // The AUC of rows in units, which are clusters, or the rows themselves.
  function ofRows(curve, unit, nUnits) {
    const points = Count.pointsOf(curve);
    const { value: found, above, below } = placements(...outcomes(points));
    const m = curve.score.length;
    const totals = [0, 0];
    const squares = [0, 0];
    const alone = [0, 0];
    const byUnit = [new Float64Array(nUnits), new Float64Array(nUnits)];
    const counts = [new Uint8Array(nUnits), new Uint8Array(nUnits)];
    for (let i = 0; i < m; i++) {
      const w = curve.weight ? curve.weight[i] : 1;
      const side = curve.outcome[i] ? 0 : 1;
      const at = Count.search(points.score, curve.score[i]);
      const off = w * ((side === 0 ? above : below)[at] - found);
      totals[side] += w;
      squares[side] += w * w;
      alone[side] += off * off;
      byUnit[side][unit[i]] += off;
      counts[side][unit[i]] = 1;
    }
    const n = [0, 1].map((k) => totals[k] ** 2 / squares[k]);
    const apart = variancesOf(alone, totals, n);
    const off = byUnit[0].map((one, u) => one / totals[0] + byUnit[1][u] / totals[1]);
    if (nUnits === m) return { value: found, parts: apart, shared: 0, n, units: n, nUnits, off };
    const units = counts.map((one) => one.reduce((a, b) => a + b, 0));
    const parts = variancesOf(byUnit.map((one) => one.reduce((total, x) => total + x * x, 0)), totals, units);
    let both = 0;
    for (let u = 0; u < nUnits; u++) both += byUnit[0][u] * byUnit[1][u];
    const shared = ((2 * both) / (totals[0] * totals[1])) * (nUnits / (nUnits - 1));
    const total = parts[0] + parts[1] + shared;
    const sum = apart[0] + apart[1];
    const effect = sum > 0 && Number.isFinite(total) ? Math.max(total / sum, 1) : 1;
    return { value: found, parts, shared, n: n.map((one) => one / effect), units, nUnits, off };
  }

  const logit = (p) => (p <= 0 ? -Infinity : p >= 1 ? Infinity : Math.log(p) - Math.log1p(-p));
  const sigmoid = (x) => (x > -700 ? 1 / (1 + Math.exp(-x)) : 0);

  function intervalOf(roc, level) {
    const t = Special.tQuantile(level, Math.max(roc.nUnits - 1, 1));
    const total = roc.parts[0] + roc.parts[1] + roc.shared;
    const shows = roc.value * (1 - roc.value) > NO_VARIANCE && total > NO_VARIANCE ** 2 && total < Infinity;
    if (!shows) { // then all rows of a cluster count as one
      const [n, m] = [0, 1].map((k) => Math.min(roc.n[k], roc.units[k]));
      return newcombe(Number(Words.fixed(roc.value, 12)), n, m, t);
    }
    const ends = newcombe(roc.value, roc.n[0], roc.n[1], t);
    let df = (roc.parts[0] + roc.parts[1]) ** 2 / (roc.parts[0] ** 2 / (roc.units[0] - 1) + roc.parts[1] ** 2 / (roc.units[1] - 1));
    df = Math.max(Math.min(df, roc.nUnits - 1), 1);
    const centre = logit(roc.value);
    const reach = (Special.tQuantile(level, df) * Math.sqrt(total)) / (roc.value * (1 - roc.value));
    const share = Math.min(FEW_OF_AN_OUTCOME / Math.min(...roc.units), 1);
    return [-1, 1].map((side, k) => sigmoid(centre + side * Math.max(reach, (1 - share) * reach + share * Math.abs(logit(ends[k]) - centre))));
  }

  // The interval of the mean over classes of the same rows (Zou and Donner 2008).
  function meanInterval(classes, level) {
    const center = classes.reduce((total, one) => total + one.value, 0) / classes.length;
    let [together, apart] = [0, 0];
    if (classes[0].off) {
      for (let u = 0; u < classes[0].off.length; u++) {
        const sum = classes.reduce((total, one) => total + one.off[u], 0);
        together += sum * sum;
        apart += classes.reduce((total, one) => total + one.off[u] ** 2, 0);
      }
    }
    const ratio = apart > 0 && classes.length > 1 ? together / apart : 1;
    const ends = classes.map((one) => intervalOf(one, level));
    const [below, above] = [0, 1].map((side) => Math.sqrt(ratio * classes.reduce((total, one, k) => total + (one.value - ends[k][side]) ** 2, 0)) / classes.length);
    return [Math.max(center - below, 0), Math.min(center + above, 1)];
  }

  // All AUCs within z of their own standard errors (Newcombe 2006, method 5).
  function newcombe(found, n, m, z) {
    const others = Math.max((n + m) / 2 - 1, 0);
    const isRejected = (auc) => {
      const spread = 1 + (others * (1 - auc)) / (2 - auc) + (others * auc) / (1 + auc);
      return (auc - found) ** 2 > (z * z * auc * (1 - auc) * spread) / (n * m);
    };
    return [0, 1].map((end) => {
      let [inside, outside] = [found, end];
      if (found === end) return end;
      for (let k = 0; k < HALVINGS; k++) {
        const middle = (inside + outside) / 2;
        if (isRejected(middle)) outside = middle;
        else inside = middle;
      }
      return outside;
    });
  }

  // The mean over classes of the one-vs-rest AUC, with its interval; NaN if a class is never or always the label.
  function measured(rows, level) {
    const curves = rows.kind === "binary" ? Rows.curves(rows, "binary") : rows.nClasses === 2 ? [Rows.curves(rows, "classwise")[1]] : Rows.curves(rows, "classwise");
    const values = curves.map((curve) => value(Count.pointsOf(curve)));
    const found = values.reduce((a, b) => a + b, 0) / values.length;
    if (Number.isNaN(found)) return null;
    const ends = () => {
      if (!rows.cluster && curves.length === 1) return intervalOf(ofPoints(Count.pointsOf(curves[0])), level);
      const unit = rows.cluster || Int32Array.from({ length: rows.n }, (_, i) => i);
      const nUnits = rows.cluster ? rows.nClusters : rows.n;
      return meanInterval(curves.map((curve) => ofRows(curve, unit, nUnits)), level);
    };
    return { value: found, ends };
  }

  return { measured };
})();

if (typeof module !== "undefined") module.exports = Roc;
