"use strict";
// The viewer's only script. Whatever comes from a session enters the page as text, never as markup.

// Elements.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, given, kids) {
  for (const [name, value] of Object.entries(given || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const kid of kids.flat(3)) {
    if (kid === null || kid === undefined || kid === false || kid === "") continue;
    node.append(kid instanceof Node ? kid : document.createTextNode(String(kid)));
  }
  return node;
}
const h = (tag, given, ...kids) => fill(document.createElement(tag), given, kids);
const s = (tag, given, ...kids) => fill(document.createElementNS(SVG, tag), given, kids);
const number = (n) => (n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en"));
const short = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(1)}M` : n >= 1e4 ? `${Math.round(n / 1e3)}k` : number(n));
const several = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;
const money = (n) => `$${n.toFixed(n < 1 ? 3 : 2)}`;
const sized = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(1)} MB` : `${Math.ceil(n / 1e3)} kB`);
const day = (seconds) => new Date(seconds * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

/** What a click does, Enter and space do too. */
const acts = (act) => ({
  tabindex: 0,
  onclick: (event) => { event.stopPropagation(); act(); },
  onkeydown: (event) => {
    if ((event.key === "Enter" || event.key === " ") && event.target === event.currentTarget) { event.preventDefault(); event.stopPropagation(); act(); }
  },
});

// Where data comes from: the page itself, or its server.

let embedded = null;
let action = "";

async function get(path, given) {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(given || {})}`);
  const told = await answer.text();
  if (!answer.ok) { let why = told; try { why = JSON.parse(told).error; } catch { /* a plain text */ } throw new Error(why); }
  return JSON.parse(told);
}
async function post(path, body) {
  const answer = await fetch(`/api/${path}`, { method: "POST", headers: { "x-kedgeline-action": action }, body: JSON.stringify(body) });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told;
}
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(JSON.parse(text).gzip), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
const asked = (given) => ({ id: here.id, ...(here.window ? { window: here.window } : {}), ...given });
const source = {
  session: () => (embedded ? embedded.session : get("session", asked())),
  compaction: (which) => (embedded ? embedded.compactions[which] : get("compaction", asked({ which }))),
  turns: (first, last, agent) =>
    embedded ? (embedded.turns[agent] || []).filter((t) => t.turn >= first && t.turn <= last) : get("turns", asked({ first, last, agent })),
  find: async (q) => {
    if (!embedded) return (await get("find", asked({ q }))).turns;
    const words = q.toLowerCase().split(/\s+/);
    return embedded.turns[""].filter((t) => { const all = JSON.stringify(t).toLowerCase(); return words.every((w) => all.includes(w)); }).map((t) => t.turn);
  },
};

// Where we are: #/s/ID/TAB/WHICH/PART?t=12&a=AGENT

const app = document.getElementById("app");
let here = {};
let page = null; // the session that is shown
let shownKey = "";

function parsed() {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  const [, , id, tab, which, part] = path.split("/").map(decodeURIComponent);
  const given = new URLSearchParams(query || "");
  const t = given.get("t");
  return { id: id || (embedded ? "file" : ""), tab: tab || "turns", which, part, turn: t === null ? null : Number(t), agent: given.get("a") || "", window: given.get("w") || "" };
}
function go(change, replaces) {
  const to = { ...here, ...change };
  const path = ["", "s", to.id, to.tab, to.which, to.part].filter((x) => x !== undefined && x !== null).map(encodeURIComponent).join("/");
  const given = new URLSearchParams();
  if (to.turn !== null && to.turn !== undefined) given.set("t", to.turn);
  if (to.agent) given.set("a", to.agent);
  if (to.window) given.set("w", to.window);
  const hash = `#${path}${given.size ? `?${given}` : ""}`;
  if (replaces) { history.replaceState(null, "", hash); show(); } else location.hash = hash;
}
const openTurn = (turn, agent) => go({ turn, agent: agent || "" });

async function show() {
  const before = here;
  here = parsed();
  try {
    if (!here.id) { page = null; shownKey = ""; return await showSessions(); }
    const key = `${here.id} ${here.window}`;
    if (!page || shownKey !== key) {
      app.replaceChildren(h("p", { class: "wait", role: "status" }, "Reading the session…"));
      page = await source.session();
      shownKey = key;
      before.tab = undefined;
      drawSession();
    }
    if (before.tab !== here.tab || before.which !== here.which || before.part !== here.part) await drawTab();
    if (before.tab === undefined || before.turn !== here.turn || before.agent !== here.agent) await drawReader();
    markOpen();
  } catch (error) {
    app.replaceChildren(h("p", { class: "wait bad", role: "alert" }, error.message), h("p", { class: "wait" }, h("a", { href: "#/" }, "All sessions")));
    page = null;
  }
}

// All sessions.

async function showSessions() {
  const { sessions, action: word } = await get("sessions");
  action = word;
  document.title = "Sessions – kedgeline";
  const list = h("div", { class: "list", "aria-live": "polite" });
  const input = h("input", { type: "search", placeholder: "Search  ( / )", "aria-label": "Search in sessions; Enter searches their text", id: "search" });
  const entry = (one) => h("button", { class: "entry", onclick: () => go({ id: one.id, tab: "turns", which: null, part: null, turn: null, agent: "" }) },
    h("span", { class: `tag ${one.agent === "kept" ? "kept" : ""}` }, one.agent),
    h("span", { class: "grow" }, h("span", { class: "cut name" }, one.title || one.name), h("span", { class: "small soft" }, one.title ? `${one.folder || ""} ${one.name}` : several(one.turns || 0, "turn"))),
    h("span", { class: "small soft" }, day(one.changed), h("br"), sized(one.bytes)));
  const draw = (words) => {
    const fits = sessions.filter((one) => `${one.title} ${one.name} ${one.agent} ${one.folder || ""}`.toLowerCase().includes(words));
    list.replaceChildren(h("h2", {}, several(fits.length, "session")), ...fits.slice(0, 400).map(entry),
      fits.length ? "" : h("p", { class: "soft" }, sessions.length ? "No session has this in its title; Enter searches the text of kept sessions." : "No sessions yet. Keep one with: kedgeline add NAME FILE"));
  };
  const hits = (found) => list.replaceChildren(h("h2", {}, several(found.length, "place"), " in kept sessions"),
    ...found.map((one) => h("button", { class: "entry", onclick: () => go({ id: one.id, tab: "turns", turn: one.turn, agent: one.agent }) },
      h("span", { class: "tag kept cut" }, one.session), h("span", { class: "grow" }, h("span", { class: "small soft" }, `${one.mark} · ${one.who} · ${one.title}`), h("br"), h("span", { class: "text small" }, one.lines)))),
    found.length ? "" : h("p", { class: "soft" }, "Nothing found. Fewer or other words may help; wor* finds words that begin with wor."));
  input.addEventListener("input", () => draw(input.value.trim().toLowerCase()));
  input.addEventListener("keydown", async (event) => { if (event.key === "Enter" && input.value.trim()) hits((await get("search", { q: input.value })).hits); });
  draw("");
  app.replaceChildren(h("header", { class: "top" }, h("span", { class: "brand" }, "kedgeline"), h("h1", { class: "grow" }, "Sessions"), input), h("main", { class: "scroll" }, list));
}

