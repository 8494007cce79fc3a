// Tables that a click on a column sorts, and the list of bugs, which shows its first rows until it is asked for all.
// Joined behind mount.js.
(() => {
  "use strict";

  const { powercut } = window;
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // A cell's own order (data-sort), else its number, else its text.
  function keyOf(row, column, numeric) {
    const cell = row.cells[column];
    const text = (cell?.dataset.sort ?? cell?.textContent ?? "").trim();
    if (!numeric) {
      return text.toLowerCase();
    }
    const number = Number.parseFloat(text.replaceAll(",", ""));
    return Number.isNaN(number) ? Number.NEGATIVE_INFINITY : number;
  }

  function sortBy(table, header) {
    const descending = header.getAttribute("aria-sort") === "ascending";
    const numeric = header.classList.contains("number") || header.classList.contains("turned");
    const column = header.cellIndex;
    const rows = all("tbody tr", table).map((row) => ({ row, key: keyOf(row, column, numeric) }));
    const order = (a, b) => (a.key < b.key ? -1 : Number(a.key > b.key));
    // Numbers begin with the largest, which is what a reader looks for; both ways keep rows that are alike in order.
    const sign = descending === numeric ? 1 : -1;
    rows.sort((a, b) => sign * order(a, b));
    table.tBodies[0].append(...rows.map(({ row }) => row));
    for (const other of all("thead th", table)) {
      other.removeAttribute("aria-sort");
    }
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    powercut.nameTargets();
    if (table.id === "bugs") {
      powercut.cutBugs(false);
    }
  }

  function makeSortable(table) {
    if (all("tbody tr", table).length < 2) {
      return;
    }
    for (const header of all("thead th", table)) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...header.childNodes);
      for (const word of all(".term", button)) {
        word.removeAttribute("tabindex"); // the button is what the keyboard reaches; terms.js explains it then
      }
      header.append(button);
      button.addEventListener("click", () => sortBy(table, header));
    }
  }

  // The matrix names a target in the first of its rows that is shown, whatever is hidden or sorted.
  powercut.nameTargets = () => {
    let before = null;
    for (const row of all("#matrix tbody tr")) {
      const name = row.querySelector(".row-target");
      if (row.hidden || !name) {
        continue;
      }
      name.classList.toggle("visually-hidden", name.textContent === before);
      before = name.textContent;
    }
  };

  let wanted = false;
  // Shows the first rows of the list of bugs alone, unless all are asked for, now or before.
  powercut.cutBugs = (every) => {
    const table = document.getElementById("bugs");
    if (!table) {
      return;
    }
    const listed = Number(table.dataset.listed);
    const rows = all("tbody tr", table);
    const cut = !wanted && !every && rows.length > listed;
    rows.forEach((row, place) => row.classList.toggle("cut", cut && place >= listed));
    document.getElementById("all-bugs").hidden = !cut;
  };
  document.getElementById("all-bugs")?.addEventListener("click", () => {
    wanted = true;
    powercut.cutBugs(true);
  });

  powercut.onMount((root) => {
    for (const table of all("table.sorts", root)) {
      makeSortable(table);
    }
    if (root === document) {
      powercut.cutBugs(false);
    }
  });
})();
