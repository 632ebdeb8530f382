// Which columns of a table hold the scores and the labels: the rules of `believable.readers.columns`. Columns are guessed
// by documented names only, and never if two could be meant. Weights, clusters and subgroups are never guessed.
const Columns = (() => {
  "use strict";

  const { BadInput, shown } = typeof Delimited === "undefined" ? require("./delimited.js") : Delimited;
  const PROB_NAMES = [
    "p", "prob", "proba", "probability", "score", "y_prob", "y_score", "y_pred", "pred", "prediction", "confidence",
    "probs", "probs64", "probabilities", "scores",
  ];
  const LOGIT_NAMES = ["logit", "logits", "z"];
  const LABEL_NAMES = ["y", "label", "target", "actual", "outcome", "y_true", "truth", "correct", "labels", "targets", "actuals", "outcomes"];
  const ANSWER_LABELS = ["correct", "is_correct", "was_correct", "correctness", "is_right"]; // of (confidence, correct) pairs
  const PROB_PREFIXES = ["p_", "prob_", "proba_"];
  const LOGIT_PREFIXES = ["logit_", "logits_", "z_"];
  const CALIBRATED = "p_calibrated"; // added by `believable apply`
  const MAX_LISTED = 20;
  const THINGS = [
    "query", "patient", "subject", "person", "user", "customer", "client", "account", "household", "session", "visit", "question",
    "document", "image", "group", "cluster",
  ];
  const CLUSTER_NAMES = new Set([...THINGS, ...THINGS.map((thing) => `${thing}_id`), "qid", "uid", "pid"]);

  const plain = (name) => name.trim().toLowerCase().replaceAll(" ", "_").replaceAll("-", "_");
  const isCalibrated = (name) => name === CALIBRATED || name.startsWith(`${CALIBRATED}_`);
  const beginsWith = (name, prefixes) => prefixes.some((prefix) => name.startsWith(prefix));
  const isNumber = (name) => /^\s*[-+]?((\d[\d_]*\.?\d*|\.\d+)(e[-+]?\d+)?|inf(inity)?|nan)\s*$/i.test(name);

  function listed(names) {
    const more = names.length - MAX_LISTED;
    return names.slice(0, MAX_LISTED).join(", ") + (more > 0 ? ` and ${more} more` : "");
  }

  // Documented names of scores; for logits, only those of logits if a column has one.
  function knownScores(names, logits) {
    if (!logits) return PROB_NAMES;
    return names.some((name) => LOGIT_NAMES.includes(plain(name))) ? LOGIT_NAMES : [...LOGIT_NAMES, ...PROB_NAMES];
  }

  function guess(names, known, what, control, taken = null) {
    const found = names.filter((name) => known.includes(plain(name)) && name !== taken);
    if (found.length === 1) return found[0];
    if (found.length) throw new BadInput(`several columns could be the ${what}: ${found.join(", ")}; choose one with ${control}`);
    throw new BadInput(`no column has one of the usual names for ${what} (${known.join(", ")}); choose one of ${listed(names)} with ${control}`);
  }

  function guessScores(shownNames, logits) {
    const names = shownNames.filter((name) => !isCalibrated(name));
    for (const [prefixes, known] of [...(logits ? [[LOGIT_PREFIXES, LOGIT_NAMES]] : []), [PROB_PREFIXES, PROB_NAMES]]) {
      const found = prefixes.filter((prefix) => names.filter((name) => name.startsWith(prefix)).length >= 2);
      const single = names.filter((name) => known.includes(plain(name)));
      if (found.length + single.length > 1 && found.length) {
        const meant = [...found.map((prefix) => `${prefix}*`), ...single].join(", ");
        throw new BadInput(`several columns could be the scores: ${meant}; choose with ${CONTROLS.prob}`);
      }
      if (found.length) return { prefix: found[0] };
      if (single.length) break;
    }
    return { prob: guess(shownNames, knownScores(names, logits), "scores", CONTROLS.prob) };
  }

  const CONTROLS = { prob: "“Scores”", label: "“Outcomes”" }; // where the command line names options

  // Choose the columns that are named in `asked` (prob or prefix, label, weight, cluster, by), and find scores and labels
  // by their documented names otherwise. Returns {prob: [..], label, weight, cluster, by, classes}.
  function choose(names, asked = {}) {
    const { weight = null, cluster = null, by = [], logits = false } = asked;
    if (names.every(isNumber)) {
      throw new BadInput(`the first line must be a header with the names of the columns, got ${listed(names)}`);
    }
    if (!asked.prob && !asked.prefix && !asked.label) refuseUnknown(names, logits);
    const others = names.filter((name) => ![weight, cluster, ...by].includes(name));
    const known = others.some((name) => LABEL_NAMES.includes(plain(name)));
    const label = asked.label || guess(known ? others : names, LABEL_NAMES, "labels", CONTROLS.label, asked.prob);
    let { prob = null, prefix = null } = asked;
    if (!prob && !prefix) ({ prob = null, prefix = null } = guessScores(others.filter((name) => name !== label), logits));
    if (prefix) return matrix(names, prefix, label, weight, cluster, by);
    if (new Set([prob, label, weight]).size < 3) {
      const last = weight === null ? "None" : shown(weight);
      throw new BadInput(`scores ${shown(prob)}, labels ${shown(label)} and weights ${last} must be different columns`);
    }
    for (const name of [cluster, ...by]) {
      if (name === prob || name === label) {
        const what = name === prob ? "scores" : "labels";
        throw new BadInput(`${shown(name)} holds the ${what}: clusters (“Clusters”) and subgroups (“Subgroups”) must be other columns`);
      }
    }
    return { prob: [prob], label, weight, cluster, by, classes: null };
  }

  // What can be guessed, where not everything can: {prob or prefix, label}, none if it is unknown.
  function partly(names) {
    const attempt = (act) => {
      try {
        return act();
      } catch (error) {
        if (error instanceof BadInput) return null;
        throw error;
      }
    };
    const label = attempt(() => guess(names, LABEL_NAMES, "labels", CONTROLS.label));
    const scores = attempt(() => guessScores(names.filter((name) => name !== label), false));
    const { prob, prefix } = scores || {};
    return { prob: prob ? [prob] : null, prefix, label, weight: null, cluster: null, by: [], classes: null };
  }

  function refuseUnknown(names, logits) {
    const known = knownScores(names, logits);
    const prefixes = [...(logits ? LOGIT_PREFIXES : []), ...PROB_PREFIXES];
    if (names.map(plain).some((name) => known.includes(name) || LABEL_NAMES.includes(name) || beginsWith(name, prefixes))) return;
    throw new BadInput(
      `no column has one of the usual names for scores (${known.join(", ")}) or for labels (${LABEL_NAMES.join(", ")}); ` +
      `choose two of ${listed(names)} with ${CONTROLS.prob} and ${CONTROLS.label}`,
    );
  }

  function matrix(names, prefix, label, weight, cluster, by) {
    const own = isCalibrated(prefix);
    let found = names.filter((name) => name.startsWith(prefix) && ![label, weight, cluster, ...by].includes(name));
    found = found.filter((name) => own || !isCalibrated(name));
    if (found.length < 2) throw new BadInput(`fewer than two columns begin with ${shown(prefix)}; there are ${listed(names)}`);
    if (label === weight) throw new BadInput(`labels ${shown(label)} and weights ${shown(weight)} must be different columns`);
    const ends = found.map((name) => name.slice(prefix.length));
    if (!ends.every((end) => /^\d+$/.test(end))) return { prob: found, label, weight, cluster, by, classes: ends };
    const order = ends.map(Number).map((end, i) => [end, found[i]]).sort(([a], [b]) => a - b);
    return { prob: order.map(([, name]) => name), label, weight, cluster, by, classes: order.map(([end]) => end) };
  }

  // Which columns are read as what; `scale` says what scores are that are not probabilities.
  function inWords({ prob, label, weight, cluster, by }, scale = "") {
    const scores = prob.length === 1 ? prob[0] : `${prob[0]} … ${prob[prob.length - 1]} (${prob.length} classes)`;
    return [
      `scores ${scores}${scale ? ` (${scale})` : ""}, labels ${label}`,
      ...(weight === null ? [] : [`weights ${weight}`]),
      ...(cluster === null ? [] : [`clusters ${cluster}`]),
      ...(by.length ? [`subgroups ${by.join(", ")}`] : []),
    ].join(", ");
  }

  // The prefixes that at least two columns share, longest families first: what may be one column per class.
  function families(names) {
    const found = new Map();
    for (const name of names) {
      const end = name.indexOf("_") + 1;
      if (end > 0 && end < name.length && !isCalibrated(name)) found.set(name.slice(0, end), (found.get(name.slice(0, end)) || 0) + 1);
    }
    return [...found].filter(([, n]) => n >= 2).map(([prefix, n]) => ({ prefix, n }));
  }

  const arePairs = (columns) => columns.prob.length === 1 && ANSWER_LABELS.includes(plain(columns.label));
  const isIdentifier = (name) => plain(name) === "id" || CLUSTER_NAMES.has(plain(name)) || plain(name).endsWith("_id");
  const mayBeClusters = (names, taken) => names.filter((name) => CLUSTER_NAMES.has(plain(name)) && !taken.includes(name));

  // A note about columns of calibrated scores in the file, if other scores are read.
  function calibratedToo(names, taken) {
    if (taken.prob.some(isCalibrated)) return [];
    const found = names.filter((name) => isCalibrated(name) && ![...taken.prob, taken.label].includes(name));
    if (found.includes(CALIBRATED)) return [`there is also a column ${CALIBRATED}: use it with ${CONTROLS.prob}`];
    return found.length > 1 ? [`there are also columns ${CALIBRATED}_*: use them with ${CONTROLS.prob}`] : [];
  }

  return { choose, partly, inWords, families, arePairs, isIdentifier, mayBeClusters, calibratedToo, listed };
})();

if (typeof module !== "undefined") module.exports = Columns;
