// Panels that open on a hit, and copying. Which panels are open is in the address, as values
// PANEL:EQUATION of `open`; the server writes pages with the same address and the same panels.
"use strict";

function note(text) {
  return make("p", { class: "note" }, text);
}

/** The HTML of a panel as an element. No script in it runs: it is parsed as an inert document. */
async function fetchPanel(kind, card) {
  const values = { kind, equation: card.dataset.latex || card.dataset.id };
  if (card.dataset.query) values.query = card.dataset.query;
  const { html } = await ask("/v1/panel", values);
  const found = new DOMParser().parseFromString(html, "text/html").querySelector(".panel");
  for (const frame of found.querySelectorAll(".sheet, .wide")) frames.observe(frame);
  for (const button of found.querySelectorAll(".copy")) button.hidden = false;
  return found;
}

function cardsWithPanels() {
  return [...document.querySelectorAll("[data-id]")];
}

function panelOf(card) {
  return card.querySelector(":scope > .panel");
}

function mark(card, kind) {
  for (const link of card.querySelectorAll("a[data-panel]")) {
    link.setAttribute("aria-expanded", String(link.dataset.panel === kind));
  }
}

function closePanel(card) {
  const open = panelOf(card);
  if (!open) return;
  const link = card.querySelector(`a[data-panel="${open.dataset.kind}"]`);
  if (open.contains(document.activeElement)) link?.focus(); // keep the focus when it is removed
  open.remove();
  mark(card, null);
}

async function openPanel(card, kind) {
  const link = card.querySelector(`a[data-panel="${kind}"]`);
  if (!link) return;
  const panel = make("div", { class: "panel", "data-kind": kind, role: "region",
    "aria-label": link.textContent, "aria-live": "polite" },
  make("p", { class: "waiting" }, "Loading…"));
  const old = panelOf(card);
  if (old?.contains(document.activeElement)) link.focus();
  old?.remove();
  card.append(panel);
  mark(card, kind);
  try {
    const found = await fetchPanel(kind, card);
    panel.replaceChildren(...found.childNodes);
    showSaved(); // on its buttons, too
  } catch (error) {
    panel.replaceChildren(note(error.message));
  }
}

/** The address of this page with these values of `open`, at a card. */
function addressWith(opened, fragment) {
  const values = new URLSearchParams(location.search);
  values.delete("open");
  for (const value of opened) values.append("open", value);
  const search = values.size ? `?${values}` : "";
  return location.pathname + search + (fragment ? `#${fragment}` : location.hash);
}

function openedInAddress() {
  return new URLSearchParams(location.search).getAll("open");
}

/** Open the panel of a link in its card, or close it if it is open; the address changes, too. */
function toggle(link) {
  const card = link.closest("[data-id]");
  const kind = link.dataset.panel;
  const name = card.dataset.id;
  const opened = openedInAddress().filter((value) => value.slice(value.indexOf(":") + 1) !== name);
  const isOpen = panelOf(card)?.dataset.kind === kind;
  if (!isOpen) opened.push(`${kind}:${name}`);
  history.pushState(null, "", addressWith(opened, card.id));
  if (isOpen) closePanel(card);
  else openPanel(card, kind);
}

/** Open and close panels until they are those of the address, after Back or Forward. */
function followAddress() {
  const wanted = new Map(openedInAddress().map((value) => {
    const at = value.indexOf(":");
    return [value.slice(at + 1), value.slice(0, at)];
  }));
  for (const card of cardsWithPanels()) {
    const kind = wanted.get(card.dataset.id);
    if (!kind) closePanel(card);
    else if (panelOf(card)?.dataset.kind !== kind) openPanel(card, kind);
  }
}

addEventListener("popstate", followAddress);

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
