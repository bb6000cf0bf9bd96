// The saved list: names of equations in the browser's own storage. The page /saved gets them in its
// address, so that a list can be bookmarked, sent and downloaded.
"use strict";

const SAVED = "saved";
const MOST_SAVED = 200; // as many as the server lists

function savedNames() {
  try {
    const found = JSON.parse(localStorage.getItem(SAVED) || "[]");
    return Array.isArray(found) ? found.filter((name) => typeof name === "string") : [];
  } catch { return []; }
}

function keep(names) {
  try {
    localStorage.setItem(SAVED, JSON.stringify(names));
    return true;
  } catch { return false; } // no storage, or it is full
}

function savedAddress(names) {
  const values = new URLSearchParams(names.map((name) => ["id", name]));
  return names.length ? `/saved?${values}` : "/saved";
}

/** Show on every button and in the navigation what is saved. */
function showSaved() {
  const names = savedNames();
  for (const button of document.querySelectorAll("button.save")) {
    const isSaved = names.includes(button.dataset.save);
    button.hidden = false;
    button.textContent = isSaved ? "Saved" : "Save";
    button.setAttribute("aria-pressed", String(isSaved));
  }
  const link = document.querySelector('.top nav a[href^="/saved"]');
  if (link) {
    link.href = savedAddress(names);
    link.textContent = names.length ? `Saved (${names.length})` : "Saved";
  }
  showOwnList(names);
}

/** On the page of a list: a link to the list of this browser, if that is another one. */
function showOwnList(names) {
  const place = document.getElementById("own-list");
  if (!place) return;
  const listed = new URLSearchParams(location.search).getAll("id");
  const isOwn = listed.length === names.length && listed.every((name) => names.includes(name));
  const clear = document.getElementById("clear-saved");
  if (clear) clear.hidden = !names.length;
  place.hidden = isOwn;
  place.replaceChildren(names.length
    ? make("a", { href: savedAddress(names) }, `Your list has ${names.length} now`)
    : "These equations are not in your own list, which is empty.");
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.save");
  if (button) {
    const name = button.dataset.save;
    const names = savedNames();
    const isSaved = names.includes(name);
    if (!isSaved && names.length >= MOST_SAVED) {
      button.textContent = `The list is full (${MOST_SAVED})`;
      return;
    }
    const next = isSaved ? names.filter((other) => other !== name) : [...names, name];
    if (keep(next)) showSaved();
    else button.textContent = "This browser keeps nothing";
  } else if (event.target.closest("#clear-saved")) {
    keep([]);
    location.assign("/saved");
  }
});

addEventListener("storage", showSaved); // another tab changed the list
addEventListener("pageshow", showSaved); // the list may have changed since this page was left
if (location.pathname === "/saved" && !location.search && savedNames().length) {
  location.replace(savedAddress(savedNames()));
}