// One session: numbers, timeline, tabs, and the reader at the right.

let parts = {};

function drawSession() {
  document.title = `${page.title || page.name} – kedgeline`;
  parts = { live: h("span", { class: "live small soft" }, "live"), facts: h("div", { class: "facts" }), chart: h("div", { class: "chart" }), legend: h("div", { class: "legend" }), tabs: h("nav", { class: "tabs", role: "tablist", "aria-label": "Parts of the session" }), pane: h("main", { class: "pane" }), reader: h("aside", { class: "reader", "aria-label": "Turn", hidden: true }) };
  parts.reader.hidden = true;
  app.replaceChildren(
    h("header", { class: "top" }, embedded ? h("span", { class: "brand" }, "kedgeline") : h("a", { class: "brand", href: "#/" }, "kedgeline"), h("h1", { class: "grow cut" }, page.title || page.name), h("span", { class: "small soft cut" }, [page.format, page.model].filter(Boolean).join(" · ")), embedded ? null : parts.live),
    parts.facts, parts.chart, parts.legend, parts.tabs, h("div", { class: "body" }, parts.pane, parts.reader));
  drawFacts();
  drawChart();
  new ResizeObserver(() => drawChart()).observe(parts.chart);
}

function drawFacts() {
  const { columns: c, checks } = page;
  const turns = c.title.length;
  const behind = page.compactions.find((one) => one.kind !== "preview" && !one.undone && one.after && one.turn - page.first >= turns);
  const last = behind ? behind.after : c.context[turns - 1] || 0;
  const failed = checks.filter((one) => !one.passed).length;
  const folds = page.compactions.filter((one) => one.kind !== "preview").length;
  const times = c.at.filter((x) => x);
  const lasted = times.length > 1 ? times[times.length - 1] - times[0] : 0;
  const hours = lasted >= 3600 ? `${Math.floor(lasted / 3600)} h ${Math.round((lasted % 3600) / 60)} min` : `${Math.max(1, Math.round(lasted / 60))} min`;
  const fact = (value, name, wide) => h("div", { class: wide ? "wide" : "" }, h("b", {}, value), h("span", {}, name));
  parts.facts.replaceChildren(...[
    fact(number(turns), "turns"),
    fact(short(last), `of ${short(page.window.tokens)} tokens of context`),
    fact(number(folds), folds === 1 ? "compaction" : "compactions"),
    c.cost && turns ? fact(money(c.cost[turns - 1]), "at list prices") : null,
    checks.length ? fact(h("span", {}, h("span", { class: "good" }, number(checks.length - failed)), failed ? h("span", { class: "bad" }, ` ${number(failed)}`) : ""), failed ? "checks passed, failed" : "checks passed") : null,
    fact(number(page.files.length), page.files.length === 1 ? "file changed" : "files changed"),
    page.agents.length ? fact(number(page.agents.length), page.agents.length === 1 ? "sub-agent" : "sub-agents") : null,
    lasted ? fact(hours, "from first to last", true) : null,
  ].filter(Boolean));
}

