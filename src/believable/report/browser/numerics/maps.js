// Calibration maps: temperature, Platt, beta and isotonic, fitted and applied as Python does
// (`believable.recalibrate`), and saved in the same JSON, which `load_recalibrator` reads.
//
// A problem is {one, labels, w, fold, n, nClasses, events, matrix}: rows to fit to, of one event or of several classes.
// An event is a column of scores with outcomes 0 and 1; of several classes, each is one against the rest.
const Maps = (() => {
  "use strict";

  const { filled } = Optimise;

  const METHODS = {
    temperature: { name: "TemperatureScaling", settings: { objective: "nll" }, simplicity: 1, words: "temperature scaling" },
    platt: { name: "PlattScaling", settings: { targets: "labels" }, simplicity: 2, words: "Platt scaling" },
    beta: { name: "BetaCalibration", settings: { parameters: "abm" }, simplicity: 3, words: "beta calibration" },
    isotonic: {
      name: "IsotonicCalibration", settings: { between: "linear", centred: false }, simplicity: 6, words: "isotonic calibration",
    },
  };
  const SMALLEST = 1e-12;
  const LARGEST_LOGIT = Math.log1p(-SMALLEST) - Math.log(SMALLEST);
  const ROUGH_LOG_ODDS = 1e-5;
  const EPSILON = 2 ** -52;

  // --- the scores, in the forms that maps read -----------------------------------------------------------------------

  // The log-odds of a probability clipped to [1e-12, 1 - 1e-12]; those of the ends are exact opposites.
  function logit(p) {
    if (p >= 1 - SMALLEST) return LARGEST_LOGIT;
    return p <= SMALLEST ? -LARGEST_LOGIT : Math.log(p) - Math.log1p(-p);
  }

  const logOf = (p) => Math.log(Math.min(Math.max(p, SMALLEST), 1 - SMALLEST));
  const logOfRest = (p) => (p >= 1 - SMALLEST ? Math.log(SMALLEST) : Math.log1p(-Math.max(p, SMALLEST)));

  // One column of scores, with what is computed from it when it is first needed.
  function event(scores, y, w, fold) {
    const n = scores.length;
    const known = {};
    const once = (name, make) => known[name] ?? (known[name] = filled(n, make));
    const column = {
      scores, y, w, fold,
      get logits() { return once("logits", (i) => logit(scores[i])); },
      get logs() { return once("logs", (i) => logOf(scores[i])); },
      get oppositeLogs() { return once("oppositeLogs", (i) => -logOfRest(scores[i])); },
      get gaps() {
        const { logits } = column;
        return once("gaps", (i) => Math.abs(logits[i]));
      },
      get behind() {
        const { logits } = column;
        return once("behind", (i) => Math.max(y[i] === 1 ? -logits[i] : logits[i], 0));
      },
      get sorted() { return known.sorted ?? (known.sorted = inOrder(column)); },
    };
    return column;
  }

  // The rows of an event from the lowest score.
  function inOrder({ scores, y, w, fold }) {
    const order = Count.order(filled(scores.length, (i) => scores[i] + 0)); // -0 would be sorted apart from 0
    const taken = (values, Kind) => values && filled(order.length, (i) => values[order[i]], Kind);
    return { score: taken(scores), y: taken(y, Uint8Array), w: taken(w), fold: taken(fold, Uint8Array) };
  }

  // The rows to fit to. `scores` is a column for one event, or an array with a column per class; two columns become one
  // event. Labels are column numbers.
  function problem({ scores, labels, weights = null, fold = null }) {
    const one = !Array.isArray(scores) || scores.length === 2;
    const columns = Array.isArray(scores) ? scores.length : 1;
    const nClasses = Math.max(columns, 2);
    const n = labels.length;
    if (one) {
      const y = filled(n, (i) => labels[i], Uint8Array);
      const events = [event(columns === 2 ? scores[1] : scores, y, weights, fold)];
      return { one, columns, nClasses, n, labels, w: weights, fold, events };
    }
    const outcomes = (k) => filled(n, (i) => (labels[i] === k ? 1 : 0), Uint8Array);
    const events = scores.map((column, k) => event(column, outcomes(k), weights, fold));
    let gaps = null;
    return {
      one, columns, nClasses, n, labels, w: weights, fold, events,
      get gaps() {
        gaps = gaps ?? logitGaps(scores, n);
        return gaps;
      },
    };
  }

  // How far each log p is below the largest of its row, row after row.
  function logitGaps(columns, n) {
    const width = columns.length;
    const found = new Float64Array(n * width);
    for (let i = 0; i < n; i++) {
      let top = 0;
      for (let k = 0; k < width; k++) if (columns[k][i] > top) top = columns[k][i];
      top = Math.log(Math.max(top, SMALLEST));
      for (let k = 0; k < width; k++) found[i * width + k] = top - Math.log(Math.max(columns[k][i], SMALLEST));
    }
    return found;
  }

  // --- fitting -------------------------------------------------------------------------------------------------------

  // The maps of a method, fitted to all rows or to those outside one fold: one map, or one per class with null for a
  // class that does not occur. `limits` says in sentences where the data do not determine a map. `near` are maps of
  // nearly the same rows, from which the search starts.
  function learned(method, rows, without = -1, near = null) {
    const limits = [];
    const fold = without < 0 ? null : rows.fold;
    if (method === "temperature") {
      const [one] = rows.events;
      const of = rows.one
        ? { gaps: one.gaps, behind: one.behind, width: 1 }
        : { gaps: rows.gaps, behind: labelGaps(rows), width: rows.nClasses };
      const start = near && near[0].temperature;
      const fit = Optimise.temperature({ ...of, w: rows.w, fold, without }, { start });
      if (fit.limit) limits.push(temperatureLimit(fit));
      return { maps: [{ temperature: fit.temperature }], limits };
    }
    const maps = rows.events.map((one, k) => {
      const facts = factsOf(one, fold, without);
      if (facts.n[0] === 0 || facts.n[1] === 0) return null;
      return LEARN[method](one, facts, { fold, without, start: near && near[k] }, limits);
    });
    return { maps, limits };
  }

  function labelGaps({ gaps, labels, nClasses }) {
    return filled(labels.length, (i) => gaps[i * nClasses + labels[i]]);
  }

  // By outcome: the number and weight of rows, and the range of their scores.
  function factsOf({ scores, y, w }, fold, without) {
    const n = [0, 0];
    const weight = [0, 0];
    const low = [Infinity, Infinity];
    const high = [-Infinity, -Infinity];
    for (let i = 0; i < scores.length; i++) {
      if (fold !== null && fold[i] === without) continue;
      const k = y[i];
      const score = scores[i];
      n[k]++;
      weight[k] += w === null ? 1 : w[i];
      if (score < low[k]) low[k] = score;
      if (score > high[k]) high[k] = score;
    }
    return { n, weight, low, high };
  }

  const noNoise = [0, 0];
  const smoothed = ({ weight }) => weight.map((total) => 1 / (total + 2));
  const unclipped = (p) => Math.min(Math.max(p, SMALLEST), 1 - SMALLEST);

  // The log-odds of the base rate.
  function baseLogOdds({ weight: [negative, positive] }, noise) {
    const events = positive * (1 - noise[1]) + negative * noise[0];
    return Math.log(events) - Math.log(positive + negative - events);
  }

  function learnPlatt(one, facts, { fold, without, start }, limits) {
    const low = facts.low.map(logit);
    const high = facts.high.map(logit);
    const spread = Math.max(...high) > Math.min(...low);
    const separated = spread && (low[1] >= high[0] || high[1] <= low[0]);
    if (!spread) {
      limits.push("all scores are equal and carry no information: every row gets the base rate");
      return { slope: 0, intercept: baseLogOdds(facts, noNoise) };
    }
    if (separated) {
      limits.push(
        "a threshold on the scores separates the classes, so the likelihood has no maximum: smoothed targets were used",
      );
    }
    const rows = { columns: [one.logits], y: one.y, w: one.w, fold, without, noise: separated ? smoothed(facts) : noNoise };
    const [slope, intercept] = Optimise.logistic(rows, { start: start && [start.slope, start.intercept] });
    if (Math.abs(slope * logit(facts.low[0])) * EPSILON > ROUGH_LOG_ODDS) limits.push(ROUNDED);
    return { slope, intercept };
  }

  const ROUNDED =
    "the scores differ so little for their size that rounding changes log-odds by more than 1e-5: subtract a constant " +
    "from the scores or logits first";

  function learnBeta(one, facts, { fold, without, start }, limits) {
    const few = fewDistinct(one.scores, fold, without);
    if (few === 1) {
      limits.push("all scores are equal and carry no information: every row gets the base rate");
      return { a: 0, b: 0, c: baseLogOdds(facts, noNoise) };
    }
    if (few === 2) limits.push("there are too few distinct scores for parameters='abm': a = b was taken");
    const separated = unclipped(facts.low[1]) >= unclipped(facts.high[0]);
    if (separated) {
      limits.push(
        "a threshold on the scores separates the classes, so the likelihood has no maximum: smoothed targets were used",
      );
    }
    const columns = few === 2 ? [one.logits] : [one.logs, one.oppositeLogs];
    const rows = { columns, y: one.y, w: one.w, fold, without, noise: separated ? smoothed(facts) : noNoise };
    const near = start && (few === 2 ? [start.a, start.c] : [start.a, start.b, start.c]);
    const found = Optimise.logistic(rows, { rising: true, start: near });
    const [a, b, c] = few === 2 ? [found[0], found[0], found[1]] : found;
    if (typicalSize(one.scores, a, b) > ROUGH_LOG_ODDS / EPSILON) limits.push(ROUNDED);
    return { a, b, c };
  }

  // The number of distinct clipped scores, counted up to 3.
  function fewDistinct(scores, fold, without) {
    const found = new Set();
    for (let i = 0; i < scores.length && found.size < 3; i++) {
      if (fold === null || fold[i] !== without) found.add(unclipped(scores[i]));
    }
    return found.size;
  }

  // The size of the terms that are summed for a typical score, ignoring signs.
  function typicalSize(scores, a, b) {
    const sizes = Array.from(scores.slice(0, 1000), (p) => -(a * logOf(p) + b * logOfRest(p))).sort((x, y) => x - y);
    return sizes[sizes.length >> 1];
  }

  function learnIsotonic(one, facts, { fold, without }) {
    const { score, y, w, fold: sortedFold } = one.sorted;
    const { low, high, value } = Optimise.isotonic({ score, y, w, fold: fold && sortedFold, without });
    const scores = [];
    const values = [];
    for (let i = 0; i < value.length; i++) {
      scores.push(low[i]);
      values.push(value[i]);
      if (high[i] > low[i]) {
        scores.push(high[i]);
        values.push(value[i]);
      }
    }
    return { scores, values, between: "linear" };
  }

  const LEARN = { platt: learnPlatt, beta: learnBeta, isotonic: learnIsotonic };

  function temperatureLimit({ limit, temperature }) {
    const [what, how] = {
      right: [
        "the logits are right in every row, so the likelihood rises as T falls to 0: T was set",
        "where the mean log loss is 1e-6 above its infimum",
      ],
      useless: [
        "the logits do not distinguish the classes, so the likelihood rises with T: T was set",
        "to 1e6 times the largest difference within a row",
      ],
      equal: ["the logits of every row are equal, so they say nothing about T: it was set", "to 1"],
    }[limit];
    return `${what} ${how} (T = ${general(temperature, 3)})`;
  }

  // A number with so many significant digits, as Python's format "g".
  function general(value, digits) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    if (exponent >= -4 && exponent < digits) return String(Number(value.toPrecision(digits)));
    return `${Number(mantissa)}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }

  // --- applying ------------------------------------------------------------------------------------------------------

  // Write the probabilities of the event, and their complements, for all rows or for those of one fold.
  function applyToEvent(method, map, one, which, p, rest) {
    const { scores, fold } = one;
    const linear = method === "isotonic" ? null : predictor(method, map, one);
    for (let i = 0; i < scores.length; i++) {
      if (which >= 0 && fold[i] !== which) continue;
      if (linear === null) {
        p[i] = between(scores[i], map.scores, map.values);
        rest[i] = 1 - p[i];
        continue;
      }
      const eta = linear(i);
      const tail = Math.exp(-Math.abs(eta));
      const more = 1 / (1 + tail);
      const less = tail / (1 + tail);
      p[i] = eta >= 0 ? more : less;
      rest[i] = eta >= 0 ? less : more;
    }
  }

  // The linear predictor of row i.
  function predictor(method, map, one) {
    if (method === "beta") {
      const { logs, oppositeLogs } = one;
      const { a, b, c } = map;
      return (i) => a * logs[i] + b * oppositeLogs[i] + c;
    }
    const { logits } = one;
    const { temperature, slope, intercept } = map;
    return method === "platt" ? (i) => slope * logits[i] + intercept : (i) => logits[i] / temperature;
  }

  // Linear interpolation between values at increasing knots, constant beyond the ends.
  function between(x, knots, values) {
    let low = 0;
    let high = knots.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (knots[middle] <= x) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return values[0];
    if (low === knots.length) return values[low - 1];
    const share = (x - knots[low - 1]) / (knots[low] - knots[low - 1]);
    return Math.min(values[low - 1] + share * (values[low] - values[low - 1]), values[low]);
  }

  // Write the probabilities that maps give, for all rows or for those of one fold: [rest, p] of an event, or a column
  // per class.
  function applyTo(method, maps, rows, which, out) {
    if (rows.one) {
      applyToEvent(method, maps[0], rows.events[0], which, out[1], out[0]);
      return;
    }
    const { n, nClasses, fold } = rows;
    if (method === "temperature") {
      const [{ temperature }] = maps;
      for (let i = 0; i < n; i++) {
        if (which >= 0 && fold[i] !== which) continue;
        let total = 0;
        for (let k = 0; k < nClasses; k++) total += out[k][i] = Math.exp(-rows.gaps[i * nClasses + k] / temperature);
        for (let k = 0; k < nClasses; k++) out[k][i] /= total;
      }
      return;
    }
    const rest = new Float64Array(n);
    rows.events.forEach((one, k) => {
      if (maps[k] !== null) applyToEvent(method, maps[k], one, which, out[k], rest);
      else for (let i = 0; i < n; i++) if (which < 0 || fold[i] === which) out[k][i] = one.scores[i];
    });
    for (let i = 0; i < n; i++) {
      if (which >= 0 && fold[i] !== which) continue;
      let total = 0;
      for (let k = 0; k < nClasses; k++) total += out[k][i];
      for (let k = 0; k < nClasses; k++) out[k][i] = total > 0 ? out[k][i] / total : 1 / nClasses;
    }
  }

  const emptyColumns = (rows) => Array.from({ length: rows.nClasses }, () => new Float64Array(rows.n));

  // --- saving --------------------------------------------------------------------------------------------------------

  // The labels as Python has them: column numbers, unless they have names.
  function labelsOf(names, nClasses) {
    const numbers = Array.from({ length: nClasses }, (_, k) => k);
    return names && names.some((name, k) => name !== String(k)) ? [...names] : numbers;
  }

  // What `to_json` of the Python recalibrator writes, as an object.
  function saved(method, maps, columns, nClasses, names = null) {
    const { name, settings } = METHODS[method];
    return {
      schema: "believable.recalibrator", version: 1, method: name, input: "probabilities", columns,
      classes: labelsOf(names, nClasses), settings, maps,
    };
  }

  // The same as the text that `to_json` writes, to the last letter.
  function toJson(map) {
    const { maps, ...head } = map;
    const fields = Object.entries(head).map(([name, value]) => `${JSON.stringify(name)}: ${plain(value)}`);
    return `{${fields.join(", ")}, "maps": ${plain(maps, float)}}`;
  }

  function plain(value, number = String) {
    if (typeof value === "number") return number(value);
    if (Array.isArray(value)) return `[${value.map((each) => plain(each, number)).join(", ")}]`;
    if (value === null || typeof value !== "object") return asciiOf(JSON.stringify(value));
    return `{${Object.entries(value).map(([name, each]) => `"${name}": ${plain(each, number)}`).join(", ")}}`;
  }

  const asciiOf = (text) =>
    text.replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

  // A float as Python writes it: with a point, or an exponent below 1e-4 and from 1e16.
  function float(x) {
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
      const [mantissa, exponent] = x.toExponential().split("e");
      return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
    }
    const text = Object.is(x, -0) ? "-0" : String(x);
    return text.includes(".") ? text : `${text}.0`;
  }

  // --- in one call ---------------------------------------------------------------------------------------------------

  // A method fitted to all rows: {method, map (as saved), apply(scores), limits}. Rows of weight 0 do not count.
  function fit(method, scores, labels, weights = null, names = null) {
    if (!(method in METHODS)) throw new Error(`method '${method}' is not known; choose from: ${Object.keys(METHODS).join(", ")}`);
    if (weights !== null && weights.includes(0)) {
      const kept = (values) => values.filter((_, i) => weights[i] > 0);
      const taken = Array.isArray(scores) ? scores.map(kept) : kept(scores);
      return fit(method, taken, kept(labels), weights.filter((w) => w > 0), names);
    }
    const rows = problem({ scores, labels, weights });
    const present = [...new Set(labels)];
    if (present.length === 1) {
      const name = labelsOf(names, rows.nClasses)[present[0]];
      throw new Error(
        `y has only one class, ${typeof name === "string" ? `'${name}'` : name}, so no calibration map can be fitted; ` +
          "collect rows of the other class too",
      );
    }
    const { maps, limits } = learned(method, rows);
    return { method, map: saved(method, maps, rows.columns, rows.nClasses, names), limits, apply: (more) => applied(method, maps, more) };
  }

  // The probabilities of new scores, in the shape of the scores.
  function applied(method, maps, scores) {
    const many = Array.isArray(scores);
    const n = many ? scores[0].length : scores.length;
    const rows = problem({ scores, labels: new Uint8Array(n) });
    const out = emptyColumns(rows);
    applyTo(method, maps, rows, -1, out);
    return many ? out : out[1];
  }

  return { METHODS, problem, learned, applyTo, emptyColumns, saved, toJson, fit, applied, general };
})();

if (typeof module !== "undefined") module.exports = Maps;
