// Completion of LaTeX commands: which ones start as the caret's word does, and what they insert.
"use strict";

// The arguments that a command is inserted with; the caret goes into the first braces. Commands
// that start alike are offered in this order, the most common ones first.
const LATEX_ARGUMENTS = {
  "{}{}": "frac binom tfrac dfrac overset underset",
  "{}": "sqrt mathbf mathbb mathcal mathrm text hat bar tilde vec operatorname overline boldsymbol " +
    "underline dot ddot widehat widetilde mathsf mathfrak underbrace overbrace boxed",
  "_{}^{}": "sum prod int",
  "_{}": "max min lim argmax argmin sup inf bigcup bigcap iint oint",
  "": "alpha beta gamma delta epsilon theta lambda mu sigma pi phi rho tau omega eta nabla partial " +
    "infty cdot times log exp sin cos tan left( right) left[ right] left\\{ right\\} left| right| " +
    "mid in notin leq geq neq approx sim propto to rightarrow leftarrow mapsto forall exists " +
    "subset subseteq cup cap setminus emptyset cdots ldots dots quad top ell hbar odot oplus " +
    "otimes circ pm mp ll gg equiv langle rangle lVert rVert lfloor rfloor lceil rceil det ker " +
    "dim gcd Pr tanh sinh cosh ln perp parallel zeta kappa chi psi nu xi iota upsilon varepsilon " +
    "varphi vartheta varrho varsigma Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega " +
    "implies iff land lor neg top bot star ast prime dagger wedge vee Rightarrow Leftarrow " +
    "Leftrightarrow leftrightarrow longrightarrow uparrow downarrow limits",
};
const LATEX_ENVIRONMENTS = "cases matrix pmatrix bmatrix vmatrix aligned".split(" ");

/** What each command inserts, by its name; LaTeX names are case-sensitive. */
const LATEX_COMMANDS = new Map([
  ...Object.entries(LATEX_ARGUMENTS).flatMap(([tail, names]) =>
    names.split(" ").map((name) => [name, `\\${name}${tail}`])),
  ...LATEX_ENVIRONMENTS.map((name) => [`begin{${name}}`, `\\begin{${name}} {} \\end{${name}}`]),
]);

/** The start of a LaTeX command before the caret, with its backslash; "" if there is none. */
function commandAt(text, caret) {
  return /\\[a-zA-Z]+$/.exec(text.slice(0, caret))?.[0] ?? "";
}

/** What the start of a command may become, at most `count`. */
function completions(start, count) {
  const typed = start.slice(1);
  return [...LATEX_COMMANDS].filter(([name, inserted]) =>
    name.startsWith(typed) && inserted !== start).slice(0, count).map(([, inserted]) => inserted);
}

/** Where the caret goes in inserted LaTeX: into the first empty braces, or behind it. */
function caretIn(latex) {
  const at = latex.indexOf("{}");
  return at < 0 ? latex.length : at + 1;
}
