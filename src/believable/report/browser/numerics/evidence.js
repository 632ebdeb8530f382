// The evidence for a verdict: the average, the slope and ranges of scores, each with its interval.
const EvidenceOf = (() => {
  "use strict";

  const [FEW_EVENTS, RARE_RATE, FEWEST_EVENTS_FOR_SLOPE] = [50, 0.2, 10];
  const [FEWEST_BINS, FEWEST_ROWS_IN_RANGE, CROWDED_SHARE] = [5, 30, 0.5];
  const CHANCE_OF_WRONG_RANGE = 0.05; // the probability of naming any range whose scores are right

  const nearestTo = ({ low, high }, target) => Math.min(Math.max(target, low), high);

  // --- the average ---------------------------------------------------------------------------------------------------

  function average(stats, level, design = 1) {
    const [w, predicted, observed] = [stats.w, stats.wp, stats.wy].map(Count.sum);
    let squares = 0;
    for (let b = 0; b < stats.w.length; b++) squares += stats.w2y[b] - 2 * stats.w2py[b] + stats.w2pp[b];
    const squared = design * Math.max(squares, 0);
    const unit = (design * Count.sum(stats.w2)) / w;
    const turned = observed > w / 2;
    const ofRarer = turned ? [w - predicted, w - observed] : [predicted, observed];
    const rarer = ratioOf(...ofRarer, w, squared, unit, level);
    // The gap of the rarer outcome is its ratio minus 1, times its prediction.
    let gaps = [rarer.low, rarer.high].map((end) => ((end - 1) * ofRarer[0]) / w);
    if (ofRarer[0] <= 0) gaps = poisson(ofRarer[1] / unit, level).map((end) => (end * unit) / w);
    gaps = gaps.map((end) => Math.min(Math.max(turned ? -end : end, -predicted / w), 1 - predicted / w)).sort((a, b) => a - b);
    const gap = { value: (observed - predicted) / w, low: gaps[0], high: gaps[1] };
    let ratio = { ...rarer, high: Math.min(rarer.high, predicted > 0 ? w / predicted : Infinity) };
    if (turned) {
      const [low, high] = gaps.map((end) => (predicted > 0 ? Math.max(1 + (end * w) / predicted, 0) : Infinity));
      ratio = { value: predicted > 0 ? observed / predicted : Infinity, low, high };
    }
    return { predicted: predicted / w, observed: observed / w, gap, ratio, rarer };
  }

  function ratioOf(predicted, observed, w, squared, unit, level) {
    if (predicted <= 0) return { value: observed > 0 ? Infinity : 1, low: observed <= 0 ? 0 : 1, high: Infinity };
    const value = observed / predicted;
    const events = observed / unit;
    if (events < FEW_EVENTS && observed < RARE_RATE * w) {
      const [low, high] = poisson(events, level);
      return { value, low: (low * unit) / predicted, high: (high * unit) / predicted };
    }
    const z = Special.reachOf(level);
    const error = observed > 0 ? Math.min((z * Math.sqrt(squared)) / observed, 700) : 700;
    return { value, low: value * Math.exp(-error), high: value * Math.exp(error) };
  }

  // The exact interval of the mean of a Poisson number, which need not be whole.
  function poisson(events, level) {
    const tail = (1 - level) / 2;
    return [events > 0 ? Special.gammaQuantile(events, tail) : 0, Special.gammaQuantile(events + 1, 1 - tail)];
  }

  // --- ranges of scores ----------------------------------------------------------------------------------------------

  // Ranges of at least 30 rows, with exact intervals that hold together; and those that are certainly wrong.
  function ranges(stats, alpha, effective = null) {
    const size = effective || stats.effective;
    const runs = runsOf(size);
    const each = alpha / Math.max(runs.length, 1);
    const all = runs.map((run) => rangeOf(stats, run, size, each));
    const wrong = [];
    all.forEach((one, k) => {
      if (!one.least) return;
      const before = all[k - 1];
      if (before && before.least && Words.isOver(before) === Words.isOver(one)) wrong[wrong.length - 1].push(...runs[k]);
      else wrong.push([...runs[k]]);
    });
    return { all, wrong: wrong.map((run) => rangeOf(stats, run, size, each)) };
  }

  function runsOf(size) {
    const runs = [];
    const sizeOf = (run) => run.reduce((total, b) => total + size[b], 0);
    for (let b = 0; b < size.length; b++) {
      const last = runs[runs.length - 1];
      if (last && sizeOf(last) < FEWEST_ROWS_IN_RANGE) last.push(b);
      else runs.push([b]);
    }
    if (runs.length > 1 && sizeOf(runs[runs.length - 1]) < FEWEST_ROWS_IN_RANGE) {
      const last = runs.pop();
      runs[runs.length - 1].push(...last);
    }
    return Count.sum(size) >= FEWEST_ROWS_IN_RANGE ? runs : [];
  }

  function rangeOf(stats, bins, size, alpha) {
    const total = (values) => bins.reduce((sum, b) => sum + values[b], 0);
    const weight = total(stats.w);
    const rows = Math.min(total(size), (weight * weight) / total(stats.w2));
    const predicted = Math.min(Math.max(total(stats.wp) / weight, 0), 1);
    const observed = Math.min(Math.max(total(stats.wy) / weight, 0), 1);
    const [low, high] = Special.exactInterval(observed, rows, alpha);
    const edges = stats.edges[0];
    return {
      low: edges[stats.index[bins[0]]],
      high: edges[stats.index[bins[bins.length - 1]] + 1],
      predicted,
      observed,
      n: total(stats.n),
      share: weight / stats.total,
      least: Math.max(predicted - high, low - predicted, 0),
    };
  }

  function isCrowded(stats) {
    const share = Math.max(...stats.w) / stats.total;
    return (stats.strategy === "uniform" && share > CROWDED_SHARE) || stats.perStratum < FEWEST_BINS;
  }

  // --- the slope -----------------------------------------------------------------------------------------------------

  // The calibration slope with its interval, and how far recalibration by it moves scores on average. `designs` say how
  // much clusters increase variances: that of the ratio, and that of the slope at these coefficients.
  function slope(points, level, designs = null) {
    const total = Count.sum(points.w);
    const unit = ((designs ? designs.ratio : 1) * Count.sum(points.w2)) / total;
    const events = Count.sum(points.wy);
    if (Math.min(events, total - events) / unit < FEWEST_EVENTS_FOR_SLOPE) return { slope: null, moved: 0 };
    let found;
    try {
      found = Logistic.slope(points, level);
    } catch (error) {
      if (error.name !== "UndefinedError") throw error;
      return { slope: null, moved: 0 };
    }
    const { value, intercept } = found;
    if (!Number.isFinite(value)) return { slope: { value, low: found.low, high: found.high }, moved: 1 };
    const stretch = designs ? Math.sqrt(designs.slope(intercept, value)) : 1;
    const [low, high] = [found.low, found.high].map((end) => value + stretch * (end - value));
    let moved = 0;
    for (let i = 0; i < points.score.length; i++) {
      const p = Math.min(Math.max(points.score[i], 1e-12), 1 - 1e-12);
      const eta = Math.min(Math.max(intercept + value * Math.log(p / (1 - p)), -700), 700);
      moved += points.w[i] * Math.abs(1 / (1 + Math.exp(-eta)) - points.score[i]);
    }
    return { slope: { value, low, high }, moved: moved / total };
  }

  // --- evidence ------------------------------------------------------------------------------------------------------

  // The evidence from bins on one class or subgroup; `tests` is the number of those examined.
  function ofBins(stats, tests, aboutConfidence, effective = null, design = 1) {
    const alpha = CHANCE_OF_WRONG_RANGE / Math.max(tests, 1);
    const { all, wrong } = ranges(stats, alpha, effective);
    const own = average(stats, 1 - alpha, design);
    const rejected = wrong.length > 0 || !(own.gap.low <= 0 && own.gap.high >= 0);
    return { rejected, aboutConfidence, average: own, ranges: wrong, allRanges: all, slope: null, moved: 0, ece: null };
  }

  const rarerRate = (evidence) => Math.min(evidence.average.observed, 1 - evidence.average.observed);

  // A lower bound of the ECE, from the average and the ranges.
  function leastError(evidence) {
    return Math.max(Math.abs(nearestTo(evidence.average.gap, 0)), evidence.ranges.reduce((total, one) => total + one.share * one.least, 0));
  }

  return { average, ranges, isCrowded, slope, ofBins, rarerRate, leastError, nearestTo, CHANCE_OF_WRONG_RANGE };
})();

if (typeof module !== "undefined") module.exports = EvidenceOf;