function drawChart() {
  const { columns: c, window: w } = page;
  const total = c.context.length;
  const wide = parts.chart.clientWidth;
  if (!wide || !total) return;
  const narrow = wide < 620;
  const lanes = packed(page.agents.filter((one) => one.first !== null));
  const tall = narrow ? 96 : 150, left = 52, right = narrow ? 8 : 64, plot = wide - left - right;
  const checksAt = tall + 6, lanesAt = checksAt + (page.checks.length ? 12 : 0), bottom = lanesAt + Math.min(lanes.length, 6) * 9 + 16;
  const peak = Math.max(...c.context.reduce((m, x) => (x > m[0] ? [x] : m), [1]), ...page.compactions.map((one) => one.before || 0));
  const top = w.tokens <= peak * 3 ? Math.max(w.tokens, peak) * 1.06 : Math.max(peak * 1.25, w.trigger <= peak * 2 ? w.trigger * 1.05 : 0);
  const x = (place) => left + (total < 2 ? plot / 2 : (place / (total - 1)) * plot);
  const y = (tokens) => tall - 4 - (tokens / top) * (tall - 14);
  const drawn = s("svg", { viewBox: `0 0 ${wide} ${bottom}`, height: bottom, role: "slider", tabindex: 0, "aria-label": "Timeline of context tokens. Left and right move by a turn, Enter opens it", "aria-valuemin": page.first, "aria-valuemax": page.first + total - 1, "aria-valuenow": page.first });
  for (let i = 1; i <= 3; i++) { const at = (top * i) / 4; drawn.append(s("line", { class: "grid", x1: left, x2: left + plot, y1: y(at), y2: y(at) }), s("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end" }, short(at))); }
  let taken = [];
  for (const [name, value] of [["window", w.tokens], ["trigger", w.trigger], ["target", w.target]]) {
    if (value > top) continue;
    drawn.append(s("line", { class: name, x1: left, x2: left + plot, y1: y(value), y2: y(value) }));
    if (!narrow && taken.every((t) => Math.abs(t - y(value)) > 11)) { drawn.append(s("text", { x: left + plot + 6, y: y(value) + 4 }, name)); taken.push(y(value)); }
  }
  // A column of pixels shows the most of its turns; a compaction breaks the line.
  const folds = new Map(page.compactions.filter((one) => one.kind !== "preview" && !one.undone).map((one) => [one.turn - page.first, one]));
  const step = Math.max(1, Math.floor(total / plot));
  let edge = "", cost = "";
  const most = c.cost ? c.cost[total - 1] || 1 : 1;
  for (let i = 0; i < total; i += step) {
    let high = 0;
    for (let k = i; k < Math.min(total, i + step); k++) high = Math.max(high, c.context[k]);
    const fold = step === 1 && folds.get(i);
    if (fold && fold.before) edge += `L${x(i - 0.5).toFixed(1)} ${y(fold.before).toFixed(1)}L${x(i - 0.5).toFixed(1)} ${y(fold.after || high).toFixed(1)}`;
    edge += `${edge ? "L" : "M"}${x(i).toFixed(1)} ${y(high).toFixed(1)}`;
    if (c.cost) cost += `${cost ? "L" : "M"}${x(i).toFixed(1)} ${y((c.cost[i] / most) * top * 0.94).toFixed(1)}`;
  }
  const behind = folds.get(total); // it was made after the last turn
  if (behind && behind.after) edge += `L${x(total - 1).toFixed(1)} ${y(behind.after).toFixed(1)}`;
  drawn.append(s("path", { class: "area", d: `${edge}L${x(total - 1).toFixed(1)} ${y(0)}L${x(0)} ${y(0)}Z` }), s("path", { class: "edge", d: edge }));
  if (c.cost) drawn.append(s("path", { class: "cost", d: cost }));
  for (const [place, one] of folds) {
    const at = Math.min(x(place - 0.5), left + plot), label = `Compaction by ${one.by} before t${one.turn}: ${number(one.before)} to ${number(one.after)} tokens`;
    const open = () => go({ tab: "compactions", which: one.id, part: null });
    drawn.append(s("line", { class: "drop", x1: at, x2: at, y1: 10, y2: tall - 4, opacity: 0.45 }), s("path", { class: "mark", d: `M${at - 6} 2h12l-6 10z`, role: "button", "aria-label": label, ...acts(open) }, s("title", {}, label)));
  }
  for (const one of page.checks) drawn.append(s("rect", { class: one.passed ? "pass" : "fail", x: x(one.turn - page.first) - 1.5, y: checksAt - 2, width: 3, height: 9, rx: 1 }));
  if (page.checks.length) drawn.append(s("text", { x: left - 6, y: checksAt + 6, "text-anchor": "end" }, "checks"));
  lanes.slice(0, 6).forEach((lane, row) => lane.forEach((one) => {
    const from = x(one.first - page.first), label = `Sub-agent: ${one.title}, ${several(one.turns, "turn")}`;
    drawn.append(s("rect", { class: "lane", x: from, y: lanesAt + row * 9, width: Math.max(7, x(one.last - page.first) - from), height: 6, rx: 3, role: "button", "aria-label": label, ...acts(() => openTurn(0, one.agent)) }, s("title", {}, label)));
  }));
  if (lanes.length) drawn.append(s("text", { x: left - 6, y: lanesAt + 7, "text-anchor": "end" }, "agents"));
  for (const share of narrow ? [0, 1] : [0, 0.25, 0.5, 0.75, 1]) { const at = Math.round(share * (total - 1)); drawn.append(s("text", { x: x(at), y: bottom - 2, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, `t${page.first + at}`)); }
  const cursor = s("line", { class: "cursor", y1: 8, y2: tall - 4, visibility: "hidden" }), dot = s("circle", { class: "here", r: 4, visibility: "hidden" });
  drawn.append(cursor, dot);
  const tip = h("div", { class: "tip" });
  tip.hidden = true;
  let place = here.turn !== null && !here.agent ? here.turn - page.first : -1;
  const point = (at, quiet) => {
    place = Math.max(0, Math.min(total - 1, at));
    for (const [node, given] of [[cursor, { x1: x(place), x2: x(place) }], [dot, { cx: x(place), cy: y(c.context[place]) }]]) fill(node, { ...given, visibility: "visible" }, []);
    drawn.setAttribute("aria-valuenow", page.first + place);
    drawn.setAttribute("aria-valuetext", `t${page.first + place}, ${number(c.context[place])} tokens, ${c.title[place]}`);
    tip.hidden = Boolean(quiet);
    tip.replaceChildren(h("div", {}, h("b", {}, `t${page.first + place}`), ` · ${number(c.context[place])} tokens${c.reported[place] ? "" : " (estimated)"}${c.cost ? ` · ${money(c.cost[place])}` : ""}`), h("div", { class: "soft text" }, c.title[place]));
    const at2 = x(place);
    tip.style.left = at2 > wide / 2 ? "auto" : `${at2 + 12}px`;
    tip.style.right = at2 > wide / 2 ? `${wide - at2 + 12}px` : "auto";
  };
  const under = (event) => Math.round(((event.clientX - drawn.getBoundingClientRect().left - left) / plot) * (total - 1));
  drawn.addEventListener("pointermove", (event) => point(under(event)));
  drawn.addEventListener("pointerleave", () => { tip.hidden = true; });
  drawn.addEventListener("click", (event) => openTurn(page.first + Math.max(0, Math.min(total - 1, under(event)))));
  drawn.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -total, End: total }[event.key];
    if (by && event.target === drawn) { event.preventDefault(); point((place < 0 ? 0 : place) + by); }
    if (event.key === "Enter" && event.target === drawn && place >= 0) openTurn(page.first + place);
  });
  if (place >= 0) point(place, true);
  parts.point = (turn) => point(turn - page.first, true);
  parts.chart.replaceChildren(drawn, tip);
  const key = (kind, name, box) => h("span", {}, h("i", { class: box ? "box" : "" , "data-c": kind }), name);
  parts.legend.replaceChildren(...[
    key("--accent", "context tokens"), c.cost ? key("--cost", `cost, to ${money(most)}`) : null,
    key("--bad", `window ${number(w.tokens)}`), key("--warn", `trigger ${number(w.trigger)}`), key("--good", `target ${number(w.target)}`),
    folds.size ? key("--user", "compactions", true) : null, page.agents.length ? key("--calls", "sub-agents", true) : null,
  ].filter(Boolean));
  for (const one of parts.legend.querySelectorAll("i")) one.style.color = `var(${one.dataset.c})`;
}

