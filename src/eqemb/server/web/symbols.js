// Shows what a symbol of a formula means when it is pointed at, focused or tapped.
//
// A formula belongs to a scope: a hit, a display or a page of one equation ([data-id] or .one), or
// a paragraph of an article (p[data-paragraph]). The first time that somebody looks at a formula, the
// meanings of its scope are loaded from /symbols, and its elements get the numbers of their symbols
// (data-symbol). A page of one equation has both from the start. Keyboard: Tab reaches a formula,
// arrow keys move from symbol to symbol, Escape closes. Formulas in running text are one stop.
"use strict";

{ // a scope of its own: all scripts of a page share one
  const TAP = 14; // pixels around a symbol that a finger may miss it by
  const WAIT = { show: 120, hide: 250 }; // milliseconds
  const scopes = new WeakMap(); // the meanings of a scope: a promise of entries by number
  let shownFor = null; // the element whose meaning is shown
  let timer = 0;

  function scopeOf(target) {
    const formula = target.closest?.("math");
    const others = "a:not(.whole), button, .where-list, #meaning, .sides, [data-latex]";
    if (!formula || formula.closest(others)) return null;
    const paragraph = formula.closest("p[data-paragraph]");
    if (paragraph) return paragraph;
    return formula.closest(".formula")?.closest(".one, [data-id]") || null;
  }

  /** The paragraphs of a page that are one paragraph of the text, interrupted by displays. */
  function siblings(paragraph) {
    const number = paragraph.dataset.paragraph;
    return [...paragraph.parentElement.querySelectorAll(`p[data-paragraph="${number}"]`)];
  }

  function formulas(scope) {
    if (scope.dataset.paragraph === undefined) {
      return [...scope.querySelectorAll(":scope > .formula math")];
    }
    return siblings(scope).flatMap((each) => [...each.querySelectorAll("math")]);
  }

  function symbolsIn(scope) {
    return formulas(scope).flatMap((each) => [...each.querySelectorAll("[data-symbol]")]);
  }

  function source(scope) {
    if (scope.dataset.paragraph === undefined) {
      return address("/symbols", { equation: scope.dataset.id });
    }
    const article = scope.closest("[data-article]").dataset.article;
    return address("/symbols", { article, paragraph: scope.dataset.paragraph });
  }

  async function fetchMeanings(scope) {
    const response = await fetch(source(scope));
    if ([429, 503, 504].includes(response.status)) throw new Error("busy"); // ask again later
    if (!response.ok) return new Map();
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const marked = [...page.querySelectorAll(".marked > math")];
    formulas(scope).forEach((formula, at) => copyNumbers(marked[at], formula));
    return entriesIn(page);
  }

  /** Both formulas have the same elements; only the numbers are missing in one. */
  function copyNumbers(from, to) {
    const [marked, plain] = [from, to].map((each) => each ? [...each.querySelectorAll("*")] : []);
    if (marked.length !== plain.length) return;
    marked.forEach((element, at) => {
      const number = element.getAttribute("data-symbol");
      if (number !== null) plain[at].setAttribute("data-symbol", number);
    });
  }

  function entriesIn(root) {
    const list = [...root.querySelectorAll("[data-entry]")];
    return new Map(list.map((entry) => [entry.dataset.entry, entry]));
  }

  /** The meanings of a scope, loaded once; a failed request may be repeated. */
  function meanings(scope) {
    const owner = scope.dataset.paragraph === undefined ? scope : siblings(scope)[0];
    if (!scopes.has(owner)) {
      const loading = owner.matches(".one") ? Promise.resolve(entriesIn(owner))
        : fetchMeanings(owner);
      scopes.set(owner, loading.catch(() => { scopes.delete(owner); return new Map(); }));
    }
    return scopes.get(owner);
  }

  // ------------------------------------------------------------ the box with a meaning

  const box = make("div", { id: "meaning", role: "tooltip", hidden: true });
  document.body.append(box);

  async function show(element) {
    const scope = scopeOf(element);
    const entry = scope && (await meanings(scope)).get(element.getAttribute("data-symbol"));
    if (!entry || !element.isConnected) return;
    hide();
    shownFor = element;
    const copy = document.importNode(entry, true);
    for (const link of copy.querySelectorAll("dt a")) link.replaceWith(...link.childNodes);
    for (const each of copy.querySelectorAll(".evidence")) each.hidden = false;
    box.replaceChildren(...[...copy.children].map((part) => make("div", { class: part.localName },
      [...part.childNodes])));
    box.hidden = false;
    const number = element.getAttribute("data-symbol");
    for (const other of symbolsIn(scope)) {
      other.classList.toggle("pointed", other.getAttribute("data-symbol") === number);
    }
    element.setAttribute("aria-describedby", "meaning");
    place(element);
  }

  /** Below the symbol, or above it if there is no room; always inside the window. */
  function place(element) {
    const own = element.getBoundingClientRect();
    const sheet = element.closest(".sheet")?.getBoundingClientRect();
    // a display stays readable: the box is below all of it, unless that is far away
    const bottom = sheet && sheet.bottom - own.bottom < 90 ? sheet.bottom - 6 : own.bottom;
    const at = { left: own.left, width: own.width, top: own.top, bottom };
    const width = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(at.left + at.width / 2 - box.offsetWidth / 2,
      width - box.offsetWidth - 8));
    const room = at.top > box.offsetHeight + 16;
    const fits = at.bottom + box.offsetHeight + 16 < innerHeight;
    // the links of a display are below it
    const above = room && (!fits || element.closest(".display"));
    const top = above ? at.top - box.offsetHeight - 8 : at.bottom + 8;
    box.style.left = `${left + scrollX}px`;
    box.style.top = `${top + scrollY}px`;
  }

  function hide() {
    clearTimeout(timer);
    if (!shownFor) return;
    shownFor.removeAttribute("aria-describedby");
    for (const each of document.querySelectorAll(".pointed")) each.classList.remove("pointed");
    shownFor = null;
    box.hidden = true;
  }

  function later(action, wait) {
    clearTimeout(timer);
    timer = setTimeout(action, wait);
  }

  // ------------------------------------------------------------ mouse

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const { target, clientX, clientY } = event;
    if (box.contains(target)) { clearTimeout(timer); return; }
    const scope = scopeOf(target);
    if (!scope) { later(hide, WAIT.hide); return; }
    const symbol = target.closest("[data-symbol]");
    if (symbol) { if (symbol !== shownFor) later(() => show(symbol), WAIT.show); return; }
    later(hide, WAIT.hide);
    if (scopes.has(scope)) return;
    meanings(scope).then(() => {
      const now = document.elementFromPoint(clientX, clientY)?.closest("[data-symbol]");
      if (now && target.matches(":hover")) show(now);
    });
  });

  // ------------------------------------------------------------ touch

  let touched = false;
  let pressed = false; // the last input was a press, not a key: focus needs no frame
  document.addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
    pressed = true;
    if (touched && !box.contains(event.target)) hide();
  }, true);

  /** The symbol nearest to a finger, if one is near. */
  function nearest(scope, x, y) {
    let best = null;
    let least = TAP;
    for (const each of symbolsIn(scope)) {
      const { left, right, top, bottom } = each.getBoundingClientRect();
      const away = Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
      if (away < least) [best, least] = [each, away];
    }
    return best;
  }

  document.addEventListener("click", async (event) => {
    const scope = touched && scopeOf(event.target);
    if (!scope || event.target.closest("a")) return; // a link leads to a page with a list
    event.stopPropagation(); // a tap on a formula asks for a symbol, not for its window
    await meanings(scope);
    const symbol = nearest(scope, event.clientX, event.clientY);
    if (symbol) show(symbol);
  }, true);

  // ------------------------------------------------------------ keyboard

  const inline = [...document.querySelectorAll("p[data-paragraph] math")];
  if (inline.length) inline[0].tabIndex = 0;

  function makeReachable(root) {
    for (const formula of root.querySelectorAll(".formula math")) {
      if (scopeOf(formula) && !formula.closest("a")) formula.tabIndex = 0;
    }
  }
  makeReachable(document);
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) if (node.querySelectorAll) makeReachable(node);
    }
  }).observe(document.getElementById("main"), { childList: true, subtree: true });

  /** The formula that has the focus: it, one of its symbols, or the link that it is. */
  function formulaOf(target) {
    return target.closest?.("math") || (target.matches?.("a.whole") && target.firstElementChild);
  }

  document.addEventListener("focusin", (event) => {
    const formula = formulaOf(event.target);
    const scope = formula && scopeOf(formula);
    if (!scope) return;
    event.target.classList.toggle("pressed", pressed);
    if (pressed) return;
    if (event.target.matches("[data-symbol]")) show(event.target);
    else meanings(scope);
  });

  document.addEventListener("focusout", (event) => {
    if (event.target.matches?.("[data-symbol]")) {
      for (const name of ["role", "aria-label", "tabindex"]) event.target.removeAttribute(name);
      hide();
    }
  });

  async function focusSymbol(element) {
    const entry = (await meanings(scopeOf(element))).get(element.getAttribute("data-symbol"));
    const said = entry?.querySelector("dd").cloneNode(true);
    said?.querySelector(".evidence")?.remove();
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", `${element.textContent}: ${said ? said.textContent : ""}`);
    element.tabIndex = -1;
    element.focus();
  }

  /** The next formula of running text that has a symbol which is defined. */
  async function step(formula, from, forward) {
    const scope = scopeOf(formula);
    await meanings(scope);
    const own = [...formula.querySelectorAll("[data-symbol]")];
    const at = from ? own.indexOf(from) : forward ? -1 : own.length;
    const next = own[at + (forward ? 1 : -1)];
    if (next || scope.dataset.paragraph === undefined) return next;
    const other = inline[inline.indexOf(formula) + (forward ? 1 : -1)];
    if (!other) return null;
    formula.removeAttribute("tabindex");
    other.tabIndex = 0;
    return step(other, null, forward);
  }

  document.addEventListener("keydown", async (event) => {
    pressed = false;
    if (event.key === "Escape" && shownFor) {
      const formula = shownFor.closest("math");
      const had = formula.contains(document.activeElement);
      hide();
      if (had) (formula.closest("a") || formula).focus();
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return; // Alt+Left is the browser's Back
    const formula = formulaOf(event.target);
    if (!formula || !scopeOf(formula) || !["ArrowRight", "ArrowLeft"].includes(event.key)) return;
    event.preventDefault();
    const from = event.target.closest("[data-symbol]");
    const next = await step(formula, from, event.key === "ArrowRight");
    if (next) focusSymbol(next);
  }, true);
}
