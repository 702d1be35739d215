// Draws the charts of a report: each <figure class="chart"> holds its data as JSON and gets an SVG and a legend of
// buttons. Colours are CSS variables, so that dark mode and print need no script. See src/report/format/html/chart.rs.
"use strict";
(() => {
  const MARKS = [
    "circle", "rect", "triangle", "diamond",
    "path://M0,0L10,0L5,9Z", // triangle, tip down
    "path://M3,0H7V3H10V7H7V10H3V7H0V3H3Z", // plus
  ];
  const INVALID = "path://M0,2L2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5Z"; // cross
  const SWATCHES = [
    '<circle cx="14" cy="6" r="4"/>', '<rect x="10" y="2" width="8" height="8"/>', '<path d="M14 1L19 10H9Z"/>',
    '<path d="M14 1L19 6L14 11L9 6Z"/>', '<path d="M9 2H19L14 11Z"/>', '<path d="M12 1h4v3h3v4h-3v3h-4v-3h-3v-4h3Z"/>',
  ];
  const COLORS = 8;
  const DASHES = [[], [8, 4], [2, 3], [8, 3, 2, 3]];
  // Laws are drawn from the start where they do not hide what was measured.
  const MOST_FITTED = 4;

  const MOST_MARKS = 24;

  const mark = (series) => MARKS[series.platform % MARKS.length];
  const color = (series) => `var(--series-${series.platform % COLORS})`;
  const dash = (series) => (series.fitted ? [1, 2 + 2 * (series.variant % DASHES.length)] : DASHES[series.variant % DASHES.length]);

  // The page and all its charts are in one language.
  const LOCALE = { de: "de-DE" }[document.documentElement.lang] || "en-US";

  // As in the tables: four significant digits, whole numbers in full, thousands grouped.
  const number = (value) => {
    const digits = value === 0 ? 0 : 3 - Math.floor(Math.log10(Math.abs(value)));
    const places = Math.min(Math.max(digits, 0), 9);
    return value.toLocaleString(LOCALE, { minimumFractionDigits: places, maximumFractionDigits: places });
  };
  const plain = (value) => value.toLocaleString(LOCALE, { maximumSignificantDigits: 6 });
  const named = (axis) => (axis.unit ? `${axis.name} [${axis.unit}]` : axis.name);

  // Logarithmic axes are linear axes over the logarithm: so the ticks are always powers of the base.
  const BASES = { log2: 2, log10: 10 };
  const forward = (axis) => {
    const base = BASES[axis.scale];
    return base ? (value) => Math.log(value) / Math.log(base) : (value) => value;
  };
  const backward = (axis) => {
    const base = BASES[axis.scale];
    return base ? (value) => Number((base ** value).toPrecision(12)) : (value) => value;
  };

  function axis(description, values, position) {
    const isLog = description.scale in BASES;
    const transformed = values.map(forward(description)).filter(Number.isFinite);
    const [least, most] = [Math.min(...transformed), Math.max(...transformed)];
    const [low, high] = [Math.floor(least + 1e-9), Math.max(Math.ceil(most - 1e-9), Math.floor(least + 1e-9) + 1)];
    const back = backward(description);
    const option = {
      type: "value",
      name: named(description),
      nameLocation: position === "x" ? "middle" : "end",
      nameTextStyle: { color: "var(--soft)", fontSize: 12, align: position === "x" ? "center" : "left" },
      axisLabel: { color: "var(--soft)", hideOverlap: true, formatter: (value) => plain(back(value)) },
      axisLine: { show: position === "x", lineStyle: { color: "var(--soft)" } },
      axisTick: { show: position === "x", lineStyle: { color: "var(--soft)" } },
      splitLine: { show: position === "y" || isLog, lineStyle: { color: "var(--line)" } },
    };
    if (isLog) {
      Object.assign(option, { min: low, max: high, interval: Math.max(1, Math.ceil((high - low) / 10)) });
    } else {
      // Figures start at 0, so that heights can be compared; a share ends at 100 %.
      option.min = 0;
      if (position === "x") option.max = Math.ceil(most - 0.1);
      if (position === "y" && description.unit === "%" && most <= 100.5) option.max = 100;
    }
    return option;
  }

  function point(chart, values, hasMark) {
    const [x, y, low, high, label, verdict] = values;
    const item = { value: [forward(chart.x)(x), forward(chart.y)(y)], x, y, low, high, label, verdict };
    if (!hasMark) return { ...item, symbol: "none" };
    if (verdict === "conditional") item.itemStyle = { color: "var(--paper)" };
    if (verdict === "invalid") Object.assign(item, { symbol: INVALID, symbolSize: 10 });
    return item;
  }

  // A grey area from low to high: a line that nobody sees, and on it the area up to high.
  function band(chart, series) {
    const at = ([x, , low, high], isTop) => ({ value: [forward(chart.x)(x), isTop ? high - low : low], symbol: "none" });
    const common = { type: "line", name: series.name, stack: series.name, symbol: "none", silent: true, z: 0, emphasis: { disabled: true } };
    const edge = { ...common, lineStyle: { opacity: 0 } };
    return [
      { ...edge, data: series.points.map((values) => at(values, false)) },
      { ...edge, data: series.points.map((values) => at(values, true)), areaStyle: { color: "var(--soft)", opacity: 0.25 } },
    ];
  }

  function line(chart, series) {
    const paint = color(series);
    // Of many points only some carry a mark, so that the curve stays visible and has one.
    const step = Math.ceil(series.points.length / MOST_MARKS);
    return {
      type: "line",
      name: series.name,
      data: series.points.map((values, index) => point(chart, values, !series.fitted && index % step === 0)),
      symbol: series.fitted ? "none" : mark(series),
      symbolSize: 8,
      showAllSymbol: true,
      itemStyle: { color: paint, borderColor: paint, borderWidth: 1.5 },
      lineStyle: { color: paint, width: series.fitted ? 1 : 2, type: dash(series).length ? dash(series) : "solid" },
      emphasis: { disabled: true },
      z: series.fitted ? 1 : 2,
    };
  }

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  }

  const between = (chart, { low, high }) => chart.range.replace("{low}", number(low)).replace("{high}", number(high));

  // What stands in the box at the pointer: x, then the figure of each curve there.
  function reading(chart, shown) {
    const head = element("strong", {}, `${named(chart.x)} ${plain(backward(chart.x)(shown[0].data.value[0]))}`);
    const figures = shown.filter(({ seriesIndex }) => !chart.curves[seriesIndex].noise);
    const lines = figures.map(({ data, seriesName, seriesIndex }) => {
      const unit = chart.y.unit ? ` ${chart.y.unit}` : "";
      const range = data.low == null ? "" : ` (${between(chart, data)})`;
      const label = data.label ? `, ${data.label}` : "";
      const verdict = data.verdict && data.verdict !== "valid" ? `, ${chart.verdicts[data.verdict]}` : "";
      const line = element("div", {}, swatch(chart.curves[seriesIndex]));
      line.append(` ${seriesName}: ${number(data.y)}${unit}${range}${label}${verdict}`);
      return line;
    });
    return element("div", { class: "reading" }, head, ...lines);
  }

  function options(chart) {
    // A band is drawn as two curves.
    chart.curves = chart.drawn.flatMap((series) => (series.noise ? [series, series] : [series]));
    const values = (index) => chart.drawn.flatMap((series) => series.points.map((values) => values[index]));
    return {
      animation: false,
      textStyle: { fontFamily: "system-ui, sans-serif" },
      grid: { left: 4, right: 16, top: 4, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all" },
      tooltip: {
        trigger: "axis", confine: true, formatter: (shown) => reading(chart, shown),
        backgroundColor: "var(--paper)", borderColor: "var(--soft)", textStyle: { color: "var(--ink)", fontSize: 13 },
        axisPointer: { lineStyle: { color: "var(--soft)" } },
      },
      xAxis: { ...axis(chart.x, values(0), "x"), nameGap: 26 },
      yAxis: { ...axis(chart.y, values(1), "y"), nameGap: 12 },
      series: chart.drawn.flatMap((series) => (series.noise ? band(chart, series) : [line(chart, series)])),
    };
  }

  function swatch(series) {
    const holder = element("span", { class: "swatch", "aria-hidden": "true" });
    if (series.noise) {
      holder.innerHTML = '<svg width="28" height="12" viewBox="0 0 28 12"><rect width="28" height="12" fill="var(--soft)" opacity="0.25"/></svg>';
      return holder;
    }
    const width = series.fitted ? 1 : 2;
    const shape = series.fitted ? "" : `<g fill="${color(series)}">${SWATCHES[series.platform % SWATCHES.length]}</g>`;
    holder.innerHTML = `<svg width="28" height="12" viewBox="0 0 28 12"><path d="M0 6H28" stroke="${color(series)}" ` +
      `stroke-width="${width}" stroke-dasharray="${dash(series).join(" ")}"/>${shape}</svg>`;
    return holder;
  }

  class Chart {
    constructor(figure) {
      this.data = JSON.parse(figure.querySelector("script").textContent);
      this.plot = figure.querySelector(".plot");
      const measured = this.data.series.filter((series) => !series.fitted && !series.noise).length;
      this.hidden = new Set(this.data.series.filter((series) => series.fitted && measured > MOST_FITTED));
      this.legend(figure.querySelector(".legend"));
    }

    legend(list) {
      for (const series of this.data.series) {
        const button = element("button", { type: "button" }, swatch(series), series.name);
        const show = () => button.setAttribute("aria-pressed", String(!this.hidden.has(series)));
        button.addEventListener("click", () => {
          if (!this.hidden.delete(series)) this.hidden.add(series);
          show();
          this.draw();
        });
        show();
        list.append(element("li", {}, button));
      }
    }

    draw() {
      if (!this.chart) {
        this.plot.replaceChildren();
        this.chart = echarts.init(this.plot, null, { renderer: "svg" });
      }
      this.data.drawn = this.data.series.filter((series) => !this.hidden.has(series));
      this.chart.setOption(options(this.data), { notMerge: true });
      this.chart.getZr().flush();
      this.scalable();
    }

    // A page in print has another width: the drawing scales with it.
    scalable() {
      const svg = this.plot.querySelector("svg");
      svg.setAttribute("viewBox", `0 0 ${this.chart.getWidth()} ${this.chart.getHeight()}`);
      svg.setAttribute("aria-hidden", "true");
    }

    resize() {
      if (!this.chart || this.plot.clientWidth === this.chart.getWidth()) return;
      this.chart.resize();
      this.chart.getZr().flush();
      this.scalable();
    }
  }

  const charts = new Map();
  document.querySelectorAll("figure.chart").forEach((figure) => charts.set(figure, new Chart(figure)));
  // A page may hold hundreds of charts: each is drawn when it comes near.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((entry) => entry.isIntersecting)) {
      near.unobserve(entry.target);
      charts.get(entry.target).draw();
    }
  }, { rootMargin: "800px" });
  charts.forEach((_, figure) => near.observe(figure));
  addEventListener("beforeprint", () => charts.forEach((chart) => chart.chart || chart.draw()));
  addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
})();