/** Sub-agents in as few lanes as there are at work at once. */
function packed(agents) {
  const lanes = [];
  for (const one of [...agents].sort((a, b) => a.first - b.first)) {
    const lane = lanes.find((l) => l[l.length - 1].last < one.first);
    if (lane) lane.push(one); else lanes.push([one]);
  }
  return lanes;
}

// Tabs.

function tabNames() {
  const made = page.compactions.filter((one) => one.kind !== "preview").length;
  const names = [["turns", `Turns ${number(page.columns.title.length)}`], ["compactions", `Compactions ${number(made)}`], ["files", `Files ${number(page.files.length)}`]];
  return page.agents.length ? [...names, ["agents", `Sub-agents ${number(page.agents.length)}`]] : names;
}

async function drawTab() {
  const find = h("input", { type: "search", placeholder: "Find in turns  ( / )", "aria-label": "Find turns with these words", id: "search" });
  find.addEventListener("keydown", async (event) => {
    if (event.key !== "Enter") return;
    const words = find.value.trim();
    const found = words ? await source.find(words) : null;
    if (here.tab !== "turns") { go({ tab: "turns", which: null, part: null }, true); await new Promise((done) => setTimeout(done)); }
    drawTurns(found);
  });
  parts.tabs.replaceChildren(...tabNames().map(([tab, name]) => h("button", { role: "tab", "aria-selected": here.tab === tab ? "true" : "false", onclick: () => go({ tab, which: null, part: null }) }, name)), find);
  app.classList.toggle("deep", here.tab === "compactions" && Boolean(here.which));
  if (here.tab === "compactions" && here.which) await drawCompaction();
  else ({ turns: () => drawTurns(null), compactions: drawCompactions, files: drawFiles, agents: drawAgents }[here.tab] || drawTurns)();
}

const ROW = 30;

/** The turns as rows of one height: only those in view are in the page. */
function drawTurns(chosen, keeps) {
  const c = page.columns, checks = new Map(), folds = new Set(page.compactions.filter((one) => one.kind !== "preview" && !one.undone).map((one) => one.turn));
  for (const one of page.checks) checks.set(one.turn, checks.get(one.turn) === false ? false : one.passed);
  const places = chosen ? chosen.map((turn) => turn - page.first) : null;
  const total = places ? places.length : c.title.length;
  const rows = h("div", { class: "rows", role: "listbox", tabindex: 0, "aria-label": `${several(total, "turn")}; arrows move, Enter opens`, id: "rows" });
  const space = h("div", { class: "space" });
  space.style.height = `${total * ROW}px`;
  rows.append(space);
  let at = -1;
  const draw = () => {
    const first = Math.max(0, Math.floor(rows.scrollTop / ROW) - 8), last = Math.min(total, first + Math.ceil((rows.clientHeight || 600) / ROW) + 16);
    const made = [];
    for (let row = first; row < last; row++) {
      const place = places ? places[row] : row, turn = page.first + place, check = checks.get(turn);
      const node = h("div", { class: `row ${c.who[place]}`, role: "option", id: `row-${turn}`, "aria-setsize": total, "aria-posinset": row + 1, "aria-selected": (at >= 0 ? row === at : turn === here.turn && !here.agent) ? "true" : "false", onclick: () => { at = row; openTurn(turn); draw(); } },
        folds.has(turn) ? h("span", { class: "fold" }) : null,
        h("span", { class: "no" }, `t${turn}`), h("span", { class: "cut grow" }, c.title[place] || "–"),
        c.failed[place] ? h("span", { class: "small bad" }, `${c.failed[place]} failed`) : null,
        check === undefined ? null : h("span", { class: `dot ${check ? "pass" : "fail"}`, role: "img", "aria-label": check ? "checks passed" : "a check failed" }),
        h("span", { class: "num" }, c.calls[place] ? several(c.calls[place], "call") : ""), h("span", { class: "num" }, `+${short(c.tokens[place])}`), h("span", { class: "num" }, short(c.context[place])));
      node.style.top = `${row * ROW}px`;
      made.push(node);
    }
    space.replaceChildren(...made);
    if (at >= 0) rows.setAttribute("aria-activedescendant", `row-${page.first + (places ? places[at] : at)}`);
  };
  rows.addEventListener("scroll", draw, { passive: true });
  rows.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1, PageUp: -15, PageDown: 15, Home: -total, End: total }[event.key];
    if (by) {
      event.preventDefault();
      if (at < 0 && here.turn !== null) at = places ? places.indexOf(here.turn - page.first) : here.turn - page.first;
      at = Math.max(0, Math.min(total - 1, at + by));
      if (at * ROW < rows.scrollTop) rows.scrollTop = at * ROW;
      if ((at + 1) * ROW > rows.scrollTop + rows.clientHeight) rows.scrollTop = (at + 1) * ROW - rows.clientHeight;
      draw();
    } else if (event.key === "Enter" && at >= 0) openTurn(page.first + (places ? places[at] : at));
  });
  parts.rows = { node: rows, draw: () => { at = -1; draw(); }, total, chosen };
  const head = places ? h("p", { class: "legend" }, `${several(total, "turn")} found`, h("button", { class: "more", onclick: () => drawTurns(null) }, "all turns")) : null;
  const pending = page.pending && !places ? h("div", { class: "legend" }, h("b", {}, "waits for an answer:"), h("span", { class: "cut grow" }, page.pending)) : null;
  parts.pane.replaceChildren(...[head, rows, pending].filter(Boolean));
  if (keeps !== undefined) rows.scrollTop = keeps;
  else if (here.turn !== null && !here.agent && !places) rows.scrollTop = Math.max(0, (here.turn - page.first - 4) * ROW);
  draw();
  new ResizeObserver(draw).observe(rows);
}

