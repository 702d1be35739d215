// Sorts the tables of a page by a click on, or a key at, the head of a column; filters a list of folds by what is typed, and
// opens them for paper. Without scripts the page says the same. See src/report/format/html.rs.
"use strict";
(() => {
  const german = document.documentElement.lang === "de";
  const plain = (text) => (german ? text.replaceAll(".", "").replace(",", ".") : text.replaceAll(",", ""));
  const key = (cell) => {
    const text = cell.textContent.replace(/[?!*~\u202f\u00a0]/g, "").trim();
    const number = Number.parseFloat(plain(text));
    return cell.classList.contains("number") ? (Number.isNaN(number) ? -Infinity : number) : text;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

  function sort(table, head, column) {
    const down = head.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row.cells[column]), row]);
    rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
    body.append(...rows.map((row) => row[1]));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head, column));
      head.append(button);
    });
  }

  const list = document.querySelector(".page.list");
  if (list) {
    const folds = [...list.querySelectorAll("section > details.fold")];
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = german ? "Filtern" : "Filter";
    search.setAttribute("aria-label", search.placeholder);
    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/);
      for (const fold of folds) {
        const text = fold.textContent.toLowerCase();
        fold.hidden = !words.every((word) => text.includes(word));
      }
      for (const section of list.querySelectorAll("section")) {
        const own = folds.filter((fold) => fold.parentElement === section);
        section.hidden = own.length > 0 && own.every((fold) => fold.hidden);
      }
    });
    list.querySelector("header").append(search);
    addEventListener("beforeprint", () => folds.forEach((fold) => (fold.open = true)));
  }
})();
