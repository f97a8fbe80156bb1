// A page is complete without this. What is added: it asks again while it is visible, keeps what was
// folded, sorted, filtered and typed, and has keys. It asks for nothing but the address of the page.
"use strict";

const live = document.getElementById("live");
const said = document.getElementById("said");
const filter = document.getElementById("filter");
const pause = document.getElementById("pause");
const help = document.getElementById("help");
const rewind = document.getElementById("rewind"); // only pages that are kept have one
const folded = new Map(); // by id of a details element: whether somebody has opened or shut it
const sorted = new Map(); // by id of a table: [column, descending]
let paused = false;
let asking = false;
let askAgain = false; // the address has changed while the broker was asked

// --- what stays when the page is asked again

function keepFolds(root) {
  for (const details of root.querySelectorAll("details[id]")) {
    if (folded.has(details.id)) details.open = folded.get(details.id);
  }
}

function valueOf(row, column) {
  const cell = row.cells[column];
  const text = cell.dataset.value ?? cell.textContent;
  const number = Number(text);
  return text.trim() !== "" && !Number.isNaN(number) ? number : text;
}

function compare(first, second) {
  if (typeof first === "number" && typeof second === "number") return first - second;
  if (typeof first !== typeof second) return typeof first === "number" ? 1 : -1;
  return first.localeCompare(second);
}

function sortTable(table) {
  const chosen = sorted.get(table.id);
  if (!chosen) return;
  const [column, descending] = chosen;
  const heads = table.tHead.rows[0].cells;
  if (column >= heads.length) return;
  for (const head of heads) head.removeAttribute("aria-sort");
  heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((first, second) => {
    const order = compare(valueOf(first, column), valueOf(second, column));
    return descending ? -order : order;
  });
  table.tBodies[0].append(...rows);
}

function makeSortable(root) {
  for (const table of root.querySelectorAll("table[id]")) {
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
    }
    sortTable(table);
  }
}

function sortBy(head) {
  const table = head.closest("table");
  const column = head.cellIndex;
  const [before, descending] = sorted.get(table.id) ?? [-1, false];
  const first = head.classList.contains("number"); // the largest is looked for most often
  sorted.set(table.id, [column, before === column ? !descending : first]);
  sortTable(table);
}

function applyFilter(root) {
  const words = filter.value.toLowerCase();
  const has = (row) => row.textContent.toLowerCase().includes(words);
  for (const row of root.querySelectorAll("tbody tr, .tree details, .tree .leaf, .lines li")) {
    row.hidden = words !== "" && !has(row);
    if (words !== "" && !row.hidden && row.nodeName === "DETAILS") row.open = true;
  }
}

function prepare(root) {
  keepFolds(root);
  makeSortable(root);
  applyFilter(root);
}

// --- asking again

// A row of a table stays what it is about, by its key: a library that knows only ids needs one.
function identify(root) {
  const times = new Map();
  for (const row of root.querySelectorAll("table[id] tr[data-key]")) {
    const id = `${row.closest("table").id}:${row.dataset.key}`;
    const number = (times.get(id) ?? 0) + 1;
    times.set(id, number);
    row.id = number === 1 ? id : `${id}:${number}`;
  }
}

// Focus, a click that has begun, and typed text stay with their element.
function morph(live, fresh) {
  identify(live);
  identify(fresh);
  Idiomorph.morph(live, fresh.childNodes, {
    morphStyle: "innerHTML",
    ignoreActiveValue: true,
    callbacks: {
      beforeAttributeUpdated: (name, node) => name !== "value" || node.value === node.defaultValue,
    },
  });
}

function isRead() {
  // Whoever marks something wants to copy it, not to lose it.
  const marked = document.getSelection();
  return !marked.isCollapsed && marked.getRangeAt(0).intersectsNode(live);
}

// --- what is said while the broker is silent, and after it

const SILENT_MS = 900; // an answer takes less than this, unless the loop is blocked
const NEWS_MS = 60000; // for so long is said that the broker was silent
let silentSince = 0; // when the first of the requests without an answer was sent; 0: none
let unreachable = false; // the last request failed without waiting
let farewell = ""; // why the broker stops, as it said in its last answer
let news = ""; // about the last silence
let newsUntil = 0;
let run = live?.dataset.run; // of the broker that rendered what is shown
let restarted = "";

function tell(words, stale = words !== "") {
  if (said.textContent !== words) said.textContent = words;
  document.body.classList.toggle("stale", stale);
}