const chip = (turn, agent) => h("button", { class: "chip", "aria-label": `Open turn ${turn}`, onclick: (event) => { event.stopPropagation(); openTurn(turn, agent); } }, `t${turn}`);

function drawFiles() {
  const of = (file) => h("details", { class: "card" },
    h("summary", {}, h("span", { class: "mono" }, file.path), h("span", { class: "small" }, `  ${file.net} · ${several(file.edits.length, "edit")} `), file.added || file.removed ? [h("span", { class: "good small" }, `+${number(file.added)} `), h("span", { class: "bad small" }, `−${number(file.removed)}`)] : null),
    file.edits.map((one) => h("div", { class: "line", "data-turn": one.turn, ...acts(() => openTurn(one.turn)) }, chip(one.turn), ` ${one.action} `, h("span", { class: "what" }, inline(one.what)), one.added || one.removed ? h("span", { class: "small soft" }, `  +${one.added} −${one.removed}`) : null)));
  parts.pane.replaceChildren(h("div", { class: "scroll" }, page.files.length ? page.files.map(of) : h("p", { class: "soft" }, "No file was changed.")));
}

function drawAgents() {
  parts.pane.replaceChildren(h("div", { class: "scroll" }, page.agents.map((one) => h("details", { class: "card" },
    h("summary", {}, one.title, h("span", { class: "small soft" }, `  ${several(one.turns, "turn")}${one.failed ? `, ${one.failed} calls failed` : ""}`), one.first === null ? null : [" started in ", chip(one.first)]),
    one.titles.map((title, turn) => h("div", { class: "line cut", "data-turn": `${one.agent}/${turn}`, ...acts(() => openTurn(turn, one.agent)) }, h("span", { class: "soft mono" }, `t${turn} `), title))))));
}

// Compactions.

function meter(before, after) {
  const bar = h("div", { class: "meter", role: "img", "aria-label": `${number(before)} tokens before, ${number(after)} after` }, h("i"), h("i"));
  bar.children[0].style.width = "100%";
  bar.children[1].style.width = `${before ? Math.min(100, (100 * after) / before) : 0}%`;
  return bar;
}
const named = (one) => (one.kind === "preview" ? "What kedgeline would make of the session now" : `${one.kind === "summary" ? "Compaction" : one.kind[0].toUpperCase() + one.kind.slice(1)} by ${one.by} before t${one.turn}`);

function drawCompactions() {
  const cards = page.compactions.map((one) => h("div", { class: "card click", role: "link", ...acts(() => go({ which: one.id, part: null })) },
    h("b", {}, named(one)), one.undone ? h("span", { class: "warn" }, "  undone") : null, one.trigger ? h("span", { class: "soft" }, `  ${one.trigger}`) : null,
    one.before ? [meter(one.before, one.after), h("span", { class: "small soft" }, `${number(one.before)} → ${number(one.after)} tokens`)] : h("div", { class: "small soft" }, one.kind === "preview" ? "Nothing is changed: see what would be kept, folded and left out, and follow every line to its turns." : "")));
  parts.pane.replaceChildren(h("div", { class: "scroll" }, cards));
}

async function drawCompaction() {
  parts.pane.replaceChildren(h("p", { class: "wait", role: "status" }, "Making the compaction…"));
  const asked = here.which, one = await source.compaction(asked);
  if (!one) throw new Error("This compaction is not in the file.");
  if (here.which !== asked) return;
  const lost = one.losses.reduce((sum, part) => sum + part.lines.length, 0);
  const tabs = [["summary", "Summary", one.summary.length], ["sides", "Side by side", one.host], ["losses", `Left out ${number(lost)}`, one.summary.length], ["levels", "What became of turns", one.levels], ["view", "Before and after", one.view], ["questions", "What it answers", one.questions.length]].filter((tab) => tab[2]);
  const part = here.part || (one.host ? "sides" : tabs.length ? tabs[0][0] : "");
  const draw = { summary: () => drawSummary(one), sides: () => drawSides(one), losses: () => drawLosses(one), levels: () => drawLevels(one), view: () => drawView(one), questions: () => drawQuestions(one) }[part];
  const facts = [
    one.before ? `${number(one.before)} → ${number(one.after)} tokens` : "",
    one.window && one.window.as_if_full ? `as if the window were ${number(one.window.tokens)}: its own, ${number(one.window.own)}, is not full` : "",
    one.reason || "",
  ].filter(Boolean).join(" · ");
  const undo = one.can_undo && !embedded ? h("button", { onclick: async () => { if (confirm("Undo this compaction? The view will contain the original turns again.")) { await post("undo", { id: here.id }); await reload(); go({ which: null, part: null }); } } }, "Undo") : null;
  const window = one.kind === "preview" && !embedded ? h("select", { "aria-label": "Window of the model", onchange: (event) => go({ window: event.target.value }) }, [["", "its own window"], ...[32, 64, 128, 200, 400, 1000].map((k) => [`${k}000`, `${k}k window`])].map(([value, name]) => h("option", { value, selected: value === here.window }, name))) : null;
  parts.pane.replaceChildren(
    h("div", { class: "facts" }, h("div", { class: "grow" }, h("b", {}, named(one)), h("span", {}, facts), one.before && one.after < one.before ? meter(one.before, one.after) : null), window, undo),
    (one.warnings || []).length ? h("details", { class: "legend" }, h("summary", { class: "warn" }, several(one.warnings.length, "warning")), one.warnings.map((text) => h("p", {}, text))) : "",
    h("nav", { class: "tabs", role: "tablist", "aria-label": "Parts of the compaction" }, h("button", { onclick: () => go({ which: null, part: null }), "aria-label": "All compactions" }, "←"), tabs.map(([name, title]) => h("button", { role: "tab", "aria-selected": part === name ? "true" : "false", onclick: () => go({ part: name }) }, title))),
    h("div", { class: "scroll", id: "part" }, draw ? draw() : h("p", { class: "soft" }, one.kind === "outputs cleared" ? "Old outputs were cleared; there is no summary." : `Nothing is folded: ${one.reason || "no summary is in the file"}.`)));
  markOpen();
}

const MARKS = /\[((?:t\d{1,9}(?:-\d{1,9})?(?:, )?)+)\]/;

