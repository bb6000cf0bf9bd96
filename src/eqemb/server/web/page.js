// Enhances the pages: suggestions and a preview while a query is typed, panels that open on a card,
// copying, keyboard shortcuts, and highlighting the window of an equation. All data comes from the
// API under /v1/. Without JavaScript, the same content is reached by ordinary links.
"use strict";

// ------------------------------------------------------------ making elements

const MATHML = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(("math mrow mi mn mo mtext mspace msub msup msubsup munder mover " +
  "munderover mfrac msqrt mroot mtable mtr mtd mmultiscripts mprescripts merror mstyle mpadded " +
  "mphantom none").split(" "));
const ATTRIBUTES = new Set(("class display displaystyle mathvariant stretchy symmetric lspace " +
  "rspace minsize maxsize largeop movablelimits form accent accentunder linethickness width " +
  "mathsize").split(" "));

/** Create an element; strings become text nodes and are never parsed as HTML. */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Rebuild MathML from the API, keeping only known elements and attributes. */
function math(text) {
  const parsed = new DOMParser().parseFromString(text, "application/xml");
  const build = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE || !ELEMENTS.has(node.localName)) return "";
    const made = document.createElementNS(MATHML, node.localName);
    for (const { name, value } of node.attributes) {
      if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
    }
    made.append(...Array.from(node.childNodes, build));
    return made;
  };
  return build(parsed.documentElement);
}

function prose(pieces) {
  return pieces.map((piece) => {
    if (piece.kind === "math") return math(piece.mathml);
    if (piece.kind === "mark") return make("mark", {}, piece.text);
    if (piece.kind === "equation") return make("span", { class: "here" }, "equation");
    return piece.text;
  });
}

/** An equation in a frame that scrolls sideways, labelled by its number if it has one. */
function sheet({ mathml, number, ordinal }) {
  const name = number ? ` (${number})` : ordinal ? ` no. ${ordinal}` : "";
  const made = make("div", { class: "sheet", role: "group", "aria-label": `Equation${name}` },
    math(mathml));
  frames.observe(made);
  return made;
}

