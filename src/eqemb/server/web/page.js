// What all scripts share: making elements, and asking the API under /v1/. The scripts enhance pages
// that work without them by ordinary links. They are loaded in the order of `SCRIPTS` in layout.py
// and share one scope.
"use strict";

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

// a frame is focusable only if its content overflows, so that Tab skips the others
const frames = new ResizeObserver((changed) => {
  for (const { target } of changed) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
    showHidden(target);
  }
});

/** A shadow on each side on which a frame has more to show: phones have no scroll bars. */
function showHidden(frame) {
  const rest = frame.scrollWidth - frame.clientWidth - frame.scrollLeft;
  frame.classList.toggle("more-left", frame.scrollLeft > 1);
  frame.classList.toggle("more-right", rest > 1);
}

document.addEventListener("scroll", (event) => {
  if (event.target instanceof Element && event.target.matches(".sheet, .wide")) {
    showHidden(event.target);
  }
}, { capture: true, passive: true });
for (const each of document.querySelectorAll(".sheet, .wide")) frames.observe(each);

function address(path, values) {
  return `${path}?${new URLSearchParams(values)}`;
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