function clock() {
  return new Date().toLocaleTimeString();
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(ms < 10000 ? 1 : 0)} s`;
}

// The page's own clock: a broker whose loop is blocked cannot say so itself.
function tellSilence() {
  const now = performance.now();
  const ms = silentSince ? now - silentSince : 0;
  if (document.hidden || paused) return;
  if (unreachable) {
    const why = farewell || "it has ended, or the network is down";
    tell(`the broker cannot be reached for ${seconds(ms)}: ${why}`);
  } else if (ms >= SILENT_MS) {
    tell(`the broker has not answered for ${seconds(ms)}: its loop is blocked, or it hangs`);
  } else if (!document.body.classList.contains("stale")) {
    tell(restarted || (now < newsUntil ? news : ""), false);
  }
}

function noteAnswer(fresh) {
  const ms = silentSince ? performance.now() - silentSince : 0;
  silentSince = 0;
  if (ms >= SILENT_MS || unreachable) {
    news = `the broker answers again since ${clock()}; it was silent for ${seconds(ms)}`;
    newsUntil = performance.now() + NEWS_MS;
  }
  unreachable = false;
  const now = fresh?.dataset.run;
  if (now && run && now !== run) restarted = `the broker was restarted before ${clock()}`;
  run = now || run;
}

// Why a request was refused: by the HTTP plane as JSON, by the UI as a page.
function reasonOf(text, page) {
  try {
    return JSON.parse(text).message;
  } catch {
    return page.querySelector("p")?.textContent ?? "";
  }
}

async function refresh(isChosen = false) {
  if (asking) {
    askAgain ||= isChosen;
    return;
  }
  if (!isChosen && (paused || document.hidden || isRead() || isPast())) {
    silentSince = 0; // a page that asks nothing knows of no silence
    unreachable = false;
    return;
  }
  asking = true;
  silentSince ||= performance.now();
  const address = location.href;
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(20000) });
    const text = await answer.text();
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = page.getElementById("live");
    noteAnswer(fresh);
    farewell = answer.status === 503 ? reasonOf(text, page) : "";
    if (!answer.ok || !fresh) {
      tell(`the broker answers ${answer.status}: ${reasonOf(text, page)}`);
    } else if (address === location.href && (isChosen || (!paused && !isRead()))) {
      prepare(fresh);
      morph(live, fresh);
      showPast(page);
      tell(restarted || (performance.now() < newsUntil ? news : ""), false);
    }
  } catch (error) {
    unreachable = error.name !== "TimeoutError";
    tellSilence();
  } finally {
    asking = false;
    if (askAgain) {
      askAgain = false;
      refresh(true);
    }
  }
}

// --- looking back: the slider chooses a moment, and the page stays where it is

const CHOICE_MS = 150; // a slider that is dragged or stepped asks when it rests
let choice = 0;

function isPast() {
  return new URLSearchParams(location.search).has("ago");
}

// The slider itself stays: it may have the focus, and its end moves as time goes by.
function showPast(page) {
  const fresh = page.getElementById("rewind");
  if (!rewind || !fresh) return;
  Idiomorph.morph(rewind, fresh.childNodes, { morphStyle: "innerHTML", ignoreActiveValue: true });
  document.querySelector(".tools a").href = page.querySelector(".tools a").getAttribute("href");
}

function lookBack(seconds) {
  const address = new URL(location.href);
  if (seconds > 0) address.searchParams.set("ago", seconds);
  else address.searchParams.delete("ago");
  // A page that began in the past has no updates: the one of now is loaded.
  if (seconds <= 0 && !Number(live.dataset.refreshMs)) location.assign(address);
  else {
    history.replaceState(null, "", address);
    refresh(true);
  }
}

// --- keys

const PAGES = {
  o: "overview", r: "requests", g: "groups", t: "topics", l: "clients", c: "connections", e: "tree",
  q: "queues", k: "tasks", j: "jobs", p: "plugins", s: "settings", d: "directories", u: "quotas",
  m: "log",
};
const KEY_MS = 1500; // between `g` and the letter of a page
let goUntil = 0;

function linkTo(name) {
  return [...document.querySelectorAll("header nav a")].find((link) =>
    new URL(link.href).pathname.endsWith(`/${name}`));
}

function showKeys() {
  const open = document.querySelector("dialog");
  if (open) return open.close();
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "keys");
  const keys = [["/", "filter the rows"], ["p", "pause, or go on"], ["?", "show or close this list"]];
  for (const [letter, name] of Object.entries(PAGES)) {
    const link = linkTo(name);
    if (link) keys.push([`g ${letter}`, link.textContent]);
  }
  const list = document.createElement("dl");
  for (const [key, words] of keys) {
    const term = document.createElement("dt");
    const name = document.createElement("kbd");
    name.textContent = key;
    term.append(name);
    const about = document.createElement("dd");
    about.textContent = words;
    list.append(term, about);
  }
  dialog.append(list);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

function isTyping(target) {
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.nodeName);
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const goes = performance.now() < goUntil;
  goUntil = 0;
  if (goes && Object.hasOwn(PAGES, event.key)) linkTo(PAGES[event.key])?.click();
  else if (event.key === "g") goUntil = performance.now() + KEY_MS;
  else if (event.key === "/" && !filter.hidden) filter.focus();
  else if (event.key === "p" && !pause.hidden) pause.click();
  else if (event.key === "?") showKeys();
  else return;
  event.preventDefault();
}

if (live) {
  live.addEventListener("click", (event) => {
    const head = event.target.closest("th");
    if (head) sortBy(head);
    // The click, not `toggle`: that one comes of what the page itself opens, too.
    const summary = event.target.closest("summary");
    if (!summary || event.target.closest("a")) return;
    const details = summary.parentElement;
    if (details.id) folded.set(details.id, !details.open);
  });

  const refreshMs = Number(live.dataset.refreshMs);
  filter.hidden = false;
  help.hidden = false;
  help.addEventListener("click", showKeys);
  document.addEventListener("keydown", onKey);
  filter.addEventListener("input", () => applyFilter(live));
  prepare(live);
  rewind?.addEventListener("input", (event) => {
    const seconds = Number(event.target.value);
    rewind.querySelector("strong").textContent = seconds ? `${seconds} s ago` : "now";
    clearTimeout(choice);
    choice = setTimeout(() => lookBack(seconds), CHOICE_MS);
  });
  if (refreshMs > 0) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.textContent = paused ? "go on" : "pause";
      if (paused) tell("", false);
      else refresh();
    });
    setInterval(() => refresh(), refreshMs);
    setInterval(tellSilence, 250);
    document.addEventListener("visibilitychange", () => {
      silentSince = asking && !document.hidden ? performance.now() : 0;
      refresh();
    });
  }
}