// a frame is focusable only if its content overflows, so that Tab skips the others
const frames = new ResizeObserver((changed) => {
  for (const { target } of changed) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const each of document.querySelectorAll(".sheet, .wide")) frames.observe(each);

function address(path, values) {
  return `${path}?${new URLSearchParams(values)}`;
}

function articleAddress(name) {
  return `/articles/${name.split("/").map(encodeURIComponent).join("/")}`;
}

/** The answer of the API; throws an Error with a message for the user if the request fails. */
async function ask(path, values) {
  let message;
  try {
    const response = await fetch(values ? address(path, values) : path);
    const answer = await response.json();
    if (response.ok) return answer;
    message = answer.error[0].toUpperCase() + answer.error.slice(1);
    if (!message.endsWith("?")) message += ".";
  } catch { // no connection, or the answer is not JSON from the API
    message = "The server does not respond.";
  }
  throw new Error(message);
}

/** Whether a click is meant for this page: with a modifier key, the browser handles it. */
function isPlain(event) {
  return !(event.ctrlKey || event.metaKey || event.shiftKey || event.button);
}

// ------------------------------------------------------------ panels

function meter(value) {
  return make("meter", { min: "0", max: "1", value: value.toFixed(3), "aria-hidden": "true" });
}

function copied(label, content) {
  const button = make("button", { type: "button", class: "copy" }, "Copy");
  return make("figure", { class: "copied" }, make("figcaption", {}, label, button),
    make("pre", { tabindex: "0" }, make("code", {}, content)));
}

function strengthMark(hit) {
  if (hit.strength == null) return null;
  const percent = (100 * hit.strength).toFixed(0);
  return make("span", { class: `strength ${hit.level}`,
    title: `About ${percent} of 100 such answers are good` }, `${hit.level} ${percent}%`);
}

function smallCard(hit) {
  const own = address("/equation", { name: hit.id });
  const read = articleAddress(hit.article);
  const number = hit.number ? make("span", { class: "number" }, `(${hit.number})`) : null;
  const links = [["similar", "Similar"], ["describe", "Describe"], ["source", "LaTeX"]].map(
    ([panel, name]) => make("a", { href: `${own}#${panel}`, "data-panel": panel }, name));
  return make("li", { class: "card", "data-id": hit.id },
    make("div", { class: "formula" }, sheet(hit), number),
    make("p", { class: "source" },
      make("a", { href: `${read}?equation=${hit.ordinal}#e${hit.ordinal}` },
        hit.title || hit.article),
      hit.section ? make("span", { class: "section" }, hit.section) : null,
      strengthMark(hit)),
    make("div", { class: "actions" }, links));
}

const PANELS = {
  async similar(card) {
    const answer = await ask("/v1/similar", { equation: name(card), size: 4 });
    if (!answer.hits.length) return [note("No similar equations.")];
    const query = card.dataset.id || `$${card.dataset.latex}$`;
    return [
      make("ol", { class: "hits" }, answer.hits.map(smallCard)),
      make("p", { class: "turn" }, make("a", { href: address("/", { q: query }) },
        "More similar equations →")),
    ];
  },

  async describe(card) {
    const answer = await ask("/v1/describe", { equation: name(card), count: 8 });
    if (!answer.words.length) {
      return [note("The library has no similar equation that could describe this one.")];
    }
    const most = answer.words[0].score || 1;
    const shown = new Set(); // a sentence is shown once
    const rows = answer.words.map((each) => {
      const key = JSON.stringify(each.sentence);
      const isNew = each.sentence.length && !shown.has(key);
      shown.add(key);
      const from = each.article && make("cite", {},
        make("a", { href: articleAddress(each.article) }, each.article));
      return make("li", {},
        make("a", { class: "word", href: address("/", { q: each.word }) }, each.word),
        meter(each.score / most),
        isNew ? make("p", {}, prose(each.sentence), from) : null);
    });
    const phrase = answer.phrase && make("p", { class: "phrase" },
      make("a", { class: "word", href: address("/", { q: answer.phrase.text }) },
        answer.phrase.text), " ",
      make("cite", {}, make("a", { href: articleAddress(answer.phrase.article) },
        answer.phrase.article)));
    return [phrase, ...answer.notes.map(note), make("ol", { class: "said" }, rows)];
  },

  async why(card) {
    const answer = await ask("/v1/why", { query: card.dataset.query, equation: name(card) });
    const sides = [answer.query, answer.other].map((side) => side.mathml
      ? sheet(side) : make("p", { class: "asked-words" }, side.query));
    const letters = Object.entries(answer.letters).map(([one, two]) => `${one} → ${two}`);
    const parts = Object.entries(answer.parts).map(([part, value]) =>
      `${part} ${value.toFixed(2)}`);
    const most = Math.max(...answer.words.map((each) => each.score), 1e-9);
    const words = answer.words.map((each) => make("li", {},
      make("a", { class: "word", href: address("/", { q: each.word }) }, each.word),
      meter(each.score / most)));
    return [
      make("div", { class: "sides" }, sides),
      letters.length ? note(`Letters: ${letters.join(", ")}`) : null,
      note(`Score ${answer.score.toFixed(2)}${parts.length ? ` = ${parts.join(" + ")}` : ""}`),
      words.length ? make("ol", { class: "said short" }, words) : note("No words in common."),
    ];
  },

  async source(card) {
    const found = await ask(`/v1/equations/${encodeURIComponent(card.dataset.id)}`);
    return [copied("LaTeX", found.latex), copied("BibTeX", found.reference)];
  },
};

function note(text) {
  return make("p", { class: "note" }, text);
}

function name(card) {
  return card.dataset.id || card.dataset.latex;
}

/** Open the panel of a link in its card, or close it if it is open. */
async function toggle(link) {
  const card = link.closest("[data-id], [data-latex]");
  const kind = link.dataset.panel;
  const bar = link.closest(".actions");
  const open = card.querySelector(":scope > .panel");
  for (const other of bar.querySelectorAll("[aria-expanded]")) {
    other.setAttribute("aria-expanded", "false");
  }
  if (open) {
    if (open.contains(document.activeElement)) link.focus(); // keep the focus when its element is removed
    open.remove();
    if (open.dataset.kind === kind) return;
  }
  const panel = make("div", { class: "panel", "data-kind": kind, role: "region",
    "aria-label": link.textContent, "aria-live": "polite" },
  make("p", { class: "waiting" }, "Loading…"));
  card.append(panel);
  link.setAttribute("aria-expanded", "true");
  try {
    const made = await PANELS[kind](card);
    panel.replaceChildren(...made.filter(Boolean));
  } catch (error) {
    panel.replaceChildren(note(error.message));
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-panel]");
  if (link && isPlain(event)) {
    event.preventDefault();
    toggle(link);
  }
});

