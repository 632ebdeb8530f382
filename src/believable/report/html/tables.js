// Tables that can be sorted by each column.
const Tables = (() => {
  "use strict";

  function begin() {
    for (const table of document.querySelectorAll("table.sortable")) {
      [...table.tHead.rows[0].cells].forEach((head, column) => {
        const title = head.querySelector(".t");
        const button = document.createElement("button");
        button.type = "button";
        button.className = "sort";
        button.append(...title.childNodes);
        title.replaceWith(button);
        button.addEventListener("click", () => {
          const up = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && head.classList.contains("left"));
          for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
          head.setAttribute("aria-sort", up ? "ascending" : "descending");
          sort(table, column, up);
        });
      });
    }
  }

  // Rows without a value come last, whichever way.
  function sort(table, column, up) {
    const body = table.tBodies[0];
    const value = (row) => row.cells[column].dataset.v;
    const rows = [...body.rows];
    const numbers = rows.every((row) => value(row) === undefined || value(row) !== "" && !Number.isNaN(Number(value(row))));
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
      const order = numbers ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true });
      return up ? order : -order;
    });
    body.append(...rows);
  }

  // Sort once more by the column that was chosen, after the rows have changed.
  function again(table) {
    const heads = [...table.tHead.rows[0].cells];
    const column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
    if (column >= 0) sort(table, column, heads[column].getAttribute("aria-sort") === "ascending");
  }

  return { begin, again };
})();
