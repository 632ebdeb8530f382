// Calibration errors, as questions that can be asked again of new outcomes: the value of the data, the cells that new
// outcomes are drawn for, and the value of each replicate.
const Errors = (() => {
  "use strict";

  const MAX_ROWS_TO_SORT = 1 << 14; // with more rows, the smooth error spreads them over a grid

  const NORMS = {
    ece: { norm: 1, notion: null },
    sce: { norm: 1, notion: "classwise", strategy: "uniform" },
    tlce: { norm: 1, notion: "top_label" },
    ace: { norm: 1, notion: "classwise", strategy: "quantile" },
    mce: { norm: Infinity, notion: null },
    rmsce: { norm: 2, notion: null },
  };

  // The question that an alias stands for; settings are {bins, strategy, notion}.
  function ask(alias, rows, settings) {
    return alias in NORMS ? ofBins(alias, rows, settings) : ofPoints(alias, rows, settings);
  }

  function ofBins(alias, rows, settings) {
    const { norm, notion, strategy } = NORMS[alias];
    const view = rows.kind === "binary" ? "binary" : notion || settings.notion;
    const stats = statsOf(rows, view, settings.bins, strategy || settings.strategy);
    return questionOfBins(alias, stats, norm, { rows, view, settings });
  }

  function questionOfBins(alias, stats, norm, more) {
    const cells = Cells.ofBins(stats);
    return {
      alias,
      ...more,
      isFixedPoint: false,
      isLargest: norm === Infinity,
      value: () => powerMean(stats.w, stats.wp, stats.wy, norm),
      cells: () => cells,
      replicates: (_, wy, w = null) => normsOfRows(cells, wy, w, norm),
    };
  }

  // Bins are counted once for each notion, number and strategy.
  function statsOf(rows, view, nBins, strategy) {
    const key = `bins ${view} ${nBins} ${strategy}`;
    if (!rows.curves.has(key)) rows.curves.set(key, Count.bins(Rows.curves(rows, view), nBins, strategy));
    return rows.curves.get(key);
  }

  function powerMean(w, wp, wy, norm, at = 0, m = w.length, shared = null) {
    let [total, sum, most] = [0, 0, 0];
    for (let j = 0; j < m; j++) {
      const weight = shared ? shared[j] : w[at + j];
      const gap = Math.abs(wy[at + j] - wp[shared ? j : at + j]);
      total += weight;
      if (norm === 1) sum += gap;
      else if (norm === 2) sum += (gap * gap) / weight;
      else most = Math.max(most, gap / weight);
    }
    return norm === 1 ? sum / total : norm === 2 ? Math.sqrt(sum / total) : most;
  }

  function normsOfRows(cells, wy, w, norm) {
    const m = cells.w.length;
    const found = new Float64Array(wy.length / m);
    const wp = w ? w.map((one, k) => one * cells.conf[k % m]) : cells.wp;
    for (let r = 0; r < found.length; r++) found[r] = powerMean(w, wp, wy, norm, r * m, m, w ? null : cells.w);
    return found;
  }

  // --- errors without bins -------------------------------------------------------------------------------------------

  function ofPoints(alias, rows, settings) {
    const view = rows.kind === "binary" ? "binary" : "confidence";
    const points = Count.pointsOf(Rows.curves(rows, view)[0]);
    const made = new Map();
    const cells = (finest) => {
      if (!made.has(finest)) made.set(finest, Cells.ofPoints(points, finest));
      return made.get(finest);
    };
    let known = null;
    const value = () => (known ??= VALUES[alias](points, rows.n));
    const replicates = (some, wy, _, at = null) => {
      if (alias === "ks") return largestGaps(some, wy);
      if (alias === "ici") return (some.index ??= Curves.indexOfRows(some.points))(wy);
      const excess = wy.map((one, k) => one - some.w[k % some.w.length] * some.conf[k % some.w.length]);
      return at === null ? Smooth.errors(some.conf, excess, some.total) : Smooth.sizes(some.conf, excess, some.total, Math.max(at, 1e-6));
    };
    return { alias, rows, view, settings, isFixedPoint: alias === "smece", isLargest: false, value, cells, replicates };
  }

  const excessOf = (points) => points.wy.map((wy, i) => wy - points.w[i] * points.score[i]);

  const VALUES = {
    smece(points, n) {
      const excess = excessOf(points);
      if (n > MAX_ROWS_TO_SORT) return Smooth.errorOfMany(points.score, excess, points.total);
      return Smooth.errors(points.score, excess, points.total)[0];
    },
    ks: (points) => largestGap(excessOf(points)) / points.total,
    ici: (points) => Curves.index(points),
  };

  function largestGap(excess, at = 0, m = excess.length) {
    let [sum, low, high] = [0, 0, 0];
    for (let j = at; j < at + m; j++) {
      sum += excess[j];
      if (sum < low) low = sum;
      if (sum > high) high = sum;
    }
    return Math.max(-low, high);
  }

  function largestGaps(cells, wy) {
    const m = cells.w.length;
    const excess = wy.map((one, k) => one - cells.w[k % m] * cells.conf[k % m]);
    return Float64Array.from({ length: wy.length / m }, (_, r) => largestGap(excess, r * m, m) / cells.total);
  }

  return { ask, statsOf };
})();

if (typeof module !== "undefined") module.exports = Errors;