// ------------------------------------------------------------ copying

for (const button of document.querySelectorAll(".copy")) button.hidden = false;

document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button) return;
  const code = button.closest(".copied").querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code); // no clipboard access: ready for Ctrl-C
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

// ------------------------------------------------------------ typing a query

const box = document.getElementById("q");
const list = document.getElementById("suggestions");
const preview = document.getElementById("preview");

/** The word before the caret, unless it is part of LaTeX. */
function wordAt(text, caret) {
  const before = text.slice(0, caret);
  if (before.split("$").length % 2 === 0 || /[\\^_{}=]/.test(text.replace(/\$[^$]*\$/g, ""))) {
    return "";
  }
  const found = /[\p{L}\p{N}][\p{L}\p{N}'’.-]*$/u.exec(before);
  return found && found[0].length > 1 ? found[0] : "";
}

function choose(word) {
  const caret = box.selectionStart;
  const start = caret - wordAt(box.value, caret).length;
  box.value = `${box.value.slice(0, start)}${word} ${box.value.slice(caret).trimStart()}`;
  box.selectionStart = box.selectionEnd = start + word.length + 1;
  box.focus();
  box.dispatchEvent(new Event("input")); // cancel the pending suggestions
  close();
}

function close() {
  turns += 1; // ignore answers that are still pending
  list.hidden = true;
  list.replaceChildren();
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

function select(step) {
  const items = [...list.children];
  const now = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  const next = now + step < -1 ? items.length - 1 : now + step;
  items.forEach((item, at) => item.setAttribute("aria-selected", String(at === next)));
  if (items[next]) box.setAttribute("aria-activedescendant", items[next].id);
  else box.removeAttribute("aria-activedescendant");
}

let turns = 0; // number of the latest request; older answers are ignored

async function typed(turn) {
  const text = box.value;
  const word = turn === turns ? wordAt(text, box.selectionStart) : "";
  const [known, read] = await Promise.all([
    word ? ask("/v1/suggest", { start: word, count: 7 }).catch(() => null) : null,
    text.trim() ? ask("/v1/render", { q: text }).catch(() => null) : null,
  ]);
  if (text === box.value) show(read);
  if (turn !== turns) return; // the user typed on, chose a word or left the box
  const words = known ? known.words.filter((each) => each !== word.toLowerCase()) : [];
  list.replaceChildren(...words.map((each, at) => make("li",
    { role: "option", id: `suggestion-${at}`, "aria-selected": "false" }, each)));
  list.hidden = !words.length;
  box.setAttribute("aria-expanded", String(words.length > 0));
}

function show(read) {
  const formulas = read ? read.formulas : [];
  preview.replaceChildren(...formulas.map((formula) => math(formula.mathml)),
    ...(read && read.open ? [note("Missing closing dollar sign.")] : []));
  preview.hidden = !preview.childNodes.length;
}

if (box && list) {
  box.setAttribute("role", "combobox");
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-controls", "suggestions");
  box.setAttribute("aria-expanded", "false");
  let waiting = 0;
  box.addEventListener("input", () => {
    const turn = ++turns;
    clearTimeout(waiting);
    waiting = setTimeout(() => typed(turn), 120);
  });
  box.addEventListener("keydown", (event) => {
    const chosen = list.querySelector('[aria-selected="true"]');
    if (event.key === "Escape" && !list.hidden) close();
    else if (event.key === "ArrowDown" && !list.hidden) select(1);
    else if (event.key === "ArrowUp" && !list.hidden) select(-1);
    else if (event.key === "Enter" && chosen) choose(chosen.textContent);
    else return;
    event.preventDefault();
  });
  box.addEventListener("blur", close);
  list.addEventListener("mousedown", (event) => {
    const item = event.target.closest("li");
    event.preventDefault(); // keep the focus in the box
    if (item) choose(item.textContent);
  });
  box.form.addEventListener("submit", () => {
    // leave empty fields out of the URL
    const empty = [...box.form.elements].filter((field) => field.name && !field.value);
    for (const field of empty) field.disabled = true;
    setTimeout(() => { for (const field of empty) field.disabled = false; }); // after submission
  });
}

// ------------------------------------------------------------ the window of an equation

/** Highlight the window of an equation, or remove the highlight if it is chosen already. */
function chooseEquation(display) {
  const was = document.querySelector(".display.chosen");
  for (const word of document.querySelectorAll(".w.on")) word.classList.remove("on");
  if (was) was.classList.remove("chosen");
  const path = location.pathname;
  if (was === display) {
    history.replaceState(null, "", path + part());
    return;
  }
  const ordinal = display.dataset.ordinal;
  display.classList.add("chosen");
  for (const word of document.querySelectorAll(".w")) {
    if (word.dataset.near.split(" ").includes(ordinal)) word.classList.add("on");
  }
  history.replaceState(null, "", `${path}?equation=${ordinal}#e${ordinal}`);
}

function part() {
  const now = document.querySelector(".parts a[aria-current]");
  return now ? new URL(now.href).search : "";
}

document.addEventListener("click", (event) => {
  const display = event.target.closest(".display");
  if (!display || !isPlain(event)) return;
  const link = event.target.closest("a, button");
  if (link && !link.classList.contains("choose")) return;
  if (event.target.closest(".panel")) return;
  event.preventDefault();
  chooseEquation(display);
});

// ------------------------------------------------------------ keys

const KEYS = [
  ["/", "Go to the search box"], ["j  k", "Next, previous equation"], ["s", "Similar equations"],
  ["d", "Describe"], ["w", "Why it matches"], ["l", "LaTeX"], ["Enter", "Read the article"],
  ["Esc", "Close"],
];
const opener = document.getElementById("keys");

function keysAreOn() {
  try { return localStorage.getItem("keys") !== "off"; } catch { return true; }
}

function help() {
  let dialog = document.querySelector("dialog");
  if (!dialog) {
    const check = make("input", { type: "checkbox", id: "keys-on" });
    check.checked = keysAreOn();
    check.addEventListener("change", () => {
      try { localStorage.setItem("keys", check.checked ? "on" : "off"); } catch { /* not saved */ }
    });
    const rows = KEYS.flatMap(([key, action]) => [
      make("dt", {}, key.split("  ").flatMap((each) => [make("kbd", {}, each), " "])),
      make("dd", {}, action)]);
    dialog = make("dialog", { "aria-labelledby": "keys-title" },
      make("h2", { id: "keys-title" }, "Keyboard shortcuts"), make("dl", {}, rows),
      make("p", {}, make("label", {}, check, " Enable single-key shortcuts")),
      make("form", { method: "dialog" }, make("button", { class: "plain" }, "Close")));
    document.body.append(dialog);
  }
  dialog.showModal();
}

if (opener) {
  opener.hidden = false;
  opener.addEventListener("click", help);
}

function cards() {
  return [...document.querySelectorAll("main > .hits > .card, .text > .display")];
}

function move(step) {
  const all = cards();
  if (!all.length) return;
  const now = all.findIndex((each) => each.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, now + step))];
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const typing = event.target.closest("input, select, textarea, dialog");
  const card = event.target.closest(".card, .display");
  if (event.key === "Escape") {
    // the innermost open panel: in this card, or in a card that contains it
    let around = card;
    while (around && !around.querySelector(":scope > .panel")) {
      around = around.parentElement.closest(".card, .display");
    }
    const open = around?.querySelector(":scope > .panel");
    if (open) toggle(around.querySelector(`[data-panel="${open.dataset.kind}"]`));
    return;
  }
  if (typing || !keysAreOn()) return;
  const panel = { s: "similar", d: "describe", w: "why", l: "source" }[event.key];
  if (event.key === "/" && box) box.select();
  else if (event.key === "?") help();
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (panel && card) {
    const link = card.querySelector(`[data-panel="${panel}"]`);
    if (link) toggle(link);
  } else if (event.key === "Enter" && event.target === card) {
    if (card.classList.contains("display")) chooseEquation(card);
    else card.querySelector(".source a").click();
  } else return;
  event.preventDefault();
});
