"use strict";
// The live parts of the dashboard: numbers as they come, and figures. Text goes in as text, never as markup.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const few = (value) => value === null || value === undefined ? "–"
  : value >= 100 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(2)).toString();
const wait = (seconds) => {
  if (seconds === null || seconds === undefined) return "–";
  for (const [unit, length, least] of [["d", 86400, 2], ["h", 3600, 2], ["min", 60, 1.5]])
    if (seconds >= least * length) return `${few(seconds / length)} ${unit}`;
  return `${few(seconds)} s`;
};
const some = (values) => (values || []).some((value) => value !== null);

// Numbers: each place says which it shows.
function listen() {
  const tiles = document.querySelector("[data-live-from]");
  if (!tiles) return;
  const stream = new EventSource(tiles.dataset.liveFrom);
  stream.addEventListener("now", (event) => {
    const told = JSON.parse(event.data);
    for (const place of tiles.querySelectorAll("[data-live]")) {
      const text = told[place.dataset.live];
      if (place.textContent !== text) place.textContent = text;
      if (place.dataset.word !== undefined) place.dataset.word = text;
    }
    const due = tiles.dataset.quick !== undefined && performance.now() - drawn > 5000;
    if (tiles.dataset.minute !== told.minute || due) {
      tiles.dataset.minute = told.minute;
      drawAll();
    }
  });
  addEventListener("pagehide", () => stream.close());
}

// Figures: a kind makes columns, series and a remark of what came.
// A line through very few points would be no line at all.
const sparse = (plot, number) => plot.data[number].reduce((count, value) => count + (value !== null), 0) <= 12;
const line = (label, colour, more = {}) => ({ label, stroke: style(colour), width: 2, points: { show: sparse, size: 5 }, spanGaps: false, ...more });
const dashed = { dash: [6, 4], width: 1.5 };
const area = (label, colour, raw) => ({
  ...line(label, colour, { width: 1 }), fill: style(colour) + "99", value: (_, __, ___, place) => place === null ? "–" : `${few(raw[place])}/s`,
});

const KINDS = {
  rate(told) {
    const sum = (...names) => told.at.map((_, i) => told[names[0]][i] === null ? null : names.reduce((all, name) => all + told[name][i], 0));
    const budget = told.budget.map((value, i) => value ?? (told.crawls[i] === null ? null : told.now));
    return {
      empty: some(told.crawls) ? "" : "Nothing was noted in this time. A running crawl notes its requests.",
      data: [told.at, sum("crawls", "pages", "others"), sum("crawls", "pages"), told.crawls, budget],
      series: [area("other", "--three", told.others), area("new pages", "--two", told.pages), area("recrawls", "--one", told.crawls), line("budget", "--ink", { ...dashed, value: (_, value) => value === null || value === undefined ? "–" : `${few(value)}/s` })],
      bands: [{ series: [1, 2] }, { series: [2, 3] }],
      unit: (value) => few(value),
    };
  },
  price: (told) => ({
    empty: some(told.price) ? "" : "There is no price yet: it comes with the first plan.",
    data: [told.at, told.price], series: [line("ω", "--one", { value: (_, value) => few(value) })], unit: few,
  }),
  quality5: (told) => quality(told, "five"),
  quality7: (told) => quality(told, "week"),
  delay(told) {
    const span = { value: (_, value) => wait(value) };
    const all = told.all.whole;
    return {
      empty: all ? "" : "Appears when a few pages were fetched in this time.",
      data: [told.at, told.whole_p90, told.whole_median, told.found_median, told.fetched_median],
      series: [line("whole, 90 %", "--two", { ...span, ...dashed }), line("whole, median", "--two", span), line("published → found", "--one", span), line("found → fetched", "--three", span)],
      unit: wait, steps: [1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800],
      remark: all ? `All of this time: half of the pages within ${wait(all[0])}, 90 % within ${wait(all[1])}; found after ${wait(told.all.found[0])}, then fetched within ${wait(told.all.fetched[0])} (medians).` : "",
    };
  },
  clicks: (told) => ({
    empty: some(told.seen) || some(told.fitted) ? "" : "Appears with the first plan, or with the first click on one of its pages.",
    time: false, axis: (value) => `${few(value)} h`,
    data: [told.age, told.seen, told.fitted],
    series: [line("seen", "--one", { value: (_, value) => few(value) }), line("fitted", "--two", { ...dashed, value: (_, value) => few(value) })], unit: few,
    remark: told.clicks ? `${few(told.clicks)} clicks of ${told.pages.toLocaleString("en")} pages of the last weeks.` : `No clicks on its ${told.pages.toLocaleString("en")} pages of the last weeks are known yet.`,
  }),
  plan: (told) => ({
    empty: told.budget.length ? "" : "Appears with the first plan.",
    time: false, log: true, axis: (value) => few(value), mark: told.now,
    data: [told.budget, told.share.map((share) => 100 * share)],
    series: [line("share", "--one", { value: (_, value) => value === null || value === undefined ? "–" : `${value.toFixed(1)} %` })],
    unit: (value) => `${few(value)} %`,
  }),
};

