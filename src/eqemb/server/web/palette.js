// The palette: buttons that insert common structures and signs into the search box. It is a toolbar:
// one stop for Tab, arrow keys move between the buttons.
"use strict";

{
  const SLOT = "<mi>□</mi>";
  const script = (base, below, above) => above
    ? `<munderover><mo>${base}</mo><mrow>${below}</mrow><mrow>${above}</mrow></munderover>`
    : `<munder><mo>${base}</mo><mrow>${below}</mrow></munder>`;
  // name, LaTeX, and how it is shown as MathML
  const STRUCTURES = [
    ["Fraction", "\\frac{}{}", `<mfrac>${SLOT}${SLOT}</mfrac>`],
    ["Power", "^{}", `<msup>${SLOT}<mi>n</mi></msup>`],
    ["Index", "_{}", `<msub>${SLOT}<mi>i</mi></msub>`],
    ["Square root", "\\sqrt{}", `<msqrt>${SLOT}</msqrt>`],
    ["Sum", "\\sum_{}^{}", script("∑", "<mi>i</mi>", "<mi>n</mi>")],
    ["Product", "\\prod_{}^{}", script("∏", "<mi>i</mi>", "<mi>n</mi>")],
    ["Integral", "\\int_{}^{}", `<msubsup><mo>∫</mo><mi>a</mi><mi>b</mi></msubsup>`],
    ["Partial derivative", "\\frac{\\partial {}}{\\partial {}}",
      `<mfrac><mrow><mi>∂</mi>${SLOT}</mrow><mrow><mi>∂</mi>${SLOT}</mrow></mfrac>`],
    ["Gradient", "\\nabla ", "<mi>∇</mi>"],
    ["Limit", "\\lim_{ \\to }", script("lim", "<mi>x</mi><mo>→</mo><mi>a</mi>")],
    ["Maximum", "\\max_{}", script("max", "<mi>x</mi>")],
    ["Expected value", "\\mathbb{E}[{}]", `<mi>𝔼</mi><mo>[</mo>${SLOT}<mo>]</mo>`],
    ["Norm", "\\|{}\\|", `<mo>‖</mo>${SLOT}<mo>‖</mo>`],
    ["Hat", "\\hat{}", `<mover accent="true">${SLOT}<mo>ˆ</mo></mover>`],
    ["Bold letter", "\\mathbf{}", `<mi mathvariant="normal">𝐱</mi>`],
    ["Cases", "\\begin{cases} {} \\end{cases}",
      `<mo stretchy="true">{</mo><mtable><mtr><mtd>${SLOT}</mtd></mtr><mtr><mtd>${SLOT}</mtd>` +
      "</mtr></mtable>"],
    ["Logarithm", "\\log ", "<mi>log</mi>"], ["Exponential", "\\exp({})", "<mi>exp</mi>"],
    ["alpha", "\\alpha ", "<mi>α</mi>"], ["beta", "\\beta ", "<mi>β</mi>"],
    ["theta", "\\theta ", "<mi>θ</mi>"], ["lambda", "\\lambda ", "<mi>λ</mi>"],
    ["mu", "\\mu ", "<mi>μ</mi>"], ["sigma", "\\sigma ", "<mi>σ</mi>"],
    ["Element of", "\\in ", "<mo>∈</mo>"], ["At most", "\\leq ", "<mo>≤</mo>"],
    ["Proportional to", "\\propto ", "<mo>∝</mo>"], ["Infinity", "\\infty ", "<mi>∞</mi>"],
  ];
  const palette = document.getElementById("palette");

  /** Whether a position is between dollars, or the query has LaTeX without any. */
  function isInFormula(text, caret) {
    const isOpen = text.slice(0, caret).replaceAll("\\$", "").split("$").length % 2 === 0;
    return isOpen || (!text.includes("$") && /[\\^_]/.test(text));
  }

  /** Insert LaTeX at the caret, around the selection, between dollars where there are none. */
  function insert(latex) {
    const [start, end] = [box.selectionStart, box.selectionEnd];
    const selected = box.value.slice(start, end);
    const filled = latex.replace("{}", () => `{${selected}}`);
    const isInside = isInFormula(box.value, start);
    const before = box.value.slice(0, start);
    const opener = isInside ? "" : `${before && !/\s$/.test(before) ? " " : ""}$`;
    const at = selected ? filled.length : caretIn(latex);
    box.setRangeText(`${opener}${filled}${isInside ? "" : "$"}`, start, end);
    box.focus();
    box.selectionStart = box.selectionEnd = start + opener.length + at;
    box.dispatchEvent(new Event("input"));
  }

  if (palette && box) {
    const buttons = STRUCTURES.map(([name, latex, shown], at) => {
      const made = make("button", { type: "button", tabindex: at ? "-1" : "0", title: name },
        make("span", { class: "hidden" }, name),
        make("span", { "aria-hidden": "true" },
          math(`<math xmlns="${MATHML}" display="block"><mrow>${shown}</mrow></math>`)));
      made.addEventListener("click", () => insert(latex));
      return made;
    });
    const bar = make("div", { class: "signs", role: "toolbar",
      "aria-label": "Insert into the query" }, buttons);
    bar.addEventListener("keydown", (event) => {
      const now = buttons.indexOf(document.activeElement);
      const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: buttons.length - 1 }[
        event.key];
      if (next === undefined) return;
      event.preventDefault();
      const chosen = buttons[(next + buttons.length) % buttons.length];
      buttons[now].tabIndex = -1;
      chosen.tabIndex = 0;
      chosen.focus();
    });
    palette.append(bar);
    palette.hidden = false;
    palette.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !palette.open) return;
      palette.open = false;
      box.focus();
      event.preventDefault();
    });
  }
}
