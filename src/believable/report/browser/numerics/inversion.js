// Intervals by inverting a test: for which true errors is the observed value plausible? Candidates are tested by data
// simulated with gaps of that size; `inference/inversion.py` explains the steps.
const Inversion = (() => {
  "use strict";

  const SHARES_OF_TAILS = [0.8, 0.9];
  const [ANCHORS, BETWEEN_ENDS, SHARE_TO_REACH, MAX_ROUNDS, MAX_STRETCH] = [30, 7, 0.95, 6, 10];
  const [MIN_SHARE_OF_SHAPES, LUCKY_SHARE, NARROWEST, NO_ERROR, TIED] = [0.02, 0.1, 1e-3, 1e-300, 1e-9];
  const [MAX_DRAWN_ANEW, POINTS_OF_TEST, MAX_POINTS_OF_TEST] = [60, 200, 1000];
  const [NUMBERS_PER_CANDIDATE, LEAST_SHARE_OF_DRAWS, ROWS_OF_SPARSE_BIN] = [300000, 0.4, 3];
  const MIN_CLUSTERS = 6;
  const NOTE_OF_SPARSE_BINS = "half of the bins hold three rows or fewer: the interval relies on what classes have in common";
  const NOTE_OF_LUCK = "the observed value is smaller than expected even under perfect calibration";

  // The interval of a calibration error: its value, ends, estimate and a note.
  function interval(question, level, nResamples, seed) {
    return intervalWith(question, level, nResamples, Draws.generator(seed));
  }

  function intervalWith(question, level, nResamples, rng) {
    const draws = Math.max(nResamples, Math.min(Math.trunc(10 / (1 - level)), 100000));
    const value = question.value();
    const tails = tailsOf(question, draws, rng);
    const found = invert(tails, level);
    if (!found.note && isSparse(tails.cells)) found.note = NOTE_OF_SPARSE_BINS;
    if (!tails.cells.areBins && tails.observed >= tails.plain) {
      const moved = value - tails.plain; // the test uses merged points, whose error differs a little
      for (const name of ["low", "high", "estimate"]) if (found[name] !== 0) found[name] = Math.min(Math.max(found[name] + moved, 0), 1);
      found.low = Math.min(found.low, value);
    }
    const { nClusters } = question.rows;
    if (!found.note && nClusters !== null && nClusters < MIN_CLUSTERS) found.note = `rough: ${nClusters} clusters hardly show how much clusters differ`;
    return { ...found, value };
  }

  function isSparse(cells) {
    if (!cells.areBins || cells.stratum[0] === cells.stratum[cells.stratum.length - 1]) return false;
    return Curves.quantile(Float64Array.from(cells.n).sort(), 0.5) <= ROWS_OF_SPARSE_BIN;
  }

  function nPoints(question) {
    if (!question.isFixedPoint) return POINTS_OF_TEST;
    return Math.trunc(Math.min(Math.max(4 / Math.max(question.value(), 1e-9), POINTS_OF_TEST), MAX_POINTS_OF_TEST));
  }

  function tailsOf(question, nDraws, rng) {
    let cells = question.cells(nPoints(question));
    const draws = Math.max(Math.ceil(LEAST_SHARE_OF_DRAWS * nDraws), Math.min(nDraws, Math.floor(NUMBERS_PER_CANDIDATE / cells.w.length)));
    const dependent = question.rows.cluster || question.view === "classwise";
    let widened = 1;
    if (dependent && cells.areBins) [cells, widened] = Units.bins(question, cells, draws, rng);
    const noise = dependent && !cells.areBins ? Units.points(question, cells, draws, rng) : ofPairs(cells, draws, rng);
    return new Tails(question, cells, noise, draws, rng, widened);
  }

  // --- noise of independent pairs ------------------------------------------------------------------------------------

  // The variance of the observed gaps, and a function that draws outcomes at any rates (null: those of the scores).
  function ofPairs(cells, draws, rng) {
    const m = cells.w.length;
    const calibrated = Cells.draw(cells, cells.conf, rng, draws); // drawn as in the noise floor, so that the two agree
    const times = Cells.times(cells, rng, draws);
    const seen = Cells.asObserved(cells);
    const typical = seen.wy.map((wy, j) => ((wy / seen.w[j]) * seen.size[j] + seen.conf[j] + 0.25) / (seen.size[j] + 1.5));
    const variance = typical.map((rate, j) => {
      const most = Math.max(Cells.variance(seen, rate, j), Cells.variance(seen, seen.conf[j], j), 1e-6);
      return most / seen.size[j];
    });
    if (cells.areBins || m <= MAX_DRAWN_ANEW) {
      const outcomes = (rate, again) => {
        if (!rate) return { wy: calibrated, w: null };
        const drawn = Cells.drawAnew(seen, rate, again, times);
        if (cells.areBins) return drawn;
        // Metrics of points use outcomes minus scores only, so points can keep their weight.
        return { wy: drawn.wy.map((wy, k) => seen.w[k % m] * seen.conf[k % m] + (wy - drawn.w[k] * seen.conf[k % m])), w: null };
      };
      return { variance, outcomes };
    }
    const scale = typical.map((rate, j) => Math.sqrt(Math.max(Cells.variance(seen, rate, j), 1e-6)));
    const unit = Cells.draw(seen, typical, rng, draws);
    for (let k = 0; k < unit.length; k++) unit[k] = (unit[k] - seen.w[k % m] * typical[k % m]) / scale[k % m];
    const outcomes = (rate) => {
      if (!rate) return { wy: calibrated, w: null };
      const wy = new Float64Array(rate.length);
      for (let k = 0; k < wy.length; k++) {
        const j = k % m;
        const occurred = seen.w[j] * (seen.conf[j] + times[k] * (rate[k] - seen.conf[j]));
        wy[k] = occurred + unit[k] * Math.sqrt(Cells.variance(seen, rate[k], j));
      }
      return { wy, w: null };
    };
    return { variance, outcomes };
  }

  // --- shapes of the true gaps ---------------------------------------------------------------------------------------

  function shapesOf(cells, variance, draws, rng) {
    const m = cells.w.length;
    if (cells.areBins) {
      const several = cells.stratum[0] !== cells.stratum[m - 1];
      const pooled = several ? Cells.pooledVariance(Cells.asObserved(cells)) : null;
      return Shapes.draws(Cells.gaps(cells), variance, cells.conf, cells.stratum, draws, rng, true, pooled);
    }
    // Points are grouped into a few cells that move together.
    const total = Count.sum(cells.w);
    let reached = 0;
    const code = Array.from(cells.conf, (p, j) => {
      reached += cells.w[j];
      const rank = (reached - cells.w[j] / 2) / total;
      return Math.floor((ANCHORS / 2) * p + TIED) + Math.floor((ANCHORS / 2) * rank + TIED);
    });
    const distinct = [...new Set(code)].sort((a, b) => a - b);
    const anchor = code.map((one) => distinct.indexOf(one));
    const w = Cells.bincount(anchor, cells.w);
    const mean = (values) => Cells.bincount(anchor, values).map((one, a) => one / w[a]);
    const gap = mean(cells.wy.map((wy, j) => wy - cells.w[j] * cells.conf[j]));
    const score = mean(cells.w.map((one, j) => one * cells.conf[j]));
    const spread = mean(cells.w.map((one, j) => one * one * variance[j])).map((one, a) => one / w[a]);
    const few = Shapes.draws(gap, spread, score, new Int32Array(w.length), draws, rng, false);
    const shapes = new Float64Array(draws * m);
    for (let r = 0; r < draws; r++) for (let j = 0; j < m; j++) shapes[r * m + j] = few[r * w.length + anchor[j]];
    return shapes;
  }

  // --- tails ---------------------------------------------------------------------------------------------------------

  // Probabilities of an error at least, and at most, as large as the observed one, for any true error.
  class Tails {
    constructor(question, cells, noise, draws, rng, widened) {
      Object.assign(this, { question, cells, noise, widened });
      this.m = cells.w.length;
      this.observed = this.plain = question.replicates(cells, cells.wy)[0];
      if (question.isFixedPoint && this.observed < NARROWEST) this.observed = question.replicates(cells, cells.wy, null, NARROWEST)[0];
      this.shapes = shapesOf(cells, noise.variance, draws, rng);
      for (let k = 0; k < this.shapes.length; k++) {
        const p = cells.conf[k % this.m];
        this.shapes[k] = Math.min(Math.max(p + this.shapes[k], 0), 1) - p; // rates have to stay within [0, 1]
      }
      this.seed = rng.seed();
      this.tried = new Map();
      this.sizes = new Map();
      const shown = this.shown(0).sort();
      const [low, high] = [Curves.quantile(shown, 0.025), Curves.quantile(shown, 0.975)];
      this.lucky = Curves.quantile(shown, LUCKY_SHARE);
      this.spread = high - low || Math.max(this.observed, 1e-3);
    }

    at(error) {
      if (!this.tried.has(error)) {
        const { onStep } = this.question.settings;
        if (onStep) onStep();
        const shown = this.shown(error);
        const tiny = TIED * this.observed;
        let [least, most] = [0, 0];
        for (const one of shown) {
          if (one >= this.observed - tiny) least++;
          if (one <= this.observed + tiny) most++;
        }
        const n = 1 + shown.length;
        this.tried.set(error, shown.length ? [(1 + least) / n, (1 + most) / n] : [1, 0]);
      }
      return this.tried.get(error);
    }

    // The errors of simulated data with this true error; none if too few shapes can reach it.
    shown(error) {
      const { cells, question, m } = this;
      let rate = null;
      if (error > 0) {
        const { rates, reached } = this.stretched(error);
        const able = [...reached.keys()].filter((r) => reached[r]);
        const n = reached.length;
        if (able.length < MIN_SHARE_OF_SHAPES * n) return new Float64Array(0);
        rate = rates;
        if (able.length < n) { // shapes that reach it replace those that do not
          rate = new Float64Array(n * m);
          for (let r = 0; r < n; r++) {
            const from = able[r % able.length] * m;
            rate.set(rates.subarray(from, from + m), r * m);
          }
        }
      }
      const { wy, w } = this.noise.outcomes(rate, new Draws.Generator(this.seed));
      const shown = question.replicates(cells, wy, w, question.isFixedPoint ? Math.max(this.observed, NARROWEST) : null);
      if (this.widened === 1) return shown;
      const middle = Curves.quantile(Float64Array.from(shown).sort(), 0.5);
      return shown.map((one) => Math.max(middle + this.widened * (one - middle), 0));
    }

    // The rates at which the shapes have this error, and whether they reach it.
    stretched(error) {
      const { cells, question, m, shapes } = this;
      const size = this.size(error);
      const n = size.length;
      let reached = Array.from(size, (one) => one > NO_ERROR);
      const by = size.map((one) => error / one);
      const rates = new Float64Array(n * m);
      const outcomes = new Float64Array(n * m);
      for (let round = 0; round < (cells.areBins ? MAX_ROUNDS : 1); round++) {
        let cut = false;
        for (let k = 0; k < n * m; k++) {
          const j = k % m;
          const meant = cells.conf[j] + by[(k - j) / m] * shapes[k];
          const rate = Math.min(Math.max(meant, 0), 1);
          if (rate !== meant) cut = true;
          rates[k] = rate;
          outcomes[k] = cells.w[j] * rate;
        }
        if (round === 0 && !cut) return { rates, reached };
        // Gaps cut off at rates of 0 and 1 make the error too small, so the other gaps have to compensate.
        const found = question.replicates(cells, outcomes, null, this.width(error));
        reached = Array.from(found, (one) => one > SHARE_TO_REACH * error);
        let all = true;
        for (let r = 0; r < n; r++) {
          if (reached[r]) continue;
          by[r] *= Math.min(error / Math.max(found[r], NO_ERROR), MAX_STRETCH);
          all = false;
        }
        if (all) break;
      }
      return { rates, reached };
    }

    // The error of the unstretched shapes.
    size(error) {
      const key = this.question.isFixedPoint ? error : 0;
      if (!this.sizes.has(key)) {
        const { cells, m } = this;
        const outcomes = this.shapes.map((one, k) => cells.w[k % m] * (cells.conf[k % m] + one));
        const found = this.question.replicates(cells, outcomes, null, this.width(error));
        this.sizes = new Map([[key, found.map((one) => Math.max(one, NO_ERROR))]]);
      }
      return this.sizes.get(key);
    }

    width(error) {
      return this.question.isFixedPoint ? Math.max(error, this.observed / 20, NARROWEST) : null;
    }

    // A lower bound of the largest true gap: the largest of the exact lower bounds of the bins.
    forSure(tail) {
      const { cells, m } = this;
      const each = tail / m;
      let most = 0;
      for (let j = 0; j < m; j++) {
        const rate = Math.min(Math.max(cells.wy[j] / cells.w[j], 0), 1);
        const [yes, no] = [rate * cells.size[j], (1 - rate) * cells.size[j]];
        const least = yes > 0 ? Special.betaQuantile(yes, no + 1, each) : 0;
        const above = 1 - (no > 0 ? Special.betaQuantile(no, yes + 1, each) : 0);
        most = Math.max(most, least - cells.conf[j], cells.conf[j] - above);
      }
      return most;
    }

    // The tails for upper ends, where values in the lowest tenth under perfect calibration are raised.
    lifted() {
      if (this.observed >= this.lucky) return this;
      if (!this.above) {
        this.above = Object.assign(Object.create(Tails.prototype), this);
        Object.assign(this.above, { observed: this.lucky, tried: new Map(), sizes: new Map() });
      }
      return this.above;
    }
  }

  // --- the interval --------------------------------------------------------------------------------------------------

  function invert(tails, level) {
    const [tail, upperTail] = SHARES_OF_TAILS.map((share) => (share * (1 - level)) / 2);
    const note = tails.at(0)[1] < upperTail ? NOTE_OF_LUCK : "";
    const above = tails.lifted();
    const zeroMayBe = tails.at(0)[0] >= tail;
    const top = stepUntil(above, 1, 1, upperTail);
    if (above !== tails) for (const error of between(0, top, true)) above.at(error);
    const bottom = zeroMayBe ? 0 : stepUntil(tails, -1, 0, tail);
    for (const error of between(bottom, top, false)) tails.at(error);
    const high = crossing(above, 1, upperTail);
    let low = zeroMayBe ? 0 : crossing(tails, 0, tail);
    if (tails.question.isLargest) low = tails.forSure(tail);
    const estimate = tails.at(0)[0] >= 0.5 ? 0 : crossing(tails, 0, 0.5);
    const most = Math.max(high, low);
    return { low, high: most, estimate: Math.min(Math.max(estimate, low), most), note };
  }

  // Candidates at equal steps, with or without the ends.
  function between(low, high, ends) {
    const n = BETWEEN_ENDS + 1;
    const step = (high - low) / n;
    const all = Array.from({ length: n + 1 }, (_, k) => (k === n ? high : low + k * step));
    return ends ? all : all.slice(1, -1);
  }

  // Move away from the observed value, in growing steps, until a candidate is rejected.
  function stepUntil(tails, direction, side, tail) {
    let error = tails.observed;
    for (let k = 0; k < 50; k++) {
      error = Math.max(error + (direction * tails.spread * 1.5 ** k) / 2, 0);
      if (tails.at(error)[side] < tail || error === 0) break;
    }
    return error;
  }

  // Where a tail has this probability, interpolated on the scale of normal quantiles.
  function crossing(tails, side, tail) {
    let found = 0;
    for (let round = 0; round < 2; round++) {
      const tried = [...tails.tried.keys()].sort((a, b) => a - b);
      let best = side === 0 ? -Infinity : Infinity;
      const z = tried.map((error) => {
        const chance = tails.tried.get(error)[side];
        best = side === 0 ? Math.max(best, chance) : Math.min(best, chance);
        const one = Special.normalQuantile(Math.min(Math.max(best, 1e-6), 1 - 1e-6));
        return side === 1 ? -one : one;
      });
      const goal = side === 0 ? Special.normalQuantile(tail) : -Special.normalQuantile(tail);
      found = Math.min(interpolated(goal, z, tried), 1);
      tails.at(found);
    }
    return found;
  }

  // np.interp at one place; places may be equal.
  function interpolated(x, places, values) {
    const last = places.length - 1;
    if (x < places[0]) return values[0];
    if (x >= places[last]) return values[last];
    const k = Count.search(places, x, true) - 1;
    if (places[k] === x) return values[k];
    return values[k] + ((values[k + 1] - values[k]) / (places[k + 1] - places[k])) * (x - places[k]);
  }

  return { interval, intervalWith };
})();

if (typeof module !== "undefined") module.exports = Inversion;
