// Highlights the window of an equation in its article.
"use strict";

/** Highlight the window of an equation, or remove the highlight if it is chosen already. */
function chooseEquation(display) {
  const was = document.querySelector(".display.chosen");
  for (const word of document.querySelectorAll(".w.on")) word.classList.remove("on");
  if (was) was.classList.remove("chosen");
  const path = location.pathname;
  if (was === display) {
    history.replaceState(null, "", withPanels(path + part()));
    return;
  }
  const ordinal = display.dataset.ordinal;
  display.classList.add("chosen");
  for (const word of document.querySelectorAll(".w")) {
    if (word.dataset.near.split(" ").includes(ordinal)) word.classList.add("on");
  }
  history.replaceState(null, "", withPanels(`${path}?equation=${ordinal}#e${ordinal}`));
}

/** An address with the open panels of the present one. */
function withPanels(url) {
  const made = new URL(url, location);
  for (const value of openedInAddress()) made.searchParams.append("open", value);
  return made;
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
