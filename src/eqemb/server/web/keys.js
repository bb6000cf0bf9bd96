// Keyboard shortcuts, and the dialog that lists them.
"use strict";

const KEYS = [
  ["/", "Go to the search box"], ["j  k", "Next, previous equation"], ["s", "Similar equations"],
  ["d", "Describe"], ["w", "Why it matches"], ["l", "LaTeX"],
  ["b", "Save, or remove from the list"], ["Enter", "Read the article"],
  ["←  →", "Symbols of the formula that has the focus"],
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
  } else if (event.key === "b" && card) card.querySelector(".save")?.click();
  else if (event.key === "Enter" && event.target === card) {
    if (card.classList.contains("display")) chooseEquation(card);
    else card.querySelector(".source a").click();
  } else return;
  event.preventDefault();
});