/** Text with its marks of turns as ways to them. */
const cited = (text) => text.split(MARKS).map((bit, odd) => (odd % 2 ? bit.split(", ").map((mark) => chip(Number(mark.slice(1).split("-")[0]))) : inline(bit)));

/** A line that leads to its turns: a click opens the first, each mark its own. */
function line(one) {
  const [first] = one.turns;
  const told = [one.action ? h("span", { class: "what" }, `${one.action} `) : null, inline(one.text), one.detail ? h("span", { class: "what" }, "  ", cited(one.detail)) : null, " ", MARKS.test(one.detail || "") ? null : one.turns.slice(0, 8).map((turn) => chip(turn)), one.turns.length > 8 ? h("span", { class: "soft small" }, ` and ${one.turns.length - 8} more`) : null];
  return first === undefined || first < 0 ? h("div", { class: "line" }, told) : h("div", { class: "line", role: "link", "data-turn": first, ...acts(() => openTurn(first)) }, told);
}
const sections = (parts, opens) => parts.map((part) => (opens
  ? h("details", { class: "section", open: true }, h("summary", {}, `${part.section} · ${number(part.lines.length)}`), part.lines.map(line))
  : h("div", { class: "section" }, h("h3", {}, part.section), part.lines.map(line))));
const share = (score) => (score === null || score === undefined ? "" : `answers ${Math.round(score * 100)} % of what is asked`);

const drawSummary = (one) => [h("p", { class: "small soft" }, `${number(one.summary_tokens)} tokens · ${share(one.score)} · every line opens the turns it came from`), sections(one.summary)];
const drawSides = (one) => [h("p", { class: "small soft" }, "Both texts are tested with the same questions about the facts of these turns. Ours may be as long as the other, or 2,048 tokens if that is more."), h("div", { class: "sides" },
  h("div", {}, h("h2", {}, `${one.by}'s own`), h("p", { class: "small soft" }, `${number(one.host_tokens)} tokens · ${share(one.host_score)}`), written(one.host)),
  h("div", {}, h("h2", {}, "kedgeline's"), h("p", { class: "small soft" }, `${number(one.summary_tokens)} tokens · ${share(one.score)}`), sections(one.summary)))];
const drawLosses = (one) => (one.losses.length ? [h("p", { class: "small soft" }, "Known facts that are not in the summary, the most important first. A click opens the turn."), sections(one.losses, true)] : h("p", { class: "soft" }, "The summary contains everything that is known about these turns."));

const LEVELS = { whole: "lv-whole", "outputs shortened": "lv-outputs", "words and calls": "lv-words", statements: "lv-statements", mention: "lv-mention" };

function drawLevels(one) {
  const bar = h("div", { class: "levels", role: "img", "aria-label": "Turns by how much of them is in the context" });
  const counts = {};
  for (const span of one.levels) {
    const turns = span.last - span.first + 1, known = (counts[span.level] = counts[span.level] || { turns: 0, tokens: 0 });
    known.turns += turns;
    known.tokens += span.tokens;
    const node = h("span", { class: LEVELS[span.level], title: `t${span.first} to t${span.last}: ${span.level}, ${number(span.tokens)} tokens before`, onclick: () => openTurn(span.first) });
    node.style.flex = `${turns} 1 0`;
    bar.append(node);
  }
  const spans = [...one.folded.map((span) => ["folded", span, one.reason]), ...one.kept_turns.map((span) => ["kept", span, span.reason])];
  return [bar,
    h("table", {}, h("tr", {}, h("th", {}, "Level of detail"), h("th", { class: "n" }, "Turns"), h("th", { class: "n" }, "Tokens before")), Object.entries(counts).map(([level, known]) => h("tr", {}, h("td", {}, h("span", { class: `tag ${LEVELS[level]}` }, " "), ` ${level}`), h("td", { class: "n" }, number(known.turns)), h("td", { class: "n" }, number(known.tokens))))),
    h("h2", {}, "Why"), h("table", {}, spans.map(([what, span, why]) => h("tr", {}, h("td", {}, what), h("td", {}, chip(span.first), span.last > span.first ? ["to", chip(span.last)] : null), h("td", { class: "n" }, number(span.tokens)), h("td", {}, why))), one.repeated.map((again) => h("tr", {}, h("td", {}, "said again"), h("td", {}, chip(again.turn)), h("td", { class: "n" }, number(again.tokens)), h("td", {}, again.what)))),
    one.masked.length ? [h("h2", {}, `${several(one.masked.length, "output")} masked or shortened`), one.masked.map((mask) => h("details", { class: "card" }, h("summary", {}, chip(mask.turn), ` ${mask.how}: ${number(mask.before)} → ${number(mask.after)} tokens · ${mask.reason}`), h("pre", {}, mask.text)))] : null];
}

function drawView(one) {
  const c = page.columns, most = Math.max(1, ...c.tokens.slice(0, 100000).reduce((m, x) => (x > m[0] ? [x] : m), [1]));
  const row = (turn, note) => { const place = turn - page.first, bar = h("i"); bar.style.width = `${Math.max(1, (100 * (c.tokens[place] || 0)) / most)}%`; return h("div", { class: "line cut", "data-turn": turn, ...acts(() => openTurn(turn)) }, chip(turn), ` ${c.title[place] || ""} `, note ? h("span", { class: "warn small" }, note) : null, h("div", { class: "meter" }, bar)); };
  const before = lazily(one.turn - page.first, (place) => row(page.first + place));
  const after = lazily(one.view.length, (place) => { const t = one.view[place]; return "same" in t ? row(t.same) : h("details", { class: "card", open: place === 0 }, h("summary", {}, place === 0 && t.notes.length ? "Leads the context: the summary" : `t${t.turn}, outputs masked`), turnArticle(t, true)); });
  return h("div", { class: "sides" }, h("div", {}, h("h2", {}, `Before: ${several(one.turn - page.first, "turn")}`), before), h("div", {}, h("h2", {}, `After: ${number(one.after)} tokens`), after));
}

