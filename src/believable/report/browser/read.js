// From a file and the columns that were chosen to the rows of an audit: what `believable.readers.load` and the checks of
// `Predictions` do, with the same sentences; where they name an option, these name the control of the page.
const Read = (() => {
  "use strict";

  const inNode = typeof Delimited === "undefined";
  const Table = inNode ? require("./delimited.js") : Delimited;
  const Chosen = inNode ? require("./columns.js") : Columns;
  const { BadInput, NULLS, shown, general, grouped } = Table;
  const ROW_SUM_TOLERANCE = 1e-3;
  const MAX_ROWS_ALIKE = 5; // so few scores may all be 0, or all 1
  const MAX_LABELS_LISTED = 10;
  const LIGHTEST_WEIGHT = 1e-100;
  const HEAVIEST_WEIGHT = 1e100;
  const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+|inf(?:inity)?|nan)(?:e[-+]?\d+)?$/i;
  const LOOK_LIKE_CLASSES = "these look like predicted classes, not probabilities";
  const REPAIR = "fill in the value, or choose “Leave out rows with missing values”";
  const NAME_THE_POSITIVE = "name the label that counts as 1 with “Counts as 1”";

  function inAList(words) {
    const more = words.length - MAX_LABELS_LISTED;
    return words.slice(0, MAX_LABELS_LISTED).join(", ") + (more > 0 ? ` and ${grouped(more)} more` : "");
  }

  // The order of NumPy, which compares characters; JavaScript compares halves of the rare ones.
  function byCharacter(a, b) {
    const [one, other] = [[...a], [...b]];
    for (let i = 0; i < Math.min(one.length, other.length); i++) {
      const difference = one[i].codePointAt(0) - other[i].codePointAt(0);
      if (difference) return difference;
    }
    return one.length - other.length;
  }

  // A number as Python writes it: 1.0, and 1e-07.
  function asFloat(value) {
    const size = Math.abs(value);
    if (size && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/e([-+])(\d)$/, "e$10$2");
    return Number.isInteger(value) ? `${value}.0` : String(value);
  }

  function number(text) {
    const infinite = /^([-+]?)inf/i.exec(text);
    return infinite ? (infinite[1] === "-" ? -Infinity : Infinity) : Number(text); // nan is NaN
  }

  // --- reading -------------------------------------------------------------------------------------------------------

  // A look at the first rows: some values of each column, for the controls.
  async function preview(table, most = 2000) {
    const sinks = table.names.map((name) => [name, new Table.Texts(name, table.separator)]);
    await Table.read(table, sinks, { most });
    return sinks.map(([name, sink]) => {
      const texts = [...new Set(sink.texts.map((text) => text.trim()))].filter(Boolean);
      return { name, n: texts.length, values: texts.slice(0, 50), numeric: texts.every((text) => NUMBER.test(text.replace(/%$/, "").replace(",", ".").trim())) };
    });
  }

  // Errors name the file and the columns, but for those in how the file is made.
  function said(name, what, act) {
    try {
      return act();
    } catch (error) {
      if (error instanceof BadInput) error.message = `${name}${what}: ${error.message}`;
      throw error;
    }
  }

  // Read the chosen columns and check them. `asked`: prob or prefix, label, weight, cluster, by (a list), scale
  // ("probabilities", "percentages" or "logits"), positive (the label that counts as 1), pairs (true, false, or null: by
  // the name of the labels), dropMissing. Returns the input of an audit.
  async function input(table, asked = {}, onProgress = () => {}) {
    const logits = asked.scale === "logits";
    const percent = asked.scale === "percentages";
    const columns = said(table.name, "", () => Chosen.choose(table.names, { ...asked, logits }));
    const numbers = (name) => new Table.Numbers(name, table.separator);
    const texts = (name) => new Table.Texts(name, table.separator);
    const sinks = {
      prob: columns.prob.map(numbers),
      label: texts(columns.label),
      weight: columns.weight === null ? null : numbers(columns.weight),
      cluster: columns.cluster === null ? null : texts(columns.cluster),
      by: columns.by.map(texts),
    };
    const taken = [...columns.prob, columns.label, columns.weight, columns.cluster, ...columns.by];
    const unread = columns.cluster === null ? Chosen.mayBeClusters(table.names, taken).map(texts) : [];
    const all = [...sinks.prob, sinks.label, sinks.weight, sinks.cluster, ...sinks.by].filter(Boolean);
    const pairsOf = (some) => some.map((sink) => [sink.name, sink]);
    const { n, place } = await Table.read(table, pairsOf([...all, ...unread]), { onProgress });
    Table.refusePointsBetweenThousands(table, pairsOf(all));
    const scaleFound = said(table.name, ` (${Chosen.inWords(columns)})`, () => scaleOf(sinks.prob, place, percent, logits));
    const made = said(table.name, ` (${Chosen.inWords(columns)})`, () => checked(columns, sinks, n, place, asked, scaleFound));
    const one = columns.prob.length === 1;
    const pairs = asked.pairs === null || asked.pairs === undefined ? Chosen.arePairs(columns) : Boolean(asked.pairs) && one;
    if (!pairs) refusePredictedClasses(made.scores, one);
    const { rows } = made;
    const clusters = sinks.cluster === null ? null : clustersOf(sinks.cluster, rows);
    const groups = sinks.by.map((sink) => groupsOf(sink, rows));
    return {
      kind: one ? "binary" : "multiclass",
      scores: one ? made.scores[0] : made.scores,
      labels: made.labels,
      weights: made.weights,
      clusters,
      classes: made.classes,
      pairs,
      groups: groups.map(({ group }) => group),
      title: table.name,
      taken: Chosen.inWords(columns, scaleFound),
      notes: [
        ...table.notes, ...notesOn(made, columns, percent, logits, pairs),
        ...unread.flatMap(clusterNote),
        ...(asked.prob ? [] : Chosen.calibratedToo(table.names, columns)),
        ...groups.flatMap(({ notes }) => notes),
      ],
      dropped: made.dropped,
      columns,
    };
  }

  function scaleOf(prob, place, percent, logits) {
    for (const sink of prob) sink.refuseMixed(place, percent);
    const signed = prob.some((sink) => sink.percentages);
    if (logits && signed) throw new BadInput("scores are percentages (“percentages”) or logits (“logits”), not both");
    return logits ? "logits" : percent || signed ? "percentages" : "";
  }

  // --- checks, in the order of Python's ------------------------------------------------------------------------------

  function checked(columns, sinks, n, place, asked, scale) {
    const { prob, label, weight, cluster } = sinks;
    if (weight) weight.refuseText(place, false);
    const labels = labelsOf(label, columns.classes !== null && typeof columns.classes[0] === "string");
    const scores = prob.map((sink) => probabilities(sink, place, asked.scale));
    const isMissing = {
      score: scores.map((values) => [values, (i) => Number.isNaN(values[i])]),
      label: [[label, (i) => label.codes[i] < 0 || labels.missing[label.codes[i]]]],
      weight: weight ? [[weight, (i) => Number.isNaN(weight.values[i])]] : [],
      cluster: cluster ? [[cluster, (i) => cluster.codes[i] < 0 || !cluster.texts[cluster.codes[i]].trim()]] : [],
    };
    const names = { score: columns.prob, label: [columns.label], weight: [columns.weight], cluster: [columns.cluster] };
    const dropped = {};
    let left = null; // the rows that stay, as marks; null: all
    for (const [what, parts] of Object.entries(isMissing)) {
      parts.forEach(([, missing], k) => {
        let [gone, first, fresh] = [0, -1, 0];
        for (let i = 0; i < n; i++) {
          if (!missing(i)) continue;
          if (!gone++) first = i;
          if (!asked.dropMissing) continue;
          left = left || new Uint8Array(n).fill(1);
          if (left[i]) { left[i] = 0; fresh++; }
        }
        if (gone && !asked.dropMissing) {
          const others = gone === 1 ? "" : `, and at ${grouped(gone - 1)} more`;
          throw new BadInput(`column ${shown(names[what][k])} has a missing ${what} at ${place(first)}${others}; ${REPAIR}`);
        }
        if (fresh) dropped[`missing ${what}`] = (dropped[`missing ${what}`] || 0) + fresh;
      });
    }
    let rows = left === null ? Int32Array.from({ length: n }, (_, i) => i) : Int32Array.from({ length: n }, (_, i) => i).filter((i) => left[i]);
    if (!rows.length) throw new BadInput("every row has a missing score, label, weight or cluster: there is nothing to measure");

    const counts = countsOf(label, rows, labels);
    const meaning = meaningOf(columns, labels, counts, asked);
    if (weight) checkWeights(weight.values, rows, place);
    if (asked.scale === "logits") scores.forEach((values) => finite(values, "predictions", rows, place));
    else refuseOutside(scores, rows, place);
    if (asked.scale === "logits") fromLogits(scores, n);
    else if (scores.length > 1) refuseSums(scores, rows, place);
    const codes = codesOf(meaning, label, labels, counts, rows, place, scores, columns, asked);
    if (weight) {
      const kept = rows.filter((i) => weight.values[i] > 0);
      if (!kept.length) throw new BadInput("the weight is zero in every row that is left: there is nothing to measure");
      if (kept.length < rows.length) dropped["weight 0"] = rows.length - kept.length;
      rows = kept;
    }
    const taken = (values) => (rows.length === n ? values.slice(0, n) : Float64Array.from(rows, (i) => values[i]));
    return {
      rows,
      scores: scores.map(taken),
      labels: Int32Array.from(rows, (i) => codes[label.codes[i]]),
      weights: weight ? taken(weight.values) : null,
      classes: meaning.classes === null ? ["0", "1"] : meaning.classes.map(String),
      dropped,
    };
  }

  // Scores as numbers; percentages are divided by 100.
  function probabilities(sink, place, scale) {
    sink.refuseText(place);
    if (scale !== "percentages" && !sink.percentages) return sink.values;
    const values = sink.values.slice();
    values.forEach((value, i) => {
      if (value < 0 || value > 100) {
        throw new BadInput(`percentages in column ${shown(sink.name)} must lie in [0, 100], got ${general(value)} at ${place(i)}`);
      }
      values[i] = value / 100;
    });
    return values;
  }

  function finite(values, name, rows, place) {
    const bad = rows.find((i) => !Number.isFinite(values[i]));
    if (bad === undefined) return;
    throw new BadInput(`${name} must be finite, got ${general(values[bad])} at ${place(bad)}; ${REPAIR}`);
  }

  function refuseOutside(scores, rows, place) {
    let [low, high] = [Infinity, -Infinity];
    for (const values of scores) {
      for (const i of rows) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
      }
    }
    if (low >= 0 && high <= 1) return;
    if (!Number.isFinite(low) || !Number.isFinite(high)) {
      const row = rows.find((i) => scores.some((values) => !Number.isFinite(values[i])));
      finite(scores.find((values) => !Number.isFinite(values[row])), "predictions", rows, place);
    }
    const row = rows.find((i) => scores.some((values) => values[i] < 0 || values[i] > 1));
    const value = scores.map((values) => values[row]).find((one) => one < 0 || one > 1);
    let hint = "";
    if (low >= 0 && high > 10 && high <= 100) {
      hint = "; these look like percentages: choose “percentages”, or “logits” for logits";
    } else if (low < -1 || high > 1 + ROW_SUM_TOLERANCE) {
      hint = "; these look like logits: choose “logits”, or “percentages” for percentages; for other scores, fit a calibration map with `believable fit --scores raw`";
    } else if (low >= -ROW_SUM_TOLERANCE) hint = "; if this is a rounding error, clip them to [0, 1] first";
    throw new BadInput(`predictions must lie in [0, 1], got ${general(value, 8)} at ${place(row)}${hint}`);
  }

  function refuseSums(scores, rows, place) {
    for (const i of rows) {
      const sum = scores.reduce((total, values) => total + values[i], 0);
      if (Math.abs(sum - 1) <= ROW_SUM_TOLERANCE) continue;
      throw new BadInput(
        `rows of predictions must sum to 1, got ${general(sum, 8)} at ${place(i)}; divide by the row sums, or if the columns ` +
        "are independent, use Predictions(..., multilabel=True) in Python",
      );
    }
  }

  // The sigmoid of one column, or the softmax of several, in their place.
  function fromLogits(scores, n) {
    for (let k = 0; k < scores.length; k++) scores[k] = scores[k].slice();
    for (let i = 0; i < n; i++) {
      if (scores.length === 1) {
        const z = scores[0][i];
        scores[0][i] = z >= 0 ? 1 / (1 + Math.exp(-z)) : Math.exp(z) / (1 + Math.exp(z));
        continue;
      }
      let [most, sum] = [-Infinity, 0];
      for (const values of scores) most = Math.max(most, values[i]);
      for (const values of scores) sum += values[i] = Math.exp(values[i] - most);
      for (const values of scores) values[i] /= sum;
    }
  }

  function checkWeights(values, rows, place) {
    finite(values, "the weight", rows, place);
    const first = (test) => rows.find((i) => test(values[i]));
    const negative = first((value) => value < 0);
    if (negative !== undefined) throw new BadInput(`the weight must not be negative, got ${general(values[negative])} at ${place(negative)}`);
    if (first((value) => value > 0) === undefined) throw new BadInput("the weight is zero in every row: there is nothing to measure");
    const light = first((value) => value > 0 && value < LIGHTEST_WEIGHT);
    if (light !== undefined) {
      throw new BadInput(`the weight is ${general(values[light])} at ${place(light)}, too small to be squared; set such weights to 0`);
    }
    const most = rows.reduce((high, i) => Math.max(high, values[i]), 0);
    if (most > HEAVIEST_WEIGHT) throw new BadInput(`the weight reaches ${general(most)}, too large to be squared; divide the weights by their mean`);
  }

  function refusePredictedClasses(scores, one) {
    const n = scores[0].length;
    const certain = (values) => values.every((value) => value === 0 || value === 1);
    if (!scores.every(certain)) return;
    if (n <= MAX_ROWS_ALIKE && scores.every((values) => values.every((value) => value === values[0]))) return;
    throw new BadInput(
      one
        ? `all predictions are 0 or 1: ${LOOK_LIKE_CLASSES}; name a column of probabilities with “Scores”`
        : `all entries of predictions are 0 or 1: ${LOOK_LIKE_CLASSES}; name the columns of probabilities with “Scores”`,
    );
  }

  // --- labels --------------------------------------------------------------------------------------------------------

  // The distinct labels: their type ("truth", "number" or "text"), values, and which of them are missing.
  function labelsOf(sink, byName) {
    const trimmed = sink.texts.map((text) => text.trim());
    const there = trimmed.filter(Boolean);
    const type = sink.isTruth ? "truth" : sink.isNumeric || (!byName && there.length && there.every((text) => NUMBER.test(text))) ? "number" : "text";
    const values = trimmed.map((text) => (type === "truth" ? Number(text.toLowerCase() === "true") : type === "number" ? number(text) : text));
    const missing = values.map((value, i) => !trimmed[i] || Number.isNaN(value));
    const whole = values.every((value, i) => missing[i] || Number.isInteger(value));
    return { type, values, missing, whole };
  }

  // The label as Python shows it.
  function repr(labels, value) {
    if (labels.type === "text") return shown(value);
    if (labels.type === "truth") return value ? "True" : "False";
    return labels.whole ? String(value) : asFloat(value);
  }

  // The labels that occur in these rows: how often, and where first.
  function countsOf(sink, rows, labels) {
    const found = new Map();
    const of = new Map();
    const codes = labels.values.map((value) => {
      if (!of.has(value)) of.set(value, of.size);
      return of.get(value);
    });
    const values = [...of.keys()];
    for (const i of rows) {
      const code = codes[sink.codes[i]];
      const one = found.get(code);
      if (one) one.n++;
      else found.set(code, { value: values[code], n: 1, row: i });
    }
    return [...found.values()];
  }

  // What labels mean: the positive one, or the classes of the columns.
  function meaningOf(columns, labels, counts, asked) {
    const words = labels.type === "text";
    let { classes } = columns;
    if (classes && words && typeof classes[0] === "number") classes = classes.map(String);
    const positive = asked.positive === undefined || asked.positive === "" ? null : asked.positive;
    if (!classes && positive === null && words) {
      const found = counts.map(({ value }) => value).sort(byCharacter);
      const error = new BadInput(`column ${shown(columns.label)} holds text (${inAList(found)}): name the one that counts as 1 with “Counts as 1”`);
      error.labels = found;
      throw error;
    }
    if (classes && positive !== null) {
      throw new BadInput("“Counts as 1” is for one score per row; here each row has a score for each class, so leave it out");
    }
    return { classes, positive };
  }

  // The class of each distinct label: 0 or 1 for one event.
  function codesOf({ classes, positive }, sink, labels, counts, rows, place, scores, columns) {
    if (classes) {
      const known = new Map(classes.map((name, k) => [name, k]));
      if (known.size < classes.length) throw new BadInput(`classes must be distinct, got [${classes.map(String).map(shown).join(", ")}]`);
      const wrong = counts.find(({ value }) => !known.has(value));
      if (wrong) {
        const names = classes.map((name) => (typeof name === "string" ? shown(name) : name)).join(", ");
        throw new BadInput(`the label ${repr(labels, wrong.value)} at ${place(wrong.row)} is not in classes [${names}]`);
      }
      return labels.values.map((value) => known.get(value));
    }
    if (positive !== null) return labels.values.map(isPositive(positive, labels, counts));
    const outside = counts.find(({ value }) => !(value >= 0 && value <= 1));
    if (outside) throw withLabels(`labels must be 0 or 1, got ${general(outside.value)} at ${place(outside.row)}; ${NAME_THE_POSITIVE}`, counts, labels);
    const between = counts.find(({ value }) => !Number.isInteger(value));
    if (between) {
      if (scores.length === 1 && rows.every((i) => Number.isInteger(scores[0][i]))) {
        throw new BadInput("scores and labels look swapped: “Scores” names the scores, “Outcomes” the outcomes");
      }
      throw new BadInput(
        `labels must be whole numbers, got ${general(between.value)} at ${place(between.row)}; ${NAME_THE_POSITIVE}, or if they ` +
        "are shares of annotators, use Predictions(..., soft_labels=True) in Python",
      );
    }
    return labels.values;
  }

  function withLabels(sentence, counts, labels) {
    const error = new BadInput(sentence);
    error.labels = counts.slice(0, 50).map(({ value }) => (labels.type === "number" && labels.whole ? String(value) : String(value)));
    return error;
  }

  function isPositive(positive, labels, counts) {
    const asked = `“Counts as 1” (${labels.type === "text" ? shown(positive) : positive})`;
    let wanted = positive;
    if (labels.type === "truth") wanted = Number(/^(true|1)$/i.test(positive));
    if (labels.type === "number") {
      if (!NUMBER.test(positive.trim())) throw new BadInput(`${asked} is text, but the labels are numbers`);
      wanted = number(positive.trim());
    }
    if (!counts.some(({ value }) => value === wanted)) {
      const found = counts.map(({ value }) => repr(labels, value)).sort(byCharacter);
      throw withLabels(`${asked} does not occur in labels (found ${inAList(found)}); name one of these, or, if there are truly no positives, pass labels as 0 and 1`, counts, labels);
    }
    if (counts.length > 2) {
      const often = counts.slice().sort((a, b) => b.n - a.n || a.row - b.row);
      const found = inAList(often.map(({ value, n }) => `${repr(labels, value)} (${grouped(n)} row${n > 1 ? "s" : ""})`));
      throw withLabels(
        `${asked} leaves more than one other label: ${found}; keep the rows of two labels, or write labels as 0 and 1 if all others count as 0`,
        counts, labels,
      );
    }
    return (value) => Number(value === wanted);
  }

  // --- notes ---------------------------------------------------------------------------------------------------------

  function notesOn({ scores, labels, classes }, columns, percent, logits, pairs) {
    const notes = [];
    const most = scores.reduce((high, values) => values.reduce((a, b) => Math.max(a, b), high), 0);
    if (percent && most <= 0.01) notes.push("no percentage is above 1 %: if the scores were probabilities already, choose “probabilities”");
    if (scores.length === 1 && !pairs && labels.length > 1 && scores[0].every((value) => value === 0 || value === 1)) {
      notes.push(`every score in column ${columns.prob[0]} is 0 or 1: ${LOOK_LIKE_CLASSES}`);
    }
    if (logits && columns.classes !== null) {
      const there = new Set(labels);
      const absent = columns.prob.filter((_, k) => !there.has(k));
      if (absent.length) notes.push(`no row has the class of these columns: ${Chosen.listed(absent)}; if they are not logits, the results are wrong`);
    }
    if (labels.every((label) => label === labels[0])) notes.push(`every outcome in column ${columns.label} is the same, ${classes[labels[0]]}`);
    return notes;
  }

  function clusterNote(sink) {
    const there = sink.codes.reduce((sum, code) => sum + (code >= 0), 0);
    const distinct = sink.texts.length;
    if (distinct <= 1 || distinct >= there) return [];
    return [
      `column ${sink.name} repeats (${grouped(distinct)} values in ${grouped(there)} rows): if rows with the same value belong ` +
      `together, choose it under “Clusters”; the intervals here assume independent rows`,
    ];
  }

  // --- clusters and subgroups ----------------------------------------------------------------------------------------

  // The distinct names of a column: numbers where nothing is lost, otherwise text; null for a missing one.
  function namesOf(sink) {
    const trimmed = sink.texts.map((text) => text.trim());
    const bare = new Set(sink.texts.map((text) => text.replace(/\.0+$/, "")));
    const values = sink.texts.map(Number);
    const numeric = sink.isNumeric && !sink.texts.some((text) => /^[-+]?0\d/.test(text)) && bare.size === new Set(values).size;
    const whole = numeric && sink.texts.every((text) => /^[-+]?\d+$/.test(text));
    const name = (text, i) => {
      if (!text) return null;
      if (sink.isTruth) return text.toLowerCase() === "true" ? "True" : "False";
      return numeric && !whole ? asFloat(values[i]) : text;
    };
    return { numeric, values, names: trimmed.map(name), truth: sink.isTruth };
  }

  // Numbers from 0 in the order of NumPy's unique, for the rows that are left.
  function clustersOf(sink, rows) {
    const { numeric, values, names } = namesOf(sink);
    const there = new Uint8Array(names.length);
    for (const i of rows) there[sink.codes[i]] = 1;
    const keys = names.map((name, code) => (numeric ? values[code] : name));
    const distinct = [...new Set(keys.filter((_, code) => there[code]))].sort(numeric ? (a, b) => a - b : byCharacter);
    if (distinct.length === 1) throw new BadInput("“Clusters” holds only one cluster: the variation between clusters needs at least two");
    const numbers = new Map(distinct.map((key, k) => [key, k]));
    const codes = keys.map((key) => numbers.get(key));
    return Int32Array.from(rows, (i) => codes[sink.codes[i]]);
  }

  const MAX_NUMBERS = 12; // a column with more distinct numbers is a quantity
  const MAX_LEVELS = 50;

  // The subgroup of each row, at most 50 of them, and notes on what was changed: see `believable.readers.levels`.
  function groupsOf(sink, rows) {
    const { names, values: given, numeric, truth } = namesOf(sink);
    const counts = new Map();
    for (const i of rows) {
      const name = sink.codes[i] < 0 ? null : names[sink.codes[i]];
      if (name !== null) counts.set(name, (counts.get(name) || 0) + 1);
    }
    const distinct = [...counts.keys()].sort(byCharacter);
    let levelOf = names;
    let notes = [];
    if (distinct.length > MAX_NUMBERS) {
      const asNumbers = truth || Chosen.isIdentifier(sink.name) ? null : names.map((name, code) => (name === null ? NaN : numeric ? given[code] : NUMBER.test(name) ? number(name) : Infinity));
      const used = new Set(rows.map((i) => sink.codes[i]));
      if (asNumbers && names.every((name, code) => name === null || !used.has(code) || Number.isFinite(asNumbers[code]))) {
        const numbers = Float64Array.from(rows.filter((i) => sink.codes[i] >= 0 && names[sink.codes[i]] !== null), (i) => asNumbers[sink.codes[i]]);
        const cuts = quarters(numbers);
        const ranges = rangesOf(cuts);
        levelOf = names.map((name, code) => (name === null ? null : ranges[cuts.filter((cut) => cut < asNumbers[code]).length]));
        const parts = cuts.length === 3 ? "quarters" : "ranges";
        notes = [`column ${sink.name} has ${grouped(distinct.length)} different numbers: it was cut into ${parts} at ${written(cuts).join(", ")} (each includes its upper end)`];
      } else if (distinct.length > MAX_LEVELS) {
        if (2 * distinct.length > rows.length) {
          throw new BadInput(`column ${shown(sink.name)} has ${grouped(distinct.length)} values in ${grouped(rows.length)} rows: it identifies rows, so it has no subgroups`);
        }
        const kept = new Set(distinct.slice().sort((a, b) => counts.get(b) - counts.get(a)).slice(0, MAX_LEVELS));
        const left = distinct.length - MAX_LEVELS;
        const others = distinct.reduce((sum, name) => sum + (kept.has(name) ? 0 : counts.get(name)), 0);
        levelOf = names.map((name) => (name === null || kept.has(name) ? name : `the other ${grouped(left)} values`));
        notes = [
          `column ${sink.name} has ${grouped(distinct.length)} values: the ${MAX_LEVELS} with the most rows are shown, the other ` +
          `${grouped(left)} (${grouped(others)} rows) are combined`,
        ];
      }
    }
    const marked = levelOf.map((level) => (level === null ? "missing" : level));
    const there = new Set();
    for (const i of rows) there.add(sink.codes[i] < 0 ? "missing" : marked[sink.codes[i]]);
    const levels = [...there].sort(byCharacter);
    const numbers = new Map(levels.map((level, k) => [level, k]));
    const codes = marked.map((level) => numbers.get(level));
    const missing = numbers.get("missing");
    return { group: { column: sink.name, levels, codes: Int32Array.from(rows, (i) => (sink.codes[i] < 0 ? missing : codes[sink.codes[i]])) }, notes };
  }

  // Where to cut numbers into four ranges with equally many rows; fewer if there are many ties.
  function quarters(numbers) {
    const sorted = numbers.slice().sort();
    const n = sorted.length;
    const most = sorted[n - 1];
    const cuts = [...new Set([1, 2, 3].map((k) => sorted[Math.ceil((k * n) / 4) - 1]))].filter((cut) => cut < most);
    return cuts.length ? cuts : [sorted[sorted.indexOf(most) - 1]];
  }

  function rangesOf(cuts) {
    const words = written(cuts);
    return [`up to ${words[0]}`, ...words.slice(1).map((word, i) => `${words[i]} to ${word}`), `above ${words[words.length - 1]}`];
  }

  // Whole numbers in full, others with as few digits as distinguish them, but at least four.
  function written(cuts) {
    if (cuts.every(Number.isInteger)) return cuts.map(String);
    let words = [];
    for (const digits of [4, 8, 17]) {
      words = cuts.map((cut) => general(cut, digits));
      if (new Set(words).size === words.length) break;
    }
    return words;
  }

  return { preview, input };
})();

if (typeof module !== "undefined") module.exports = Read;
