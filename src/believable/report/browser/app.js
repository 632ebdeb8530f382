// The page around the report: a file comes in, its columns are chosen, and the answer is shown.
const App = (() => {
  "use strict";

  const at = (id) => document.getElementById(id);
  const { html } = Draw;
  const LONGEST_EXAMPLE = 60; // letters of the values shown below a control
  let source = null; // what is read: {blob, name, notes, by: subgroups to begin with, typed: whether there is no file}
  let found = null; // its columns, as the worker says
  let shown = null; // the last result
  let labels = []; // of the outcomes, where a sentence named them

  // --- the worker ----------------------------------------------------------------------------------------------------

  let worker = null;
  let broken = typeof Worker === "undefined";
  let answered = false;
  let opened = null; // the source that the worker has open
  let number = 0;
  const waiting = new Map();

  function start() {
    const code = new Blob([at("core").textContent, "\nWork.listen();"], { type: "text/javascript" });
    const address = URL.createObjectURL(code);
    worker = new Worker(address);
    answered = false;
    worker.onmessage = ({ data: { id, ...said } }) => {
      answered = true;
      if (waiting.has(id)) waiting.get(id).hear(said);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      const all = [...waiting.values()];
      stop();
      if (answered) all.forEach(({ hear }) => hear({ error: `This is a defect of the page, not of your file: ${event.message}` }));
      else { // the browser allows no workers here
        broken = true;
        all.forEach(({ message, hear }) => onPage(message, hear));
      }
    };
  }

  function stop() {
    if (worker) worker.terminate();
    [worker, opened] = [null, null];
    waiting.clear();
  }

  function onPage(message, hear) {
    Work.answer(message, hear).then(hear);
  }

  // Ask the worker, or the page itself; `report` hears of progress. Returns {done} or {error, labels}.
  function ask(message, report = () => {}) {
    return new Promise((resolve) => {
      const hear = (said) => {
        if (said.progress !== undefined) report(said);
        else resolve(said);
      };
      try {
        if (!broken && !worker) start();
      } catch {
        broken = true;
      }
      if (broken) {
        onPage(message, hear);
        return;
      }
      const id = ++number;
      waiting.set(id, { message, hear: (said) => { if (said.progress === undefined) waiting.delete(id); hear(said); } });
      worker.postMessage({ id, ...message });
    });
  }

  // --- progress and what went wrong ----------------------------------------------------------------------------------

  let run = 0; // the latest; others were cancelled

  function busy(words, share = null) {
    at("progress").hidden = words === null;
    at("result").toggleAttribute("inert", words !== null);
    if (words === null) return;
    at("progress-said").textContent = `${words} …`;
    if (share === null) at("bar").removeAttribute("value");
    else at("bar").value = share;
  }

  function wrong(sentence) {
    at("wrong").hidden = !sentence;
    at("heard").textContent = ""; // the sentence is an alert by itself
    const begins = source && sentence.startsWith(source.name) ? sentence : sentence.charAt(0).toUpperCase() + sentence.slice(1);
    at("wrong").textContent = sentence ? begins + (/[.!?]$/.test(sentence) ? "" : ".") : "";
  }

  function cancel() {
    run++;
    stop();
    busy(null);
    at("heard").textContent = "Cancelled.";
    at(shown || found ? "columns" : "source").hidden = false;
  }

  // --- from a file to its columns ------------------------------------------------------------------------------------

  async function take(given) {
    const mine = ++run;
    if (waiting.size) stop();
    source = { notes: [], by: [], typed: false, ...given };
    [found, shown, labels, opened] = [null, null, [], null];
    for (const id of ["tools", "columns"]) at(id).hidden = true;
    at("result").replaceChildren();
    document.body.classList.remove("answered");
    wrong("");
    busy(`Opening ${source.name}`);
    const said = await open();
    if (mine !== run) return;
    busy(null);
    if (said.error) {
      wrong(said.error);
      at("source").hidden = false;
      return;
    }
    found = said.done;
    fill(found.guess.columns || found.guess.partly);
    if (found.guess.columns) await audit();
    else {
      choosing();
      wrong(`${source.name}: ${found.guess.why}`);
      at(at("prob").value ? "label" : "prob").focus();
    }
  }

  // The columns have to be chosen before there is anything to show.
  function choosing() {
    for (const id of ["columns", "tools"]) at(id).hidden = false;
    for (const id of ["source", "again", "save-audit"]) at(id).hidden = true;
    at("result").replaceChildren();
  }

  async function open() {
    const { blob, name, notes } = source;
    const said = await ask({ kind: "open", blob, name, notes });
    if (said.done) opened = source;
    return said;
  }

  // A pasted table, in which a header may be missing and columns may be separated by spaces.
  function pasted(text) {
    let [body, notes] = [text.replace(/^\s*\n/, ""), []];
    const [first] = body.split(/\r?\n/, 1);
    if (!/[,;\t|]/.test(first) && /\S\s+\S/.test(first)) body = body.replace(/^[^\S\n]+/gm, "").replace(/[^\S\r\n]+/g, "\t");
    const separator = ["\t", ";", "|", ","].find((one) => first.includes(one)) || "\t";
    const [top] = body.split(/\r?\n/, 1);
    const cells = Delimited.firstRecord(top, separator).map((one) => one.trim());
    if (cells.length === 2 && cells.every((one) => /^[-+]?[\d.,]+(e[-+]?\d+)?\s*%?$/i.test(one))) {
      const whole = body.split("\n").filter((line) => line.trim()).every((line) => /^\s*[01](?:[.,]0+)?\s*$/.test(Delimited.firstRecord(line, separator)[0]));
      const names = whole ? ["outcome", "score"] : ["score", "outcome"];
      body = `${names.join(separator)}\n${body}`;
      notes = [`the pasted text has no header: its first column was read as the ${names[0]}, its second as the ${names[1]}`];
    }
    const name = "pasted text";
    take({ blob: new Blob([body], { type: "text/plain" }), name, notes, typed: true });
  }

  // Two thousand made-up predictions of a model that is too sure of itself, more so at one of three sites.
  function example() {
    let state = 20;
    const random = () => { // mulberry32
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    const lines = ["score,outcome,site"];
    for (let i = 0; i < 2000; i++) {
      const site = ["north", "east", "south"][Math.floor(3 * random())];
      const logit = 2.4 * (random() + random() + random() - 1.5);
      const score = 1 / (1 + Math.exp(-(site === "south" ? 3.2 : 1.9) * logit));
      lines.push(`${score.toFixed(6)},${Number(random() < 1 / (1 + Math.exp(0.2 - logit)))},${site}`);
    }
    take({ blob: new Blob([`${lines.join("\n")}\n`]), name: "example.csv", typed: true, by: ["site"] });
  }

  // --- the controls --------------------------------------------------------------------------------------------------

  function options(chooser, values, chosen, none = null) {
    const all = [...(none === null ? [] : [["", none]]), ...values];
    chooser.replaceChildren(...all.map(([value, words]) => html("option", { value }, words.length > 60 ? `${words.slice(0, 59)}…` : words)));
    chooser.value = chosen === null || chosen === undefined ? "" : chosen;
    if (chooser.selectedIndex < 0) chooser.selectedIndex = 0;
  }

  function fill(guess) {
    const { columns, families } = found;
    const names = columns.map(({ name }) => [name, name]);
    const { prob, prefix, label, weight, cluster, by, classes } = guess;
    const scores = [
      ...families.map(({ prefix, n }) => [`*${prefix}`, `${prefix}* (${n} columns, one per class)`]),
      ...names.map(([name]) => [`=${name}`, name]),
    ];
    const family = prefix ? { prefix } : classes ? families.find((one) => prob[0].startsWith(one.prefix)) : null;
    options(at("prob"), scores, family ? `*${family.prefix}` : prob ? `=${prob[0]}` : null, "choose …");
    options(at("label"), names, label, "choose …");
    options(at("weight"), names, weight, "none");
    options(at("cluster"), names, cluster, "none");
    at("by").replaceChildren(...columns.map(({ name }) => {
      const box = html("input", { type: "checkbox", value: name });
      box.checked = by.includes(name) || source.by.includes(name);
      return html("label", {}, box, " ", html("bdi", {}, name));
    }));
    at("file-name").textContent = found.name;
    at("scale").value = "probabilities";
    at("drop-missing").checked = false;
    at("pairs").checked = Boolean(prob && label && Columns.arePairs(guess));
    follow();
  }

  const columnOf = (name) => found.columns.find((one) => one.name === name);

  function like(name) {
    const column = columnOf(name);
    if (!column) return "";
    const said = `such as ${column.values.slice(0, 4).join(", ")}`;
    return said.length > LONGEST_EXAMPLE ? `${said.slice(0, LONGEST_EXAMPLE)}…` : said;
  }

  // What depends on other choices: examples of values, and the label that counts as 1.
  function follow() {
    const prob = at("prob").value;
    const several = prob.startsWith("*");
    at("prob-like").textContent = several ? "" : like(prob.slice(1));
    for (const id of ["label", "weight"]) at(`${id}-like`).textContent = like(at(id).value);
    const column = columnOf(at("label").value);
    const values = labels.length ? labels : column ? column.values : [];
    const plain = values.every((value) => /^(0|1)(\.0+)?$/.test(value)) || values.every((value) => /^(true|false)$/i.test(value));
    const asks = !several && values.length > 0 && !plain;
    const before = at("positive").value;
    options(at("positive"), values.map((value) => [value, value]), values.includes(before) ? before : null, "choose …");
    at("positive-field").hidden = !asks;
    at("pairs").closest("label").hidden = several;
    const taken = [at("label").value, ...(several ? [] : [prob.slice(1)])];
    for (const box of at("by").querySelectorAll("input")) {
      if (taken.includes(box.value)) box.checked = false;
      box.closest("label").hidden = taken.includes(box.value);
    }
  }

  function asked() {
    const prob = at("prob").value;
    const one = (id) => at(id).value || null;
    return {
      ...(prob.startsWith("*") ? { prefix: prob.slice(1) } : { prob: prob.slice(1) || null }),
      label: one("label"),
      weight: one("weight"),
      cluster: one("cluster"),
      by: [...at("by").querySelectorAll("input:checked")].map((box) => box.value),
      scale: at("scale").value,
      positive: at("positive-field").hidden ? null : one("positive"),
      pairs: prob.startsWith("*") ? null : at("pairs").checked,
      dropMissing: at("drop-missing").checked,
    };
  }

  // --- from the columns to the answer --------------------------------------------------------------------------------

  async function audit() {
    const mine = ++run;
    if (waiting.size) stop();
    wrong("");
    const choice = asked();
    const how = { bins: Number(at("n-bins").value), strategy: at("spacing").value, level: 0.95, seed: 0, fix: at("try-fix").checked };
    busy(`Reading ${source.name}`);
    at("heard").textContent = `Auditing ${source.name}.`;
    if (opened !== source) await open();
    if (mine !== run) return;
    const said = await ask({ kind: "audit", asked: choice, options: how }, ({ progress, sentence }) => {
      if (mine === run) busy(sentence, progress);
    });
    if (mine !== run) return;
    busy(null);
    if (said.error) {
      if (said.labels && said.labels.length) { labels = said.labels; follow(); }
      choosing();
      wrong(said.error);
      if (said.error.includes("“Leave out")) at("more").open = true;
      return;
    }
    finish(said.done.result, choice);
  }

  function finish(result, choice) {
    const today = new Date();
    const date = [today.getFullYear(), today.getMonth() + 1, today.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
    result = { ...result, package: View.PACKAGE, made_on: date, command: command(result, choice) };
    shown = result;
    for (const id of ["columns", "source"]) at(id).hidden = true;
    for (const id of ["tools", "again", "save-audit"]) at(id).hidden = false;
    App.page = View.show(at("result"), result, (method) => save(method.map, `${method.method}.json`));
    at("heard").textContent = `Done. ${result.text.headline}`;
    document.body.classList.add("answered");
    scrollTo(0, 0);
  }

  // The line for the shell that recalibrates, where that is advised and there is a file.
  function command({ verdict, fix }, choice) {
    const advised = ["use with care", "no, recalibrate first"].includes(verdict.answer);
    if (!advised || source.typed || (fix && fix.chosen === "nothing")) return "";
    const flags = { prob: "--prob", prefix: "--prob-prefix", label: "--label", positive: "--pos-label", weight: "--weight", cluster: "--cluster" };
    const words = ["believable", "fit", source.name, ...Object.entries(flags).flatMap(([key, flag]) => (choice[key] ? [flag, choice[key]] : []))];
    if (choice.scale !== "probabilities") words.push(choice.scale === "logits" ? "--logits" : "--percent");
    if (choice.dropMissing) words.push("--drop-missing");
    const quoted = words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`));
    return `${quoted.join(" ")} --method ${fix ? fix.chosen : "auto"} -o map.json`;
  }

  // The audit as Python saves it: without what only this page shows.
  function saved({ text, methods, approximations, ...audit }) {
    return JSON.stringify(audit, (_, value) => (typeof value === "number" && !Number.isFinite(value) ? (value > 0 ? "Infinity" : value < 0 ? "-Infinity" : "NaN") : value));
  }

  function save(text, name) {
    const body = typeof text === "string" ? text : JSON.stringify(text);
    const address = URL.createObjectURL(new Blob([body], { type: "application/json" }));
    html("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  // --- events --------------------------------------------------------------------------------------------------------

  const takeFile = (file) => file && take({ blob: file, name: file.name });

  function begin() {
    document.documentElement.classList.add("js");
    at("pick").addEventListener("click", () => at("file").click());
    at("file").addEventListener("change", () => {
      takeFile(at("file").files[0]);
      at("file").value = ""; // so that the same file can be chosen again
    });
    at("example").addEventListener("click", example);
    at("read-pasted").addEventListener("click", () => {
      if (at("pasted").value.trim()) pasted(at("pasted").value);
      else wrong("There is nothing to read: paste two columns first");
    });
    addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text/plain");
      if (event.clipboardData.files.length) takeFile(event.clipboardData.files[0]);
      else if (!event.target.closest("textarea, input, select") && text.trim().includes("\n")) pasted(text);
    });
    for (const name of ["dragenter", "dragover"]) {
      addEventListener(name, (event) => {
        event.preventDefault();
        document.body.classList.add("dropping");
      });
    }
    addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
    addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      const [file, text] = [event.dataTransfer.files[0], event.dataTransfer.getData("text/plain")];
      if (file) takeFile(file);
      else if (text.trim()) pasted(text);
    });
    at("columns").addEventListener("submit", (event) => {
      event.preventDefault();
      audit();
    });
    at("label").addEventListener("change", () => { labels = []; });
    at("columns").addEventListener("change", follow);
    at("cancel").addEventListener("click", cancel);
    at("again").addEventListener("click", () => {
      at("columns").hidden = !at("columns").hidden;
      if (!at("columns").hidden) at("prob").focus();
    });
    at("another").addEventListener("click", () => {
      at("source").hidden = !at("source").hidden;
      if (!at("source").hidden) at("pick").focus();
    });
    at("save-audit").addEventListener("click", () => save(saved(shown), "audit.json"));
  }

  return { begin, page: null, get shown() { return shown; } };
})();

App.begin();
window.believable = App; // for tests, and for the curious
