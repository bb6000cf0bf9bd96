// Suggestions (words of the library, LaTeX commands) and a preview while a query is typed.
"use strict";

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

/** Replace the word or the command before the caret by a suggestion. */
function choose(chosen) {
  const caret = box.selectionStart;
  const command = commandAt(box.value, caret);
  const start = caret - (command || wordAt(box.value, caret)).length;
  const rest = box.value.slice(caret);
  const isGlued = command && !chosen.endsWith("}") && /^[a-zA-Z]/.test(rest);
  const inserted = command ? chosen + (isGlued ? " " : "") : `${chosen} `;
  box.value = box.value.slice(0, start) + inserted + (command ? rest : rest.trimStart());
  const at = command ? caretIn(inserted) : inserted.length;
  box.selectionStart = box.selectionEnd = start + at;
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
  const isLatest = turn === turns;
  const command = isLatest ? commandAt(text, box.selectionStart) : "";
  // the start of a command is not rendered: `\fr` is not f times r
  const isPartial = command && !LATEX_COMMANDS.has(command.slice(1));
  const said = isPartial ? cut(text, box.selectionStart, command.length) : text;
  if (command) offer(completions(command, 7), command); // needs no answer of the server
  const word = isLatest && !command ? wordAt(text, box.selectionStart) : "";
  const [known, read] = await Promise.all([
    word ? ask("/v1/suggest", { start: word, count: 7 }).catch(() => null) : null,
    said.trim() ? ask("/v1/render", { q: said }).catch(() => null) : null,
  ]);
  if (text === box.value) show(read);
  if (turn !== turns || command) return; // the user typed on, chose a word or left the box
  offer(known ? known.words.filter((each) => each !== word.toLowerCase()) : []);
}

function cut(text, end, length) {
  return text.slice(0, end - length) + text.slice(end);
}

/** Show suggestions, words or LaTeX. */
function offer(items, command = "") {
  list.classList.toggle("latex", command !== "");
  list.replaceChildren(...items.map((each, at) => make("li",
    { role: "option", id: `suggestion-${at}`, "aria-selected": "false" }, each)));
  list.hidden = !items.length;
  box.setAttribute("aria-expanded", String(items.length > 0));
  box.removeAttribute("aria-activedescendant");
}

/** Show a query with formulas as it is read: its words, and its formulas as mathematics. */
function show(read) {
  const formulas = read ? read.formulas : [];
  const words = formulas.length ? read.words.map((each) => each.word).join(" ") : "";
  preview.replaceChildren(...(words ? [make("span", {}, words)] : []),
    ...formulas.map((formula) => withSlots(math(formula.mathml))));
  preview.hidden = !formulas.length;
}

/** Mathematics with a box in the place of each argument that is not typed yet. */
function withSlots(made) {
  for (const empty of made.querySelectorAll("merror, mrow:empty, msqrt:empty")) {
    const slot = document.createElementNS(MATHML, "mi");
    slot.textContent = "□";
    slot.setAttribute("class", "slot");
    if (empty.localName === "msqrt") empty.append(slot);
    else empty.replaceWith(slot);
  }
  return made;
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
    else if (event.key === "Tab" && !event.shiftKey && !list.hidden
      && list.classList.contains("latex")) choose((chosen ?? list.firstChild).textContent);
    else return;
    event.preventDefault();
  });
  // What is below the suggestions moves when they close: not before the press of a button ends,
  // which would miss what it was meant for.
  let isPressed = false;
  addEventListener("pointerdown", () => { isPressed = true; }, true);
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, () => {
      isPressed = false;
      setTimeout(() => { if (document.activeElement !== box) close(); }); // after the click
    }, true);
  }
  box.addEventListener("blur", () => { if (!isPressed) close(); });
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
