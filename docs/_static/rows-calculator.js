// The calculator of how-many-rows.html: input fields, the results that rows.js computes, and a small plot.
"use strict";

(() => {
  const place = document.getElementById("rows-calculator");
  if (!place) return;
  place.innerHTML = `
    <form>
      <fieldset><legend>Your plan</legend>
        <label for="rc-rows">Rows <output id="rc-rows-said" for="rc-rows"></output></label>
        <input id="rc-rows" type="range" min="2" max="6" step="0.01" value="3.3">
        <label for="rc-bins">Bins <output id="rc-bins-said" for="rc-bins"></output></label>
        <input id="rc-bins" type="range" min="2" max="50" step="1" value="10">
        <label for="rc-rate">Base rate: how often the event occurs</label>
        <input id="rc-rate" type="number" min="0.001" max="0.999" step="any" value="0.2" required>
        <label for="rc-auc">AUC of the model <output id="rc-auc-said" for="rc-auc"></output></label>
        <input id="rc-auc" type="range" min="0.55" max="0.99" step="0.01" value="0.8">
        <label for="rc-strategy">Kind of bins</label>
        <select id="rc-strategy"><option value="uniform">equal width (uniform)</option>
          <option value="quantile">equal counts (quantile)</option></select>
      </fieldset>
      <fieldset><legend>What to expect</legend>
        <dl aria-live="polite">
          <dt>Noise floor: mean ECE of a perfectly calibrated model</dt><dd id="rc-floor"></dd>
          <dt>… and its 95th percentile</dt><dd id="rc-q95"></dd>
          <dt>Width of the 95 % interval of the ECE, kept in 4 of 5 samples</dt><dd id="rc-width"></dd>
          <dt>… of the interval of the slope</dt><dd id="rc-slope"></dd>
          <dt>… of the interval of O:E</dt><dd id="rc-oe"></dd>
        </dl>
        <p class="rough" id="rc-rough" role="status"></p>
      </fieldset>
      <fieldset><legend>Rows needed</legend>
        <label for="rc-want-floor">for a noise floor of</label>
        <span><input id="rc-want-floor" type="number" min="0.0001" max="1" step="any" value="0.01" required>
          <output id="rc-n-floor" for="rc-want-floor"></output></span>
        <label for="rc-want-width">for an interval of the ECE this wide</label>
        <span><input id="rc-want-width" type="number" min="0.0001" max="2" step="any" value="0.02" required>
          <output id="rc-n-width" for="rc-want-width"></output></span>
        <label for="rc-want-slope">for an interval of the slope this wide</label>
        <span><input id="rc-want-slope" type="number" min="0.0001" max="10" step="any" value="0.2" required>
          <output id="rc-n-slope" for="rc-want-slope"></output></span>
        <label for="rc-want-oe">for an interval of O:E this wide</label>
        <span><input id="rc-want-oe" type="number" min="0.0001" max="10" step="any" value="0.2" required>
          <output id="rc-n-oe" for="rc-want-oe"></output></span>
      </fieldset>
    </form>
    <svg viewBox="0 0 640 230" role="img" aria-label="Noise floor and interval width by the number of rows, on logarithmic axes"></svg>`;
  const field = (name) => document.getElementById(`rc-${name}`);
  const say = (name, text) => { field(name).textContent = text; };
  const digits = (value) => (value === 0 ? "0" : Number(value.toPrecision(2)).toString());
  const grouped = (n) => Math.round(n).toLocaleString("en-GB");
  const roundRows = (n) => { const step = 10 ** Math.max(Math.floor(Math.log10(n)) - 1, 0); return Math.round(n / step) * step; };
  const inRange = (name) => {
    const input = field(name);
    const ok = input.checkValidity() && input.value !== "";
    input.setAttribute("aria-invalid", String(!ok));
    return ok ? Number(input.value) : null;
  };

  function update() {
    const n = roundRows(10 ** Number(field("rows").value));
    const bins = Number(field("bins").value);
    const auc = Number(field("auc").value);
    say("rows-said", grouped(n));
    say("bins-said", bins);
    say("auc-said", auc.toFixed(2));
    const baseRate = inRange("rate");
    const shown = { floor: "floor", q95: "floorQ95", width: "width", slope: "slopeWidth", oe: "oeWidth" };
    const wished = { floor: "floor", width: "width", slope: "slopeWidth", oe: "oeWidth" };
    if (baseRate === null) {
      for (const name of Object.keys(shown)) say(name, "–");
      for (const name of Object.keys(wished)) say(`n-${name}`, "base rate: 0.001 to 0.999");
      return;
    }
    const choices = { bins, auc, baseRate, strategy: field("strategy").value };
    const scores = Rows.population(choices);
    const found = Rows.at(scores, n);
    for (const [name, of] of Object.entries(shown)) say(name, digits(found[of]));
    for (const [name, of] of Object.entries(wished)) {
      const wish = inRange(`want-${name}`);
      const needed = wish === null ? null : Rows.rowsNeeded({ [of]: wish }, choices);
      const least = needed !== null && Rows.at(scores, needed.n - 1).events < Rows.FEW ? ` (for ${Rows.FEW} events)` : "";
      say(`n-${name}`, needed === null ? "–" : `${grouped(needed.n)} rows${least}`);
    }
    say("rough", found.events < Rows.FEW ? `Only about ${digits(found.events)} rows of the rarer outcome are expected, so these numbers are rough.` : "");
    draw(scores, n);
  }

  // Lines are labelled at their ends, and differ in dashes, not only in colour.
  function draw(scores, n) {
    const box = { left: 66, right: 520, top: 12, bottom: 190 };
    const x = (rows) => box.left + ((Math.log10(rows) - 2) / 4) * (box.right - box.left);
    const steps = Array.from({ length: 41 }, (_, i) => 10 ** (2 + i / 10));
    const points = steps.map((rows) => Rows.at(scores, rows));
    const all = points.flatMap((one) => [one.floor, one.width]);
    const [low, high] = [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)))];
    const y = (value) => box.bottom - ((Math.log10(value) - low) / (high - low)) * (box.bottom - box.top);
    const grid = [];
    for (let e = low; e <= high; e++) {
      grid.push(`<line class="grid" x1="${box.left}" x2="${box.right}" y1="${y(10 ** e)}" y2="${y(10 ** e)}"/>`);
      grid.push(`<text x="${box.left - 6}" y="${y(10 ** e) + 4}" text-anchor="end">${10 ** e >= 1 ? 1 : (10 ** e).toFixed(-e)}</text>`);
    }
    for (let e = 2; e <= 6; e++) {
      grid.push(`<line class="grid" y1="${box.top}" y2="${box.bottom}" x1="${x(10 ** e)}" x2="${x(10 ** e)}"/>`);
      grid.push(`<text x="${x(10 ** e)}" y="${box.bottom + 18}" text-anchor="middle">${grouped(10 ** e)}</text>`);
    }
    const line = (of, name) => `<polyline class="${name}" points="${points.map((one) => `${x(one.n)},${y(one[of])}`).join(" ")}"/>`;
    const last = points[points.length - 1];
    const apart = Math.abs(y(last.width) - y(last.floor)) < 18 ? (18 - Math.abs(y(last.width) - y(last.floor))) / 2 : 0;
    const up = last.width > last.floor ? -apart : apart;
    const here = Rows.at(scores, n);
    place.querySelector("svg").innerHTML = `${grid.join("")}${line("width", "width")}${line("floor", "floor")}
      <circle class="width" cx="${x(n)}" cy="${y(here.width)}" r="5"/><circle class="floor" cx="${x(n)}" cy="${y(here.floor)}" r="5"/>
      <text x="${box.right + 6}" y="${y(last.width) + 4 + up}">interval width</text>
      <text x="${box.right + 6}" y="${y(last.floor) + 4 - up}">noise floor</text>
      <text x="${(box.left + box.right) / 2}" y="${box.bottom + 36}" text-anchor="middle">rows</text>`;
  }

  place.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  place.addEventListener("input", update);
  update();
})();
