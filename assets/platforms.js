// Shows the platforms that are ticked, orders them and their figures, and says what the ticked ones have in common. The
// choice stands in the part of the address behind '#'. What a figure may be compared with, and how, is told as in
// crates/dbdyno-core/src/analysis/heatmap.rs; a figure that is not accepted has no number here. Without scripts all
// platforms are shown.
"use strict";
(() => {
  const board = document.querySelector("[data-board]");
  if (!board) return;
  const language = document.documentElement.lang;
  const ticks = [...board.querySelectorAll("input[name=platform]")];
  const all = ticks.map((tick) => tick.value);
  const usual = ticks.filter((tick) => tick.defaultChecked).map((tick) => tick.value);
  const list = board.querySelector("table.platforms tbody");
  const group = board.querySelector("select[name=group]");
  const here = board.querySelector("[data-here]");
  const orders = new Map([...board.querySelectorAll("th[data-order]")].map((head) => [head.dataset.order, head]));
  const number = (text) => (text === undefined ? null : Number(text));
  const percent = (share) =>
    share.toLocaleString(language, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });

  const figure = (cell) => ({
    cell,
    work: cell.dataset.work,
    value: number(cell.dataset.value),
    half: number(cell.dataset.half),
    bound: number(cell.dataset.bound),
    isPrinted: cell.dataset.printed !== undefined,
  });
  const tables = [...board.querySelectorAll("table.figures")].map((table) => ({
    metric: table.dataset.metric,
    title: table.dataset.title,
    heads: [...table.querySelectorAll("thead th[data-run]")],
    body: table.tBodies[0],
    rows: [...table.tBodies[0].rows].map((row) => ({
      row,
      group: row.dataset.group,
      isLower: row.dataset.better === "lower",
      figures: new Map([...row.querySelectorAll("td[data-run]")].map((cell) => [cell.dataset.run, figure(cell)])),
    })),
  }));

  // The choice: platforms, group, order of the platforms, and the column by which rows are ordered.
  function read() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const named = asked.has("p") ? asked.get("p").split(",").filter((run) => all.includes(run)) : usual;
    const groups = [...group.options].map((option) => option.value);
    const [metric, run] = (asked.get("r") ?? "").split(":");
    const isColumn = tables.some((table) => table.metric === metric) && all.includes(run);
    return {
      runs: new Set(named),
      group: groups.includes(asked.get("g")) ? asked.get("g") : "",
      order: orders.has(asked.get("s")) ? asked.get("s") : "",
      rows: isColumn ? `${metric}:${run}` : "",
    };
  }

  function written(choice) {
    const parts = [];
    const runs = all.filter((run) => choice.runs.has(run));
    if (runs.join() !== usual.join()) parts.push(`p=${runs.join(",")}`);
    if (choice.group) parts.push(`g=${encodeURIComponent(choice.group)}`);
    if (choice.order) parts.push(`s=${choice.order}`);
    if (choice.rows) parts.push(`r=${choice.rows}`);
    return `#${parts.join("&")}`;
  }

  // Where the ticked figures of a row stand: the share of the best and the sign of each. None where fewer than two may be
  // compared.
  function placed(row, runs) {
    const shown = runs.map((run) => [run, row.figures.get(run)]).filter((entry) => entry[1].work);
    const known = shown.filter((entry) => entry[1].work === shown[0][1].work && entry[1].value !== null);
    const places = new Map();
    if (known.length < 2) return { places, isDecided: false };
    const beats = (one, other) => (row.isLower ? one < other : one > other);
    const share = (value, whole) =>
      value === whole ? 1 : Math.min(Math.max(row.isLower ? whole / value : value / whole, 0), 1);
    const best = known.map((entry) => entry[1]).reduce((one, other) => (beats(other.value, one.value) ? other : one));
    const bounds = shown.map((entry) => entry[1].bound).filter((bound) => bound !== null && beats(bound, best.value));
    const whole = bounds.reduce((one, other) => (beats(other, one) ? other : one), best.value);
    const isDecided = bounds.length === 0 && known.every((entry) => entry[1].isPrinted || entry[1].half !== null);
    for (const [run, one] of known) {
      const isKnown = one.half !== null && best.half !== null;
      const isNear = isKnown && Math.abs(Math.log(one.value / best.value)) <= Math.hypot(one.half, best.half);
      const sign = one.value === best.value ? "*" : isNear ? "~" : "";
      places.set(run, { share: share(one.value, whole), half: one.half, sign: isDecided ? sign : "" });
    }
    return { places, isDecided: isDecided };
  }

  // The geometric mean of the shares of each platform over the rows that all ticked platforms have.
  function means(rows, runs) {
    const counted = rows.filter(({ found }) => runs.every((run) => found.places.has(run)));
    const isDecided = counted.every(({ found }) => found.isDecided);
    const mean = (run) => {
      const places = counted.map(({ found }) => found.places.get(run));
      const sum = places.reduce((total, place) => total + Math.log(place.share), 0);
      const isKnown = places.every((place) => place.half !== null);
      const error = isKnown ? Math.hypot(...places.map((place) => place.half)) / places.length : null;
      return [run, { log: sum / places.length, error, sign: "" }];
    };
    const found = new Map(counted.length && runs.length > 1 ? runs.map(mean) : []);
    const best = Math.max(...[...found.values()].map((one) => one.log));
    const leader = [...found.values()].find((one) => one.log === best);
    for (const one of isDecided ? found.values() : []) {
      const isKnown = one.error !== null && leader.error !== null;
      const isNear = isKnown && best - one.log <= Math.hypot(one.error, leader.error);
      one.sign = one.log === best ? "*" : isNear ? "~" : "";
    }
    return { found, counted: counted.length };
  }

  function marked(cell, sign) {
    cell.querySelector("[data-sign]")?.remove();
    if (!sign) return;
    const mark = document.createElement("strong");
    mark.dataset.sign = "";
    mark.textContent = sign;
    cell.insertBefore(mark, cell.querySelector(".unit"));
  }

  function coloured(one, place) {
    const cell = one.cell;
    cell.classList.remove("best", ...Array.from({ length: 11 }, (_, step) => `h${step}`));
    if (place) cell.classList.add(`h${Math.round(place.share * 10)}`);
    cell.classList.toggle("best", place?.sign === "*");
    marked(cell, place?.sign);
  }

  // The mean of a platform; a dash for one that is ticked and has none.
  function drawn(cell, mean, isTicked) {
    cell.replaceChildren(...(isTicked && !mean ? ["–"] : []));
    if (!mean) return;
    const share = Math.exp(mean.log);
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of [["width", 60], ["height", 10], ["aria-hidden", true]]) picture.setAttribute(name, value);
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of [["width", 60 * share], ["height", 10], ["class", "area main"]]) bar.setAttribute(name, value);
    picture.append(bar);
    cell.append(picture, ` ${percent(share)}`);
    marked(cell, mean.sign);
  }

  function said(table, runs, counted, rows) {
    const line = board.querySelector(`[data-said="${table.metric}"]`);
    const name = runs.length < 2 ? "few" : counted ? "counted" : "nothing";
    const values = { metric: table.title, rows: counted, all: rows };
    const text = Object.entries(values).reduce((text, [key, value]) => text.replace(`{${key}}`, value), board.dataset[name]);
    line.textContent = name === "few" && table !== tables[0] ? "" : text;
  }

  // Columns of words; those of means have the largest first.
  const words = ["name", "engine", "what", "day"];

  const text = (run, order) => {
    return list.querySelector(`tr[data-run="${run}"] [data-${order}]`).textContent;
  };

  function inOrder(order, found) {
    const runs = [...all];
    const mean = (run) => found.get(order)?.get(run)?.log ?? -Infinity;
    if (words.includes(order)) {
      runs.sort((one, other) => text(one, order).localeCompare(text(other, order), language, { numeric: true }));
    } else if (order) {
      runs.sort((one, other) => (mean(other) > mean(one) ? 1 : mean(other) < mean(one) ? -1 : 0));
    }
    return runs;
  }

  function show(choice) {
    const found = new Map();
    const runs = all.filter((run) => choice.runs.has(run));
    for (const tick of ticks) tick.checked = choice.runs.has(tick.value);
    group.value = choice.group;
    for (const table of tables) {
      const rows = [];
      for (const row of table.rows) {
        const isShown = (!choice.group || row.group === choice.group) && runs.some((run) => row.figures.get(run).work);
        row.row.hidden = !isShown;
        row.found = placed(row, isShown ? runs : []);
        if (isShown) rows.push(row);
      }
      const mean = means(rows, runs);
      found.set(table.metric, mean.found);
      said(table, runs, mean.counted, rows.length);
    }
    const order = inOrder(choice.order, found);
    // What is ticked stands together, above the rest.
    for (const run of [...order.filter((run) => choice.runs.has(run)), ...order.filter((run) => !choice.runs.has(run))]) {
      const row = list.querySelector(`tr[data-run="${run}"]`);
      for (const cell of row.querySelectorAll("[data-mean]")) drawn(cell, found.get(cell.dataset.mean)?.get(run), choice.runs.has(run));
      list.append(row);
    }
    for (const table of tables) arranged(table, order, choice);
    for (const [name, head] of orders) {
      if (name === choice.order) head.setAttribute("aria-sort", words.includes(name) ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    here.href = written(choice);
  }

  function arranged(table, order, choice) {
    const [metric, by] = choice.rows.split(":");
    const share = (row) => row.found.places.get(by)?.share ?? -1;
    const rows = [...table.rows];
    if (metric === table.metric) rows.sort((one, other) => share(other) - share(one));
    for (const head of table.heads) {
      head.hidden = !choice.runs.has(head.dataset.run);
      if (metric === table.metric && head.dataset.run === by) head.setAttribute("aria-sort", "descending");
      else head.removeAttribute("aria-sort");
    }
    const heads = new Map(table.heads.map((head) => [head.dataset.run, head]));
    heads.values().next().value.parentElement.append(...order.map((run) => heads.get(run)));
    for (const row of rows) {
      for (const [run, one] of row.figures) {
        one.cell.hidden = !choice.runs.has(run);
        coloured(one, row.found.places.get(run));
      }
      row.row.append(...order.map((run) => row.figures.get(run).cell));
    }
    table.body.append(...rows.map((row) => row.row));
  }

  function change(changes) {
    const choice = { ...read(), ...changes };
    history.replaceState(null, "", written(choice));
    show(choice);
  }

  function pressed(place, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...place.childNodes);
    button.addEventListener("click", act);
    place.append(button);
  }

  for (const tick of ticks) {
    tick.addEventListener("change", () => change({ runs: new Set(ticks.filter((one) => one.checked).map((one) => one.value)) }));
  }
  for (const button of board.querySelectorAll("[data-tick]")) {
    const of = (engine) => ticks.filter((tick) => tick.closest("tr").dataset.engine === engine).map((tick) => tick.value);
    const runs = { usual: () => usual, all: () => all, none: () => [], engine: () => of(button.dataset.engine) };
    button.addEventListener("click", () => change({ runs: new Set(runs[button.dataset.tick]()) }));
  }
  group.addEventListener("change", () => change({ group: group.value }));
  for (const [order, head] of orders) pressed(head, () => change({ order: read().order === order ? "" : order }));
  for (const table of tables) {
    for (const head of table.heads) {
      const rows = `${table.metric}:${head.dataset.run}`;
      pressed(head.querySelector("[data-head]"), () => change({ rows: read().rows === rows ? "" : rows }));
    }
  }
  addEventListener("hashchange", () => show(read()));
  board.classList.add("alive");
  show(read());
})();
