// Shows the tests of a run under way as they are stored; when it has ended, its page. Without scripts the page asks again by
// itself. See src/serve/live.rs.
"use strict";
(() => {
  const place = document.querySelector("[data-events]");
  if (!place) return;
  const [rows, progress] = [place.querySelector("tbody"), place.querySelector("[data-progress]")];
  const classes = ["", "", "number", "number", "verdict"];
  const source = new EventSource(place.dataset.events);

  function cell(row, text, name) {
    const cell = row.insertCell();
    cell.textContent = text;
    if (name) cell.className = name;
    return cell;
  }

  source.addEventListener("test", (event) => {
    const test = JSON.parse(event.data);
    if (document.getElementById(`t${test.seq}`)) return;
    const row = rows.insertRow();
    row.id = `t${test.seq}`;
    const link = document.createElement("a");
    link.href = test.href;
    link.textContent = test.seq;
    cell(row, "", "number").append(link);
    test.cells.forEach((text, at) => cell(row, text, classes[at] === "verdict" ? test.verdict : classes[at]));
    cell(row, "", "");
  });
  source.addEventListener("progress", (event) => {
    const { text } = JSON.parse(event.data);
    if (progress.textContent !== text) progress.textContent = text;
  });
  source.addEventListener("ended", () => {
    source.close();
    location.reload();
  });
})();
