// The result of an audit as the elements of a report: what `sections.py`, `tables.py` and `svg.py` of the HTML report make
// in Python. Everything from a file is set as text.
const View = (() => {
  "use strict";

  const { html, svg, number, share, count } = Draw;
  const FACTS = JSON.parse(document.getElementById("facts").textContent);
  const KEY_METRICS = ["ece", "sce", "tlce", "smece", "slope", "brier", "nll", "auc", "acc"];
  const FAMILIES = {
    calibration: "Calibration: are the scores right?",
    score: "Proper scores: calibration and discrimination together",
    discrimination: "Discrimination: can they distinguish cases?",
  };
  const FAMILIES_IN_TABLE = { calibration: "calibration", score: "calibration and discrimination", discrimination: "discrimination" };
  const NOTIONS = {
    binary: "the probability of the event",
    confidence: "the probability of the predicted class",
    top_label: "the probability of the predicted class, by predicted class",
    classwise: "the probability of each class",
  };
  const NOTIONS_IN_TABLE = { binary: "the event", confidence: "the predicted class", top_label: "the predicted class, by class", classwise: "each class" };
  const TONES = { yes: "good", "yes, as far as these data can tell": "good", "use with care": "warn", "no, recalibrate first": "bad", "not enough data": "unsure" };
  const MARKS = { good: "✓", warn: "!", bad: "✕", unsure: "?" };
  const MARKS_OF_WAYS = { "over-predicts": ["▼", "high"], "over-confident": ["▼", "high"], "under-predicts": ["▲", "low"], "under-confident": ["▲", "low"] };
  const MAX_EVIDENCE_LINES = 7;
  const MAX_NAME = 120;
  const MAX_SHARES = 50;
  const STAGES = { before: "none" };
  const NO_BREAK = "\u00a0";

  // --- words ---------------------------------------------------------------------------------------------------------

  // A sentence in which "94 %" and "p < 0.005" stay on one line.
  const prose = (words) => words.replace(/(?<=\d) %|(?<=\bp) [<=] (?=\d)/g, (found) => found.replaceAll(" ", NO_BREAK));
  const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);
  const percent = (level) => `${Number((100 * level).toPrecision(4))} %`;
  const rowsInWords = (n) => `${count(n)} ${n === 1 ? "row" : "rows"}`;
  const known = (value) => value !== null && value !== undefined;
  const brief = (value) => Delimited.general(value);

  // A name from the file: cut if it is endless, and kept from turning its surroundings right to left.
  function name(words) {
    if (words.length <= MAX_NAME) return html("bdi", {}, words);
    return html("bdi", { title: words.slice(0, 1000) }, `${words.slice(0, MAX_NAME)}…`);
  }

  function span(low, high, shown = number) {
    if (!known(low) || !known(high) || (!Number.isFinite(low) && low === high)) return "–";
    const width = Math.abs(high - low);
    const digits = width > 0 && width < Infinity ? Math.min(Math.max(4, -Math.floor(Math.log10(width))), 10) : 4;
    if (digits === 4) return `${shown(low)} to ${shown(high)}`;
    return [low, high].map((end) => (end < 0 ? "−" : "") + Math.abs(end).toFixed(digits)).join(" to ");
  }

  const shownNumber = (value) => number(known(value) ? value : null);
  const shownShare = (value) => share(known(value) ? value : null);
  const chance = (p) => (known(p) ? (p < 0.001 ? "< 0.001" : p.toFixed(3)) : "–");

  // A share as a percentage, with at least one digit.
  function asPercent(value) {
    let digits = 0;
    if (value > 0 && value < 0.095) digits = Math.min(1 - Math.floor(Math.log10(100 * value) + 1e-9), 7);
    if (value > 0.99 && value < 1) digits = Math.min(1 - Math.floor(Math.log10(100 * (1 - value)) + 1e-9), 7);
    return `${(100 * value).toFixed(Math.max(digits, 1))} %`;
  }

  // JSON has no infinity: saved audits write it as text.
  function numbers(value) {
    if (value === "Infinity" || value === "-Infinity" || value === "NaN") return Number(value);
    if (Array.isArray(value)) return value.map(numbers);
    return value;
  }

  // The same record with numbers in place of such texts, but for names.
  function record(one) {
    return Object.fromEntries(Object.entries(one).map(([key, value]) => [key, ["name", "column", "level", "alias"].includes(key) ? value : numbers(value)]));
  }

  function why(key, what) {
    if (!document.getElementById(`why-${key}`)) return "";
    return html("button", { type: "button", class: "ask", popovertarget: `why-${key}`, "aria-label": `What is: ${what}?` }, "?");
  }

  const list = (sentences) => html("ul", {}, ...sentences.map((one) => html("li", {}, prose(one))));
  const quiet = (words) => html("p", { class: "quiet" }, words);
  const copyOf = (id) => document.getElementById(id).content.cloneNode(true);

  // --- pictures ------------------------------------------------------------------------------------------------------

  function nextRound(value) {
    if (!(value > 0 && value < Infinity)) return 1;
    const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-300)));
    return Number(([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((times) => times * power >= value * (1 - 1e-12)) * power).toPrecision(3));
  }

  // Ends of an axis that holds these and 0.
  function scaleOf(values) {
    const finite = values.filter((value) => known(value) && Number.isFinite(value));
    const least = Math.min(...finite, 0);
    return [least < 0 ? -nextRound(-least) : 0, nextRound(Math.max(...finite, 0))];
  }

  // A number as a dot, its interval as a line, and its noise floor as a tick and a shade.
  function bar({ value, low, high, floor, q95 }, [start, end], target = null) {
    const at = (place) => `${(1.5 + (97 * (Math.min(Math.max(place, start), end) - start)) / (end - start)).toFixed(1)}%`;
    const made = svg("svg", { class: "bar", "aria-hidden": "true" });
    const line = (css, x1, x2, y1, y2) => made.append(svg("line", { class: css, x1: at(x1), x2: at(x2), y1, y2 }));
    if (known(q95) && q95 > start) {
      const from = Math.max(start, 0);
      made.append(svg("rect", { class: "shade", x: at(from), width: `${((97 * (Math.min(q95, end) - from)) / (end - start)).toFixed(1)}%`, y: "15%", height: "70%" }));
    }
    if (known(target) && target >= start && target <= end) line("target", target, target, "0", "100%");
    if (known(floor)) line("floor", floor, floor, "8%", "92%");
    if (known(low) && known(high) && (Number.isFinite(low) || low !== high)) line("interval", low, high, "50%", "50%");
    if (known(value) && Number.isFinite(value)) made.append(svg("circle", { class: "dot", cx: at(value), cy: "50%", r: 4.5 }));
    return made;
  }

  // --- tables --------------------------------------------------------------------------------------------------------

  // A cell: what it shows, what it is sorted by, and its class.
  const cell = (shown, by = null, css = "") => ({ shown: [shown].flat(), by, css });
  const ofNumber = (value) => cell(shownNumber(value), value);
  const ofShare = (value) => cell(shownShare(value), value);
  const ofCount = (value) => cell(count(value), value);
  const ofWords = (words) => cell(words, words, "words");

  function table(caption, columns, rows, id = "") {
    const head = columns.map(([title, numeric = true, key = ""]) =>
      html("th", { scope: "col", ...(numeric ? {} : { class: "left" }) }, html("span", { class: "t" }, title), " ", key ? why(key, title) : ""));
    const body = rows.map((row) => html("tr", {}, ...row.map(({ shown, by, css }, i) => {
      const value = typeof by === "number" ? (Number.isNaN(by) ? null : Number(by.toPrecision(9))) : by;
      const attributes = { ...(known(value) ? { "data-v": value } : {}), ...(css ? { class: css } : {}) };
      return i ? html("td", attributes, ...shown) : html("th", { scope: "row", ...attributes }, ...shown);
    })));
    const made = html("table", { class: "sortable", ...(id ? { id } : {}) },
      html("caption", {}, html("span", {}, caption)), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...body));
    return html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, made);
  }

  function metricsTable(audit) {
    const rows = audit.metrics.map((one) => [
      cell([titleOf(one), " ", why(one.alias, titleOf(one)), ...(one.note ? [html("small", { class: "note" }, one.note)] : [])], titleOf(one), "name"),
      ofNumber(one.value), cell(span(one.low, one.high), one.low), ofNumber(one.floor), ofNumber(one.q95), cell(chance(one.p_value), one.p_value),
      cell(known(one.best) ? brief(one.best) : "–", one.best), ofWords(one.bins),
      ofWords(NOTIONS_IN_TABLE[one.notion] || one.notion.replaceAll("_", " ") || FAMILIES_IN_TABLE[one.family]),
    ]);
    return table("Every number, with its interval and its noise floor", [
      ["Number", false], ["Value"], [`${audit.level} interval`, true, "interval"], ["Noise floor", true, "floor"], ["95th percentile of noise"],
      ["p", true, "p"], ["Best value"], ["Bins", false], ["About", false],
    ], rows);
  }

  function partsTable(audit, parts, what, caption) {
    const groups = parts.some((part) => part.column);
    const scale = scaleOf(parts.flatMap((part) => [part.ece, part.high, part.floor]));
    const rows = parts.map((part) => [
      cell([...(part.column ? [name(part.column), " = "] : []), name(part.name), ...(part.note ? [html("small", { class: "note" }, part.note)] : [])],
        part.column ? `${part.column} = ${part.name}` : part.name, "name"),
      ofCount(part.n), ofShare(part.mean_score), ofShare(part.rate), ofNumber(part.ece),
      cell(bar({ ...part, value: part.ece, q95: null }, scale), part.ece, "bars"), cell(span(part.low, part.high), part.low),
      ofNumber(part.floor), cell(chance(part.adjusted), part.adjusted), cell(wayOfPart(part), `${part.flagged ? 0 : 1} ${part.direction}`, "words"),
      ...(groups ? [ofNumber(part.detectable)] : []),
    ]);
    return table(`${caption} ECE in ${audit.verdict.bins}.`, [
      [what, false], ["Rows"], ["Average prediction", true, "mean"], ["Observed rate", true, "base"], ["ECE", true, "ece"],
      [`ECE from 0 to ${brief(scale[1])}`, false, "floor"], [`${audit.level} interval`, true, "interval"], ["Noise floor"], ["Adjusted p", true, "p"],
      ["Reading", false], ...(groups ? [["Detectable", true, "detectable"]] : []),
    ], rows);
  }

  function wayOfPart(part) {
    if (!part.flagged) return known(part.ece) ? "may be noise" : "not computed";
    const [mark, css] = MARKS_OF_WAYS[part.direction] || ["◆", ""];
    const words = { mixed: "wrong both ways", unclear: "miscalibrated" }[part.direction] || part.direction;
    return html("strong", css ? { class: css } : {}, `${mark} ${words}`);
  }

  function binsTable(audit) {
    const { about } = audit.verdict;
    const rows = audit.table.filter((row) => row.n && known(row.conf) && known(row.acc)).map((row) => [
      cell(`${Delimited.general(row.start, 4)} to ${Delimited.general(row.end, 4)}`, row.start), ofCount(row.n), ofShare(row.conf), ofShare(row.acc),
      ofNumber(row.acc - row.conf), cell(span(row.low, row.high, share), row.low), ofWords(wayOf(audit.verdict, row) || "may be noise"),
    ]);
    return table(`All rows, in ${audit.verdict.bins}; empty bins are left out.`, [
      [about ? "Confidences" : "Scores", false], ["Rows"], [about ? "Average confidence" : "Average prediction", true, "mean"],
      [about ? "Accuracy" : "Observed rate", true, "base"], ["Gap"], [`${audit.level} interval`, true, "interval"], ["Reading", false],
    ], rows, "bins-table");
  }

  // The direction of the error of a bin, or "" if it may be noise: it overlaps a range that is certainly wrong the same way.
  function wayOf({ ranges, about }, row) {
    if (!known(row.low) || !known(row.high) || (row.low <= row.conf && row.conf <= row.high)) return "";
    const over = row.conf > row.acc;
    const same = (one) => one.predicted > one.observed === over && Math.max(one.low, row.start) < Math.min(one.high, row.end);
    if (!ranges.some(same)) return "";
    return `${over ? "over" : "under"}-${about ? "confident" : "predicts"}`;
  }

  function triedTable(audit) {
    const { fix } = audit;
    const rows = fix.tried.map((one) => [
      cell([capital(methodInWords(one.name)), ...(one.chosen ? [" ", html("strong", {}, "✓ chosen")] : [])], one.name, "name"),
      ...[one.log_loss, one.brier, one.ece, one.gain].map(ofNumber), cell(span(one.gain_low, one.gain_high), one.gain_low),
    ]);
    return table(`Recalibrators compared, on rows they were not fitted on. ECE in ${fix.bins}.`, [
      ["Recalibrator", false], ["Log loss", true, "nll"], ["Brier score", true, "brier"], ["ECE", true, "ece"], [`Gain in ${fix.score}`, true, "gain"], [`${audit.level} interval`],
    ], rows);
  }

  function changesTable(audit) {
    const { fix } = audit;
    const rows = fix.changes.map((one) => [
      cell(one.name === "ECE" ? `ECE (${fix.bins})` : capital(one.name), one.name, "name"), ofNumber(one.before), ofNumber(one.after), ofNumber(one.gain),
      cell(span(one.gain_low, one.gain_high), one.gain_low),
    ]);
    return table("Before and after recalibration, on rows that the calibration map was not fitted on", [
      ["Number", false], ["Before"], ["After"], ["Gain", true, "gain"], [`${audit.level} interval of the gain`],
    ], rows);
  }

  const titleOf = (one) => (FACTS.metrics[one.alias] ? FACTS.metrics[one.alias].title : capital(one.name.replaceAll("_", " ")));

  function methodInWords(alias) {
    return alias === "nothing" ? "none: the scores as they are" : FACTS.recalibrators[alias] || alias.replaceAll("_", " ");
  }

  // --- sections ------------------------------------------------------------------------------------------------------

  function card(id, title, ...body) {
    return html("section", { id, class: "card", "aria-labelledby": `${id}-title` }, html("h2", { id: `${id}-title` }, title), ...body);
  }

  function factsLine(audit) {
    const clusters = known(audit.n_clusters) ? ` in ${count(audit.n_clusters)} clusters` : "";
    const said = [`${rowsInWords(audit.n)}${clusters}`];
    if (audit.weighted) said.push(`weighted, worth ${count(audit.effective_n)} rows of equal weight`);
    if (audit.kind === "binary") said.push(`${audit.pairs ? "accuracy" : "observed rate"} ${asPercent(audit.rates[0])}`);
    else said.push(`${count(audit.classes.length)} classes`);
    return html("p", { class: "facts" }, `${said.join(" · ")} · read: `, name(audit.taken));
  }

  function answer(audit, save) {
    const [short, ...rest] = audit.text.headline.split(". ");
    const mark = audit.verdict.answer === "yes, as far as these data can tell" ? "≈" : MARKS[audit.verdict.tone];
    const made = html("section", { id: "verdict", class: "card", "aria-labelledby": "verdict-title" },
      html("h2", { id: "verdict-title", class: `badge ${audit.verdict.tone}`, tabindex: -1 }, html("span", { "aria-hidden": "true" }, mark), ` ${short}`),
      html("span", { class: "quiet" }, `Audited: ${audit.pairs ? "the confidence that an answer is right" : NOTIONS[audit.verdict.notion]}`),
      html("p", { class: "lead" }, prose(rest.join(". "))));
    if (!audit.advice.length) return made;
    made.append(html("h3", {}, "What to do"), html("p", {}, prose(audit.advice[0])));
    const chosen = audit.fix && audit.methods.find((one) => one.method === audit.fix.chosen && one.map);
    if (chosen) {
      const button = html("button", { type: "button", id: "save-chosen" }, `Download its calibration map (${chosen.method}.json)`);
      button.addEventListener("click", () => save(chosen));
      made.append(html("p", { class: "buttons" }, button));
    }
    if (audit.command) {
      made.append(html("p", { class: "command" }, html("code", { id: "command" }, audit.command), " ",
        html("button", { type: "button", id: "copy-command", class: "script" }, "Copy"), " ", html("span", { role: "status", id: "command-said" })));
    }
    return made;
  }

  function evidence({ verdict, text: { details } }) {
    const title = verdict.findings[0]?.rule === "subgroup" ? "Evidence, all rows" : "Evidence";
    if (details.length <= MAX_EVIDENCE_LINES) return card("evidence", title, list(details));
    const hidden = details.slice(MAX_EVIDENCE_LINES - 1);
    return card("evidence", title, list(details.slice(0, MAX_EVIDENCE_LINES - 1)), html("details", {}, html("summary", {}, `${hidden.length} more`), list(hidden)));
  }

  function keyNumbers(audit) {
    const blocks = Object.entries(FAMILIES).map(([family, heading]) => {
      const found = KEY_METRICS.flatMap((alias) => audit.metrics.filter((one) => one.alias === alias && one.family === family));
      if (!found.length) return "";
      const shared = scaleOf(found.filter((one) => !isInside(one)).flatMap((one) => [one.value, one.high, one.q95]));
      const note = family === "discrimination" ? quiet("Always predicting the base rate is calibrated, and useless: look at both.") : "";
      return html("div", { class: family }, html("h3", {}, heading), html("ul", { class: "keys" }, ...found.map((one) => keyNumber(one, shared))), note);
    });
    const about = html("p", { class: "quiet", id: "keys-note", hidden: "" }, FACTS.keys_of_selection);
    return html("section", { id: "numbers", class: "card", "aria-labelledby": "numbers-title" },
      html("h2", { id: "numbers-title" }, "Key numbers", html("bdi", { id: "keys-of" })), about, copyOf("legend"), html("div", { class: "families" }, ...blocks));
  }

  // Whether a metric can be too low and too high.
  const isInside = (one) => Boolean(FACTS.metrics[one.alias] && FACTS.metrics[one.alias].inside);

  function keyNumber(one, shared) {
    let scale = shared;
    let target = null;
    if (one.family === "discrimination") scale = [0, 1];
    else if (one.family === "score") scale = scaleOf([one.value, one.high, one.q95, one.floor]);
    if (isInside(one)) {
      target = one.best;
      scale = scaleOf([one.value, one.low, one.high, one.q95, one.floor, target]);
    }
    const said = known(one.low) && Number.isFinite(one.low) ? [span(one.low, one.high)] : [];
    if (known(one.floor)) said.push(`${one.family === "score" ? "if calibrated" : "noise floor"} ${number(one.floor)}`);
    if (target !== null) said.push(`best is ${brief(target)}`);
    const lines = said.flatMap((words, i) => (i ? [html("br"), words] : [words]));
    const title = titleOf(one);
    const bins = one.bins || (one.family === "calibration" ? "no bins" : "");
    return html("li", { "data-key": one.alias },
      html("span", { class: "what" }, title, " ", why(one.alias, title), html("small", {}, bins)), html("strong", {}, shownNumber(one.value)),
      html("span", { class: "drawn" }, bar(one, scale, target), html("small", {}, brief(scale[0]), html("span", {}, brief(scale[1])))),
      html("small", { class: "said" }, ...lines));
  }

  // --- the diagram and its controls ----------------------------------------------------------------------------------

  function diagram(audit, stages) {
    const made = card("diagram", "Reliability diagram", controls(audit, stages),
      html("div", { class: "figure" }, html("figure", { id: "picture" }), html("div", { class: "side" }, copyOf("live"))));
    if (known(audit.n_clusters)) made.querySelector(".live").append(quiet(FACTS.clusters_not_allowed_for.replace("{n}", count(audit.n_clusters))));
    if (audit.left_out) made.querySelector(".live").append(quiet(audit.left_out));
    made.querySelector("#live-chance").textContent = number(audit.verdict.floor);
    return made;
  }

  function controls(audit, stages) {
    const made = html("div", { id: "controls", class: "script", role: "group", "aria-label": "What to look at", "aria-describedby": "controls-why" });
    made.append(choice("strategy", "Bins", { uniform: "uniform (equal width)", quantile: "quantile (equal counts)" }));
    made.append(html("label", { class: "slide", for: "bins" }, html("span", {}, "Number of bins ", html("span", { id: "bins-shown", "aria-hidden": "true" })), html("input", { type: "range", id: "bins" })));
    const whole = ["confidence", "top_label"].includes(audit.verdict.notion) ? "all: the predicted one" : "all together";
    if (audit.slices.some((one) => known(one.class_name))) made.append(select("class", "Class", whole));
    if (audit.slices.some((one) => known(one.column))) made.append(select("group", "Subgroup", "all rows"));
    if (Object.keys(stages).length > 1) made.append(choice("stage", "Recalibration", stages));
    const methods = audit.lines.map(({ method }) => method);
    const layers = [["band", "noise band", true], ["zoom", "zoom to the scores", true], ["smoothed", "smoothed curve", methods.includes("smoothed")], ["corp", "isotonic curve (CORP)", methods.includes("corp")]];
    made.append(html("fieldset", { class: "layers" }, html("legend", {}, "Show"), ...layers.map(([key, words, there], i) =>
      html("label", there ? {} : { hidden: "" }, html("input", { type: "checkbox", id: key }), " ", ...(i > 1 ? [stroke(key), " "] : []), words))));
    made.append(html("p", { class: "quiet", id: "controls-why", hidden: "" }), html("button", { type: "button", id: "reset" }, "Reset"));
    return made;
  }

  function choice(key, title, options) {
    return html("fieldset", {}, html("legend", {}, title), ...Object.entries(options).map(([value, words]) =>
      html("label", {}, html("input", { type: "radio", name: key, value }), ` ${words}`)));
  }

  const select = (key, title, whole) => html("label", { class: "choose" }, title, html("select", { id: key }, html("option", { value: "" }, whole)));
  const stroke = (method) => svg("svg", { class: "icon", viewBox: "0 0 26 12", "aria-hidden": "true" }, svg("path", { class: `curve ${method}`, d: "M1 6H25" }));

  // --- below the first screen ----------------------------------------------------------------------------------------

  function further(audit, onMethod) {
    const made = [];
    const columns = [["What else to do", audit.advice.slice(1)], ["Keep in mind", audit.caveats], ["Notes", audit.notes]].filter(([, said]) => said.length);
    if (columns.length) made.push(card("do", "Advice and notes", html("div", { class: "columns" }, ...columns.map(([title, said]) => html("div", {}, html("h3", {}, title), list(said))))));
    made.push(card("fix", "Recalibration", ...recalibration(audit, onMethod)));
    if (audit.parts.length) {
      const many = audit.parts.length === audit.n_parts ? "" : ` Of ${count(audit.n_parts)}, the ${count(audit.parts.length)} that look worst.`;
      made.push(card("classes", "Classes", ...smallOnes("classes", "class"), partsTable(audit, audit.parts, "Class", `Worst first.${many} Rows: those that have the class.`)));
    }
    if (audit.subgroups.length) {
      const flagged = audit.subgroups.filter((part) => part.flagged).length;
      const all = audit.subgroups.length;
      const said = flagged ? `${flagged} of ${all} subgroups are miscalibrated beyond noise.` : `None of ${all} subgroups is miscalibrated beyond noise.`;
      made.push(card("subgroups", "Subgroups", html("p", {}, said), ...smallOnes("groups", "subgroup"), partsTable(audit, audit.subgroups, "Subgroup", "Each subgroup by itself.")));
    }
    made.push(card("table", "Reliability table", html("p", { class: "script quiet hint" }, "The table follows the controls of the diagram."), binsTable(audit)));
    made.push(card("all", "All numbers", metricsTable(audit)));
    made.push(card("read", "How to read this page", copyOf(audit.verdict.about ? "reading-confidences" : "reading-scores")));
    made.push(card("from", "About the data", provenance(audit)));
    return made;
  }

  function recalibration(audit, onMethod) {
    const { fix } = audit;
    const made = [];
    if (!fix) made.push(html("p", {}, `No recalibration was tried: ${audit.no_fix || "it was not requested"}.`));
    else {
      if (!audit.advice.some((one) => one.includes(fix.advice))) made.push(html("p", { class: "lead" }, prose(fix.advice)));
      if (fix.changes.length) made.push(changesTable(audit));
      if (fix.refinement) made.push(html("p", {}, prose(`${capital(fix.refinement)}.`)));
      if (fix.tried.length) made.push(html("p", {}, prose(fix.rows)));
    }
    if (audit.methods.length) made.push(...methods(audit, onMethod));
    if (fix && fix.tried.length) made.push(html("details", {}, html("summary", {}, "What was tried"), triedTable(audit)));
    return made;
  }

  // Each map that was fitted: what it changes, a look at it in the diagram, and the map to download.
  function methods(audit, onMethod) {
    const rows = audit.methods.map((one) => {
      const words = capital(methodInWords(one.method));
      const look = html("button", { type: "button", "data-method": one.method }, "Show");
      const save = html("button", { type: "button", "data-map": one.method }, "Download");
      look.setAttribute("aria-label", `Show the diagram after ${words}`);
      save.setAttribute("aria-label", `Download the calibration map of ${words}`);
      look.addEventListener("click", () => onMethod.show(one.method));
      save.addEventListener("click", () => onMethod.save(one));
      return [
        cell([words, ...(audit.fix && audit.fix.chosen === one.method ? [" ", html("strong", {}, "✓ recommended")] : [])], one.method, "name"), ofNumber(one.before), ofNumber(one.after), ofNumber(one.gain), cell(span(one.low, one.high), one.low),
        ofNumber(one.ece_before), ofNumber(one.ece_after), cell(one.cells ? look : "–"), cell(one.map ? save : "–"),
      ];
    });
    return [
      html("h3", {}, "Each recalibrator, before and after"),
      table("On rows that the calibration map was not fitted on", [
        ["Recalibrator", false], ["Log loss before", true, "nll"], ["After"], ["Gain", true, "gain"], [`${audit.level} interval of the gain`], ["ECE before", true, "ece"], ["After"],
        ["Diagram", false], ["Map", false],
      ], rows),
      quiet("Each map is fitted on all rows. Load it in Python with believable.load_recalibrator, or apply it to a file with believable apply MAP.json NEW.csv -o OUT.csv."),
    ];
  }

  function smallOnes(key, word) {
    return [
      html("p", { class: "quiet script hint", id: `choose-${key}` }, `Choose a ${word} to see it in the diagram and the key numbers above.`),
      html("div", { class: "small-ones script", id: `small-${key}`, role: "group", "aria-labelledby": `choose-${key}` }),
    ];
  }

  function provenance(audit) {
    const dropped = Object.entries(audit.dropped).map(([reason, n]) => `${reason}: ${count(n)}`);
    const facts = [["Kind", audit.kind], ["Rows left out", dropped.join("; ") || "none"], ["Weights", audit.weighted ? "yes" : "none"], ["Clusters", known(audit.n_clusters) ? "named" : "none named"]];
    if (audit.left_out) facts.push(["Not in this page", audit.left_out]);
    if (audit.kind !== "binary") {
      const shares = audit.classes.slice(0, MAX_SHARES).flatMap((one, i) => [i ? "; " : "", name(one), `: ${Delimited.general(100 * audit.rates[i], 3)} %`]);
      facts.push(["Classes", shares]);
    } else if (!audit.pairs) facts.push(["Event", audit.event === undefined ? name(audit.classes[audit.classes.length - 1]) : name(audit.event)]);
    return html("dl", {}, ...facts.flatMap(([title, words]) => [html("dt", {}, title), html("dd", {}, ...[words].flat())]));
  }

  // --- all of it -----------------------------------------------------------------------------------------------------

  // The result of `Calibration.audit` as this file reads it: numbers that JSON lacks as numbers, and words it asks for.
  function readable(result) {
    const { verdict } = result;
    const bins = `${verdict.n_bins} ${verdict.strategy} ${verdict.n_bins === 1 ? "bin" : "bins"}`;
    return {
      ...result,
      verdict: {
        ...record(verdict), bins, tone: TONES[verdict.answer], about: result.pairs || ["confidence", "top_label"].includes(verdict.notion),
        ranges: (verdict.ranges || []).map(record),
      },
      level: percent(verdict.level),
      metrics: result.metrics.map(record), table: result.table.map(record), lines: (result.lines || []).map(record),
      parts: (result.parts || []).map(record), subgroups: (result.subgroups || []).map(record),
      fix: result.fix && { ...result.fix, tried: result.fix.tried.map(record), changes: result.fix.changes.map(record) },
      methods: (result.methods || []).map(record), approximations: result.approximations || [],
      advice: result.advice || [], caveats: result.caveats || [], notes: result.notes || [],
    };
  }

  // What the script of the report reads: classes and subgroups by number, the cells of each view.
  function dataOf(audit, stages) {
    const classes = [...new Set(audit.slices.filter((one) => known(one.class_name)).map((one) => one.class_name))];
    const names = [...new Set(audit.slices.filter((one) => known(one.column)).map((one) => JSON.stringify([one.column, one.level])))];
    const whole = audit.slices.filter((one) => one.stage === "before");
    const shownAfter = audit.methods.filter((one) => one.cells && stages[one.method]);
    const after = audit.slices.filter((one) => one.stage !== "before" && stages[one.stage]);
    const slices = [...whole, ...after].map((one) => ({
      class: known(one.class_name) ? classes.indexOf(one.class_name) : null,
      group: known(one.column) ? names.indexOf(JSON.stringify([one.column, one.level])) : null,
      stage: one.stage, ...cellsOf(one.cells),
    })).concat(shownAfter.map((one) => ({ class: null, group: null, stage: one.method, ...cellsOf(one.cells) })));
    const about = audit.verdict.findings && audit.verdict.findings.length ? audit.verdict.findings[0].about : "";
    const start = whole.findIndex((one) => !(known(one.class_name) && known(one.column)) && (known(one.column) ? `${one.column} = ${one.level}` : `class ${one.class_name}`) === about);
    return {
      bins: audit.verdict.n_bins, strategy: audit.verdict.strategy, kind: audit.kind, confidence: audit.verdict.about, clustered: known(audit.n_clusters),
      pooled: audit.verdict.notion === "classwise", level: audit.verdict.level, classes, groups: names.map(JSON.parse).map(([column, level]) => ({ column, level })),
      start: Math.max(start, 0), slices, lines: audit.lines.map(line), map: null,
      stages: Object.fromEntries(Object.entries(stages).map(([key, words]) => [key, key === "before" ? "before recalibration" : `after ${words}`])),
    };
  }

  const cellsOf = (cells) => (typeof cells === "string" ? { data: cells } : typeof cells.data === "string" ? { data: cells.data } : { cells });

  // The points of a curve that can be drawn.
  function line({ method, x, y, low, high }) {
    const fine = x.map((_, i) => i).filter((i) => [x, y, low, high].every((values) => Number.isFinite(values[i])));
    return { method, ...Object.fromEntries(Object.entries({ x, y, low, high }).map(([key, values]) => [key, fine.map((i) => values[i])])) };
  }

  // Show a result in a holder; `save(method)` downloads a map. Returns the page's script for it.
  function show(holder, result, save) {
    const audit = readable(result);
    const stages = { ...STAGES };
    for (const one of audit.methods) if (one.cells) stages[one.method] = methodInWords(one.method);
    if (Object.keys(stages).length === 1 && audit.slices.some((one) => one.stage === "after")) stages.after = "recalibration";
    let page = null;
    const onMethod = {
      save,
      show: (method) => {
        page.set({ stage: method, class: null, group: null });
        document.getElementById("diagram").scrollIntoView({ block: "start" });
      },
    };
    const footnote = audit.approximations.length
      ? [html("p", { class: "quiet", id: "approximations" }, `This page computes the numbers that Python computes, with exceptions. ${audit.approximations.join(" ")}`)]
      : [];
    holder.replaceChildren(
      html("div", { id: "facts-line" }, html("h2", { class: "of" }, name(audit.title)), factsLine(audit)),
      html("div", { class: "first" }, answer(audit, save), diagram(audit, stages), evidence(audit), keyNumbers(audit)), ...further(audit, onMethod), ...footnote,
    );
    page = pageOf(dataOf(audit, stages));
    Tables.begin();
    page.begin();
    return page;
  }

  return { show, PACKAGE: FACTS.package };
})();