function drawQuestions(one) {
  const both = one.host, sign = (ok) => h("td", { class: `n ${ok ? "good" : "bad"}` }, ok ? "✓ yes" : "✗ no");
  return [h("p", { class: "small soft" }, "Questions about the facts of the folded turns, answered from the text alone."), h("table", {}, h("tr", {}, h("th", {}, "Question"), h("th", {}, "Expected"), h("th", { class: "n" }, "kedgeline"), both ? h("th", { class: "n" }, one.by) : null, h("th", {}, "Turn")),
    [...one.questions].sort((a, b) => a.passed - b.passed).map((q) => h("tr", {}, h("td", { class: "ask" }, q.question, q.critical ? h("span", { class: "warn small" }, " critical") : null), h("td", { class: "mono" }, q.expected.join(" · ")), sign(q.passed), both ? sign(q.host) : null, h("td", {}, q.turn >= 0 ? chip(q.turn) : "–"))))];
}

/** Children that are made as they come into view, 60 at a time. */
function lazily(total, make) {
  const box = h("div"), end = h("div", { class: "sr" }, "more");
  let made = 0;
  const more = () => { const to = Math.min(total, made + 60); const nodes = []; for (; made < to; made++) nodes.push(make(made)); end.before(...nodes); if (made >= total) { watch.disconnect(); end.remove(); } };
  const watch = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) { more(); watch.unobserve(end); if (made < total) watch.observe(end); } }, { rootMargin: "600px" });
  box.append(end);
  more();
  if (made < total) watch.observe(end);
  return box;
}

// The reader: turns whole, one behind the other.

let reading = null;

async function drawReader() {
  if (here.turn === null) { parts.reader.hidden = true; reading = null; return; }
  const { turn, agent } = here;
  const lane = page.agents.find((one) => one.agent === agent);
  const end = agent ? (lane ? lane.turns : 1) : page.first + page.columns.title.length, begin = agent ? 0 : page.first;
  const step = (by) => { const to = Math.max(begin, Math.min(end - 1, here.turn + by)); if (to !== here.turn) go({ turn: to }, true); };
  const pinned = page.pins.some((one) => one.turn === turn);
  const pin = page.kept && !embedded && !agent ? h("button", { id: "pin", onclick: async () => { await post("pin", { id: here.id, what: turn, off: pinned }); await reload(); } }, pinned ? "Unpin" : "Pin") : null;
  const body = h("div", { class: "scroll", tabindex: 0, "aria-label": "Turns, whole" });
  parts.reader.replaceChildren(h("div", { class: "bar" }, h("b", { class: "mono" }, `t${turn}`), h("span", { class: "small soft cut grow" }, agent ? `sub-agent ${lane ? lane.title : agent}` : `of ${number(end - 1)}`), pin, h("button", { "aria-label": "Turn before (k)", onclick: () => step(-1) }, "↑"), h("button", { "aria-label": "Next turn (j)", onclick: () => step(1) }, "↓"), h("button", { id: "close", "aria-label": "Close (Esc)", onclick: () => go({ turn: null, agent: "" }) }, "✕")), body);
  parts.reader.hidden = false;
  const mine = (reading = { step });
  let first = turn, last = turn, busy = false;
  const sentinel = h("div", { class: "sr" }, "more");
  const earlier = h("button", { class: "more", onclick: async () => { const from = Math.max(begin, first - 5), tall = body.scrollHeight; const got = await source.turns(from, first - 1, agent); earlier.after(...got.map((t) => turnArticle(t))); first = from; body.scrollTop += body.scrollHeight - tall; if (first <= begin) earlier.remove(); } }, "earlier turns");
  const more = async () => {
    if (busy || last >= end) return;
    busy = true;
    const got = await source.turns(last, Math.min(end - 1, last + 4), agent);
    if (reading !== mine) return;
    sentinel.before(...got.map((t) => { const node = turnArticle(t); if (t.turn === turn) node.classList.add("at"); return node; }));
    last = Math.min(end, last + 5);
    busy = false;
    if (last >= end) sentinel.remove();
  };
  if (turn > begin) body.append(earlier);
  body.append(sentinel);
  await more();
  const at = body.querySelector("article.at");
  if (at) body.scrollTop = at.offsetTop - body.offsetTop; // scrollIntoView would move the page too
  new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) more(); }, { root: body, rootMargin: "400px" }).observe(sentinel);
  body.addEventListener("scroll", () => { if (body.scrollTop + body.clientHeight * 2 > body.scrollHeight) more(); }, { passive: true });
  if (!agent && parts.point) parts.point(turn);
}

function markOpen() {
  for (const node of document.querySelectorAll(".line.open")) node.classList.remove("open");
  if (here.turn !== null) for (const node of document.querySelectorAll(`.line[data-turn="${CSS.escape(here.agent ? `${here.agent}/${here.turn}` : String(here.turn))}"]`)) node.classList.add("open");
  if (parts.rows && parts.rows.node.isConnected) parts.rows.draw();
}

function turnArticle(t, bare) {
  const place = t.turn - page.first, c = page.columns, own = !t.agent && place >= 0 && place < c.title.length && !bare;
  return h("article", { class: "turn", "aria-label": `Turn ${t.turn}` },
    h("div", { class: "head" }, h("b", {}, `t${t.turn}`), t.at ? h("span", {}, new Date(t.at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })) : null, own ? h("span", {}, `${number(c.tokens[place])} tokens, context ${number(c.context[place])}`) : null),
    t.notes.map((note) => (bare && note.kind === "summary" ? written(note.text) : h("details", { class: "think" }, h("summary", {}, `${note.kind}, ${several(note.text.length, "character")}`), h("div", { class: "text small" }, folded(note.text, 60))))),
    t.user ? h("div", { class: "asked", "aria-label": "The user" }, written(t.user)) : null,
    t.media.map(medium),
    t.thinking ? h("details", { class: "think" }, h("summary", {}, `thought, ${several(t.thinking.split(/\s+/).length, "word")}`), h("div", { class: "text" }, folded(t.thinking, 80))) : null,
    t.said ? h("div", { class: "said", "aria-label": "The agent" }, written(t.said)) : null,
    t.calls.map(callCard));
}

const SIGNS = { done: ["✓", "good"], failed: ["✗", "bad"], refused: ["⊘", "warn"], interrupted: ["⊘", "warn"], waiting: ["…", "soft"] };