function quality(told, name) {
  const per = { value: (_, value) => value === null || value === undefined ? "–" : `${few(value)} clicks/s` };
  const fills = name === "week" && told.since > told.at[0] - 7 * 86400;
  const day = (at) => new Date(at * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const known = !told.known_until ? "No clicks are known yet: all of it is expectation."
    : `Clicks are known up to ${new Date(told.known_until * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}.`;
  return {
    empty: told.at.length > 1 ? "" : "Appears a minute after the first page was fetched; it is provisional until its pages are a week old.",
    data: [told.at, told[name + "_whole"], told[name + "_seen"]],
    series: [line("with the expected rest", "--two", { ...dashed, ...per }), line("seen so far", "--one", per)],
    shade: told.settled, unit: few,
    remark: told.at.length > 1 ? known + (fills ? ` The first page was fetched on ${day(told.since)}, so this fills up until ${day(told.since + 7 * 86400)}.` : "") : "",
  };
}

// What is provisional lies on grey; a mark is an upright line.
function backdrop(made) {
  return (plot) => {
    const { left, top, width, height } = plot.bbox;
    const context = plot.ctx;
    context.save();
    if (made.shade !== undefined) {
      const from = Math.max(plot.valToPos(made.shade, "x", true), left);
      context.fillStyle = style("--sunk");
      if (from < left + width) context.fillRect(from, top, left + width - from, height);
    }
    if (made.mark !== undefined) {
      const at = plot.valToPos(made.mark, "x", true);
      context.fillStyle = style("--two");
      context.fillRect(at - devicePixelRatio, top, 2 * devicePixelRatio, height);
    }
    context.restore();
  };
}

function options(made, width) {
  const axis = { stroke: style("--quiet"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 }, font: "12px system-ui" };
  return {
    width, height: width < 480 ? 200 : 240,
    scales: { x: { time: made.time !== false, distr: made.log ? 3 : 1, ...(made.log ? { range: (_, low, high) => [low, high] } : {}) }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] } },
    axes: [
      { ...axis, space: 90, ...(made.axis ? { values: (_, ticks) => ticks.map((tick) => tick === null ? "" : made.axis(tick)) } : { values: TIMES }) },
      { ...axis, size: 62, ...(made.steps ? { incrs: made.steps } : {}), values: (_, ticks) => ticks.map((tick) => made.unit(tick)) },
    ],
    series: [made.time === false ? { label: "at", value: (_, value) => value === null || value === undefined ? "–" : made.axis(value) } : { value: "{YYYY}-{MM}-{DD} {HH}:{mm}" }, ...made.series],
    bands: made.bands || [], legend: { live: true }, cursor: { drag: { x: false, y: false } },
    hooks: { drawClear: [backdrop(made)] },
  };
}
// Of uPlot: by the distance of ticks in seconds, how they are written, and what is added where the day changes.
const TIMES = [
  [86400, "{D} {MMM}", null, null, null, null, null, null, 1],
  [3600, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
];

const plots = new Map();
let drawn = 0;
async function draw(place, coming) {
  const { chart, url } = place.dataset;
  const remark = place.parentElement.querySelector("[data-remark]");
  let made;
  try {
    if (!coming.has(url)) coming.set(url, fetch(url).then((answer) => { if (!answer.ok) throw new Error(answer.status); return answer.json(); }));
    made = KINDS[chart](await coming.get(url));
  } catch {
    remark.textContent = "The numbers did not come; they are asked for again in a minute.";
    return;
  }
  plots.get(place)?.destroy();
  plots.delete(place);
  place.classList.toggle("none", Boolean(made.empty));
  remark.textContent = made.empty || made.remark || "";
  if (!made.empty) plots.set(place, new uPlot(options(made, place.clientWidth), made.data, place));
}
function drawAll() {
  drawn = performance.now();
  const coming = new Map();
  for (const place of document.querySelectorAll("[data-chart]")) draw(place, coming);
}

// The slider writes into the field; the form asks when the hand rests for a moment.
function slide() {
  const form = document.getElementById("what-if");
  if (!form) return;
  const [slider, field] = [form.querySelector("#slide"), form.querySelector("#budget")];
  const present = Number(form.dataset.present);
  slider.parentElement.hidden = false;
  let later;
  const ask = () => { clearTimeout(later); later = setTimeout(() => form.dispatchEvent(new CustomEvent("asked")), 120); };
  slider.addEventListener("input", () => {
    field.value = Number((present * 10 ** (slider.value / 100)).toPrecision(3));
    slider.setAttribute("aria-valuetext", `${field.value} fetches per second`);
    ask();
  });
  field.addEventListener("input", () => {
    if (Number(field.value) > 0) { slider.value = 100 * Math.log10(field.value / present); ask(); }
  });
}

document.addEventListener("DOMContentLoaded", () => {
  listen();
  slide();
  drawAll();
  new ResizeObserver(() => plots.forEach((plot, place) => { if (Math.abs(plot.width - place.clientWidth) > 1) plot.setSize({ width: place.clientWidth, height: plot.height }); }))
    .observe(document.querySelector("main"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
});
