// The work behind the page: a file is opened, read and audited away from what is shown, and says how far it is. The same
// messages are answered on the page itself where the browser allows no workers.
const Work = (() => {
  "use strict";

  const SHARE_OF_READING = 0.3; // of the progress bar
  const EVERY = 80; // milliseconds between reports
  let [opened, input, key] = [null, null, null];

  // Answer a message: {kind: "open", blob, name} or {kind: "audit", asked, options}. `report` is called with {progress,
  // sentence} on the way. Returns {done} or {error, labels}: a sentence for the user, and the labels to choose from.
  async function answer(message, report) {
    let last = -Infinity;
    const said = (progress, sentence) => {
      const now = Date.now();
      if (now - last < EVERY && progress < 1) return;
      last = now;
      report({ progress, sentence });
    };
    try {
      return { done: message.kind === "open" ? await open(message) : await audit(message, said) };
    } catch (error) {
      if (error instanceof DOMException) { // from reading the file
        return { error: `${message.name || opened.name} cannot be read: it is a folder, or it was changed or moved meanwhile`, labels: [] };
      }
      const expected = error instanceof Delimited.BadInput || error.name === "InputError" || error.constructor === Error;
      const defect = `This is a defect of the page, not of your file: ${error.message}`;
      return { error: expected ? error.message : defect, labels: error.labels || [] };
    }
  }

  // The columns of a file, some of their values, and which of them are guessed: {columns} or the sentence why not.
  async function open({ blob, name, notes }) {
    opened = await Delimited.open(blob, name);
    opened.notes.push(...notes);
    key = null;
    const columns = await Read.preview(opened);
    let guess = null;
    try {
      guess = { columns: Columns.choose(opened.names) };
    } catch (error) {
      if (!(error instanceof Delimited.BadInput)) throw error;
      if (opened.names.every((each) => !Number.isNaN(Number(each)))) throw new Delimited.BadInput(`${name}: ${error.message}`);
      guess = { why: error.message, partly: Columns.partly(opened.names) };
    }
    return { name, columns, guess, families: Columns.families(opened.names) };
  }

  async function audit({ asked, options }, said) {
    if (JSON.stringify(asked) !== key) { // other options need no second reading
      const mega = Math.max(1, Math.round(opened.blob.size / 1e6));
      input = await Read.input(opened, asked, (share, rows) => said(SHARE_OF_READING * share, `Reading ${Delimited.grouped(rows)} rows, ${mega} MB`));
      key = JSON.stringify(asked);
    }
    const n = Delimited.grouped(input.labels.length);
    const result = Calibration.audit(input, options, (share, sentence) => said(SHARE_OF_READING + (1 - SHARE_OF_READING) * share, sentence || `Auditing ${n} rows`));
    return { result, columns: input.columns };
  }

  // In a worker: answer one message after the other.
  function listen() {
    let before = Promise.resolve();
    self.onmessage = ({ data }) => {
      before = before.then(async () => {
        const found = await answer(data, (progress) => self.postMessage({ id: data.id, ...progress }));
        self.postMessage({ id: data.id, ...found });
      });
    };
  }

  return { answer, listen };
})();

if (typeof module !== "undefined") module.exports = Work;