function callCard(call) {
  const [sign, look] = SIGNS[call.state] || SIGNS.waiting;
  const names = Object.keys(call.parameters);
  return h("div", { class: "call" },
    h("div", { class: "head" }, h("span", { class: look, role: "img", "aria-label": call.state }, sign), h("span", { class: "tool" }, call.tool), h("span", { class: "about grow" }, call.about), call.exit ? h("span", { class: "small bad" }, `exit ${call.exit}`) : null, call.agent ? h("button", { class: "more", onclick: () => openTurn(0, call.agent) }, "its turns") : null),
    h("div", { class: "in" },
      call.diffs.map((one) => diff(one, call.about)),
      names.length ? h("details", {}, h("summary", {}, names.slice(0, 6).join(", ")), names.map((name) => h("pre", {}, `${name}: `, folded(typeof call.parameters[name] === "string" ? call.parameters[name] : JSON.stringify(call.parameters[name], null, 1), 40)))) : null,
      call.reason ? h("div", { class: "asked" }, call.reason) : null,
      call.error && call.error !== call.output ? h("pre", { class: "bad" }, folded(call.error, 20)) : null,
      call.output ? h("pre", { class: call.state === "failed" ? "bad" : "" }, folded(call.output, call.state === "failed" ? 20 : 6)) : null,
      call.media.map(medium)));
}

function diff(one, about) {
  const looks = { "+": "add", "-": "del", "@": "gap" };
  const lines = one.lines.map((text) => () => h("div", { class: looks[text[0]] || "" }, text[0] === "@" ? "⋯" : text || " "));
  const box = h("div", { class: "diff", role: "group", "aria-label": `Changes of ${one.path}` });
  const more = h("button", { class: "more", onclick: () => { more.remove(); box.append(...lines.slice(40).map((make) => make())); } }, `all ${number(lines.length)} lines`);
  box.append(...lines.slice(0, 40).map((make) => make()));
  return [one.path === about ? null : h("div", { class: "small soft mono" }, one.path), box, lines.length > 40 ? more : null];
}

/** The beginning of a long text, and a way to all of it. */
function folded(text, lines) {
  const all = text.split("\n"), most = 160 * lines;
  if (all.length <= lines + 2 && text.length <= most) return text;
  const head = all.slice(0, lines).join("\n").slice(0, most), node = document.createTextNode(`${head}\n`);
  const more = h("button", { class: "more", onclick: () => { node.data = text; more.remove(); } }, all.length > lines ? `all ${number(all.length)} lines` : `all ${number(text.length)} characters`);
  return [node, more];
}

/** What somebody wrote: code blocks, code and bold words as such, all else as it stands. */
function written(text) {
  const box = h("div", { class: "text" }), shown = text.length > 30000 ? text.slice(0, 30000) : text;
  shown.split(/^```[^\n]*\n?/m).forEach((piece, number) => {
    if (number % 2) return box.append(h("pre", {}, folded(piece.replace(/\n$/, ""), 40)));
    box.append(...inline(piece));
  });
  if (shown !== text) { const more = h("button", { class: "more", onclick: () => { more.remove(); box.append(text.slice(30000)); } }, `all ${number(text.length)} characters`); box.append(more); }
  return box;
}

const inline = (text) => text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|^#{1,4} [^\n]*$)/m).filter(Boolean).map((bit) => {
  if (/^`[^`]+`$/.test(bit)) return h("code", {}, bit.slice(1, -1));
  if (/^\*\*[^*]+\*\*$/.test(bit)) return h("strong", {}, bit.slice(2, -2));
  if (/^#{1,4} [^\n]*$/.test(bit)) return h("strong", {}, bit.replace(/^#+ /, ""));
  return document.createTextNode(bit);
});

function medium(one) {
  if (one.kind === "image" && one.data) { const img = h("img", { class: "media", alt: "A picture in the session", loading: "lazy" }); img.src = `data:${one.mime};base64,${one.data.replace(/[^A-Za-z0-9+/=]/g, "")}`; return img; }
  return h("p", { class: "small soft" }, `${one.kind} ${one.mime || ""} ${one.about || ""}`);
}

// A session that grows.

async function reload() {
  const fresh = await source.session();
  if (!page) return;
  const rows = parts.rows && parts.rows.node.isConnected ? parts.rows : null;
  const ended = rows && rows.node.scrollTop + rows.node.clientHeight > rows.total * ROW - 2 * ROW, at = rows ? rows.node.scrollTop : 0;
  page = fresh;
  drawFacts();
  drawChart();
  tabNames().forEach(([, name], place) => { const tab = parts.tabs.children[place]; if (tab && tab.tagName === "BUTTON") tab.textContent = name; });
  if (rows && !rows.chosen && here.tab === "turns") { drawTurns(null, at); if (ended) parts.rows.node.scrollTop = page.columns.title.length * ROW; }
  else if (here.tab !== "compactions" || !here.which) await drawTab();
  if (here.turn !== null && document.getElementById("pin")) await drawReader();
}
async function follow() {
  let wait = 2000;
  try {
    if (page && !document.hidden && here.id) {
      const { seen } = await get("seen", { id: here.id });
      if (page && seen !== page.seen) { const begun = Date.now(); await reload(); wait = Math.max(wait, 5 * (Date.now() - begun)); }
      if (parts.live) parts.live.hidden = false;
    }
  } catch { if (parts.live) parts.live.hidden = true; wait = 5000; }
  setTimeout(follow, wait);
}

addEventListener("hashchange", show);
addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName || "");
  if (event.key === "Escape") { if (typing) event.target.blur(); else if (here.turn !== null) go({ turn: null, agent: "" }); }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { const field = document.getElementById("search"); if (field) { event.preventDefault(); field.focus(); } }
  if (reading && event.key === "j") reading.step(1);
  if (reading && event.key === "k") reading.step(-1);
});

(async () => {
  const data = document.getElementById("data");
  if (data) embedded = await unpacked(data.textContent);
  else { action = (await get("sessions")).action; setTimeout(follow, 2000); }
  await show();
})().catch((error) => app.replaceChildren(h("p", { class: "wait bad", role: "alert" }, error.message)));
