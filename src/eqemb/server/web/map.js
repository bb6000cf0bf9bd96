// Draws the map: points as pixels, labels of regions, and the equation under the pointer. The data
// comes from /v1/map; `make`, `math`, `ask` and `address` are defined in page.js.
"use strict";

{
  const figure = document.getElementById("map");
  const canvas = figure.querySelector("canvas");
  const shown = figure.querySelector(".shown");
  const pen = canvas.getContext("2d", { alpha: false });
  const REACH = 14; // pointer distance at which a point is hit, in CSS pixels
  const NEAREST = 64; // highest zoom
  const CELLS = 128; // grid cells on each side, for finding points

  let map = null; // the answer of the API, with decoded arrays
  let lit = null; // scores of the matching points; null without a query
  let colours = null;
  let image = null, pixels = null;
  let width = 0, height = 0, ratio = 1; // canvas size in CSS pixels; device pixels per CSS pixel
  const view = { x: 0.5, y: 0.5, zoom: 1 }; // centre, in map coordinates from 0 to 1
  const home = { x: 0.5, y: 0.5, zoom: 1 }; // the view that shows everything
  const extent = { x: 1, y: 1 }; // size of the area with points
  let chosen = -1; // the point whose equation is shown, or -1
  let waiting = false; // whether a frame is requested

  // ---------------------------------------------------------- data

  function unpacked(text, Kind) {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return new Kind(bytes.buffer); // little-endian, like all machines with browsers
  }

  function read(data) {
    const made = {
      ...data,
      x: Float32Array.from(unpacked(data.x, Uint16Array), (at) => at / data.side),
      y: Float32Array.from(unpacked(data.y, Uint16Array), (at) => at / data.side),
      equation: unpacked(data.equation, Uint32Array),
      collection: unpacked(data.collection, Uint8Array),
    };
    // points sorted by cell: those of cell c are inCells[starts[c]] to inCells[starts[c + 1] - 1]
    const cells = Uint16Array.from(made.x, (x, at) => cell(x) + CELLS * cell(made.y[at]));
    made.starts = new Uint32Array(CELLS * CELLS + 1);
    for (const at of cells) made.starts[at + 1] += 1;
    for (let at = 0; at < CELLS * CELLS; at += 1) made.starts[at + 1] += made.starts[at];
    const free = made.starts.slice();
    made.inCells = new Uint32Array(data.points);
    for (let point = 0; point < data.points; point += 1) made.inCells[free[cells[point]]++] = point;
    return made;
  }

  function cell(at) {
    return Math.max(0, Math.min(CELLS - 1, Math.floor(at * CELLS)));
  }

  /** Compute the area with points, and its centre. */
  function measure() {
    for (const axis of ["x", "y"]) {
      const low = map[axis].reduce((one, other) => Math.min(one, other), 1);
      const high = map[axis].reduce((one, other) => Math.max(one, other), 0);
      extent[axis] = Math.max(high - low, 0.05);
      home[axis] = (low + high) / 2;
    }
    Object.assign(view, home);
  }

  /** The name of a point's equation; `map.articles` has the position of each first equation. */
  function nameOf(point) {
    const place = map.equation[point];
    let low = 0, high = map.articles.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (map.articles[middle][1] <= place) low = middle; else high = middle;
    }
    return `${map.articles[low][0]}#${place - map.articles[low][1] + 1}`;
  }

  // ---------------------------------------------------------- view

  // at zoom 1 all points are visible
  const scale = () => Math.min(width / extent.x, height / extent.y) * 0.92 * view.zoom;
  const onScreen = (x, y) => [(x - view.x) * scale() + width / 2,
    (y - view.y) * scale() + height / 2];
  const onMap = (left, top) => [(left - width / 2) / scale() + view.x,
    (top - height / 2) / scale() + view.y];

  function bounded() {
    view.zoom = Math.max(0.8, Math.min(NEAREST, view.zoom));
    view.x = Math.max(0, Math.min(1, view.x));
    view.y = Math.max(0, Math.min(1, view.y));
  }

  function pan(right, down) {
    view.x -= right / scale();
    view.y -= down / scale();
    moved();
  }

  /** Zoom, keeping the point at a screen position fixed. */
  function zoom(factor, left = width / 2, top = height / 2) {
    const [x, y] = onMap(left, top);
    view.zoom *= factor;
    bounded();
    const [newX, newY] = onMap(left, top);
    view.x += x - newX;
    view.y += y - newY;
    moved();
  }

  let settled = 0;

  function moved() {
    bounded();
    redraw();
    clearTimeout(settled);
    settled = setTimeout(() => { // the URL describes the view
      const place = [view.x, view.y, view.zoom].map((each) => each.toFixed(4)).join(",");
      history.replaceState(null, "", `${location.pathname}${location.search}#${place}`);
    }, 250);
  }

  function fromAddress() {
    const [x, y, zoomed] = location.hash.slice(1).split(",").map(Number);
    if (zoomed > 0 && x >= 0 && y >= 0) Object.assign(view, { x, y, zoom: zoomed });
    bounded();
  }

  // ---------------------------------------------------------- drawing

  function redraw() {
    if (waiting || !map) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  function colour(name) {
    return getComputedStyle(figure).getPropertyValue(name).trim();
  }

  function channels(text) {
    const value = parseInt(text.slice(1), 16);
    return [value >> 16, (value >> 8) & 255, value & 255];
  }

  function dress() {
    const groups = Array.from({ length: 8 }, (_, row) => colour(`--group-${row}`));
    colours = {
      paper: channels(colour("--paper")), halo: colour("--paper"), ink: colour("--ink"),
      soft: channels(colour("--soft")), accent: colour("--accent"),
      groups: groups.map(channels), names: groups,
      font: getComputedStyle(figure).fontFamily,
    };
    colours.lit = channels(colour("--lit"));
    redraw();
  }

  const groupOf = (row) => (row < 8 ? colours.groups[row] : colours.soft);

  /** The pixel offsets that a disc covers, with the coverage of each from 0 to 256. */
  function disc(radius) {
    const reach = Math.ceil(radius), steps = [], parts = [];
    for (let down = -reach; down <= reach; down += 1) {
      for (let right = -reach; right <= reach; right += 1) {
        const part = Math.floor(256 * Math.min(1, radius + 0.5 - Math.hypot(right, down)));
        if (part > 0) { steps.push(down * image.width + right); parts.push(part); }
      }
    }
    return { reach, steps: Int32Array.from(steps), parts: Uint16Array.from(parts) };
  }

  function stamp({ reach, steps, parts }, left, top, [red, green, blue], strength) {
    const wide = image.width, tall = image.height;
    if (left < reach || top < reach || left >= wide - reach || top >= tall - reach) return;
    const middle = top * wide + left;
    for (let each = 0; each < steps.length; each += 1) {
      const part = (parts[each] * strength) >> 8, rest = 256 - part;
      const at = middle + steps[each], old = pixels[at];
      pixels[at] = 0xff000000
        | (((((old >> 16) & 255) * rest + blue * part) >> 8) << 16)
        | (((((old >> 8) & 255) * rest + green * part) >> 8) << 8)
        | (((old & 255) * rest + red * part) >> 8);
    }
  }

  function drawPoints() {
    const [red, green, blue] = colours.paper;
    pixels.fill((0xff000000 | (blue << 16) | (green << 8) | red) >>> 0);
    // points grow when zoomed in, and with fewer points
    const few = Math.sqrt(20000 / Math.max(map.points, 200));
    const radius = ratio * Math.min(6, 1.1 * Math.min(2.5, few) * view.zoom ** 0.4);
    const shape = disc(radius), bright = disc(radius + 1.6 * ratio);
    const strength = lit ? Math.min(110, 44 * few) : 150; // dim the points that do not match
    const size = scale() * ratio;
    const left = image.width / 2 - view.x * size, top = image.height / 2 - view.y * size;
    const { x, y, collection, points } = map;
    for (let at = 0; at < points; at += 1) {
      stamp(shape, (x[at] * size + left) | 0, (y[at] * size + top) | 0,
        groupOf(collection[at]), strength);
    }
    if (lit) {
      const halo = disc(radius + 3 * ratio);
      for (const at of lit.keys()) {
        stamp(halo, (x[at] * size + left) | 0, (y[at] * size + top) | 0, colours.paper, 200);
      }
      for (const [at, score] of lit) {
        stamp(bright, (x[at] * size + left) | 0, (y[at] * size + top) | 0, colours.lit,
          90 + 160 * score);
      }
    }
    pen.putImageData(image, 0, 0);
  }

  /** The opacity of a level of labels: each level has its own zoom range. */
  function clarity(level) {
    const at = Math.log2(view.zoom); // 0 if everything is visible
    const middle = [0, 1.8, 3.6][level], last = map.labels[map.labels.length - 1].level === level;
    const far = at < middle ? middle - at : last ? 0 : at - middle;
    const reach = level === 0 && at < middle ? 9 : 1.5;
    return Math.max(0, Math.min(1, 2 * (1 - far / reach)));
  }

  let labelled = []; // the labels that are drawn, with their boxes

  function drawLabels() {
    labelled = [];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.textAlign = "center";
    pen.lineJoin = "round";
    const taken = [[width - 52, 0, width, 130]]; // the zoom buttons
    for (const label of map.labels) {
      const seen = clarity(label.level);
      if (seen < 0.05) continue;
      const [x, y] = onScreen(label.x / map.side, label.y / map.side);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const size = [17, 15, 14][label.level];
      pen.font = `italic ${size}px ${colours.font}`;
      let text = label.words.join(", ");
      if (pen.measureText(text).width > width / 3) [text] = label.words; // room for others
      const half = pen.measureText(text).width / 2 + 6;
      // moved inwards where the edge would clip it
      const left = Math.max(half, Math.min(width - half, x));
      const top = Math.max(size + 4, Math.min(height - size, y));
      const box = [left - half, top - size, left + half, top + size * 0.6];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2]
        && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      labelled.push({ text, box });
      pen.globalAlpha = seen;
      pen.lineWidth = 4;
      pen.strokeStyle = colours.halo;
      pen.strokeText(text, left, top);
      pen.fillStyle = colours.ink;
      pen.fillText(text, left, top);
    }
    pen.globalAlpha = 1;
    if (chosen >= 0) {
      const [left, top] = onScreen(map.x[chosen], map.y[chosen]);
      pen.strokeStyle = colours.accent;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(left, top, 8, 0, 2 * Math.PI);
      pen.stroke();
    }
    pen.setTransform(1, 0, 0, 1, 0, 0);
  }

  function draw() {
    drawPoints();
    drawLabels();
    figure.labelled = labelled; // what is drawn has no elements that tests could look at
    if (chosen >= 0) beside();
  }

  function fit() {
    const box = canvas.getBoundingClientRect();
    ratio = Math.min(2, devicePixelRatio || 1);
    [width, height] = [box.width, box.height];
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    image = pen.createImageData(canvas.width, canvas.height);
    pixels = new Uint32Array(image.data.buffer);
    redraw();
  }

  // ---------------------------------------------------------- the equation under the pointer

  /** The point nearest to a screen position, within reach; -1 if there is none. */
  function nearest(left, top, reach = REACH) {
    const [x, y] = onMap(left, top), far = reach / scale();
    let best = -1, least = far * far;
    const look = (point, bonus) => {
      const distance = ((map.x[point] - x) ** 2 + (map.y[point] - y) ** 2) * bonus;
      if (distance < least) { least = distance; best = point; }
    };
    if (lit) for (const point of lit.keys()) look(point, 0.25); // prefer matching points
    if (best >= 0) return best;
    for (let row = cell(y - far); row <= cell(y + far); row += 1) {
      const first = map.starts[row * CELLS + cell(x - far)];
      const last = map.starts[row * CELLS + cell(x + far) + 1];
      for (let at = first; at < last; at += 1) look(map.inCells[at], 1);
    }
    return best;
  }

  const known = new Map(); // requests for equations, by name
  let asking = 0;

  function show(point) {
    if (point === chosen) return;
    chosen = point;
    clearTimeout(asking);
    redraw();
    if (point < 0) { shown.hidden = true; return; }
    asking = setTimeout(async () => {
      const name = nameOf(point);
      if (!known.has(name)) known.set(name, ask(`/v1/equations/${encodeURIComponent(name)}`));
      let content;
      try {
        const found = await known.get(name);
        content = [math(found.mathml), make("p", { class: "source" },
          make("a", { href: address("/equation", { name }) }, found.title || found.article),
          found.section ? make("span", { class: "section" }, found.section) : null)];
      } catch (error) {
        known.delete(name);
        content = [make("p", { class: "note" }, error.message)];
      }
      if (chosen !== point) return; // the pointer moved on
      shown.replaceChildren(...content);
      shown.hidden = false;
      beside();
    }, 60);
  }

  /** Place the card next to its point, within the map. */
  function beside() {
    if (shown.hidden) return;
    const [left, top] = onScreen(map.x[chosen], map.y[chosen]);
    if (left < 0 || top < 0 || left > width || top > height) { show(-1); return; }
    const wide = shown.offsetWidth, tall = shown.offsetHeight;
    const below = top + 18 + tall < height;
    shown.style.left = `${Math.max(8, Math.min(width - wide - 8, left - wide / 2))}px`;
    shown.style.top = `${below ? top + 18 : Math.max(8, top - 18 - tall)}px`;
  }

  function open(point) {
    if (point >= 0) location.assign(address("/equation", { name: nameOf(point) }));
  }

  // ---------------------------------------------------------- pointers

  const fingers = new Map();
  let dragged = 0;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    dragged = fingers.size > 1 ? Infinity : 0;
  });

  canvas.addEventListener("pointermove", (event) => {
    if (!map) return;
    const now = place(event), before = fingers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") show(nearest(...now));
      return;
    }
    fingers.set(event.pointerId, now);
    const other = [...fingers].find(([id]) => id !== event.pointerId);
    if (other) { // two fingers: zoom around the other finger
      const spread = (one) => Math.hypot(one[0] - other[1][0], one[1] - other[1][1]) || 1;
      zoom(spread(now) / spread(before), other[1][0], other[1][1]);
      return;
    }
    dragged += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (dragged > 4) {
      canvas.classList.add("held");
      pan(now[0] - before[0], now[1] - before[1]);
    }
  });

  function lift(event) {
    const was = fingers.delete(event.pointerId);
    canvas.classList.remove("held");
    if (!was || !map || event.type === "pointercancel" || dragged > 4) return;
    const touched = event.pointerType !== "mouse";
    const point = nearest(...place(event), touched ? 2 * REACH : REACH);
    if (touched && point !== chosen) show(point); // touch has no hover: show first, then open
    else open(point);
  }

  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && !shown.contains(event.relatedTarget)) show(-1);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.002)), ...place(event));
  }, { passive: false });

  // ---------------------------------------------------------- keys and buttons

  const STEP = 60;
  const KEYS = {
    ArrowLeft: () => pan(STEP, 0), ArrowRight: () => pan(-STEP, 0),
    ArrowUp: () => pan(0, STEP), ArrowDown: () => pan(0, -STEP),
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5),
    0: () => { Object.assign(view, home); moved(); },
  };

  canvas.addEventListener("keydown", (event) => {
    if (!map || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") open(chosen);
    else if (event.key === "Escape") show(-1);
    else if (KEYS[event.key]) {
      KEYS[event.key]();
      show(nearest(width / 2, height / 2, Math.min(width, height) / 2));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  for (const button of figure.querySelectorAll("[data-key]")) {
    button.addEventListener("click", () => map && KEYS[button.dataset.key]());
  }

  // ---------------------------------------------------------- start

  function legend() {
    const list = figure.querySelector(".legend");
    const counts = new Uint32Array(256);
    for (const row of map.collection) counts[row] += 1;
    if (map.collections.length < 2) { list.remove(); return; }
    list.replaceChildren(...map.collections.slice(0, 9).map((name, row) => {
      const rest = row === 8 && map.collections.length > 9;
      const count = rest ? counts.slice(8).reduce((one, other) => one + other) : counts[row];
      return make("li", { "data-group": Math.min(row, 8) },
        `${rest ? "others" : name || "no collection"} ${count.toLocaleString("en")}`);
    }));
  }

  async function start() {
    const query = figure.dataset.query;
    const [data, answer] = await Promise.all([ask("/v1/map"),
      query ? ask("/v1/map/hits", { q: query }).catch(() => null) : null]);
    map = read(data);
    if (answer) lit = new Map(answer.points.map((point, at) => [point, answer.scores[at]]));
    canvas.setAttribute("aria-label", `Map of ${map.points.toLocaleString("en")} equations`
      + (lit ? `, ${lit.size} of them highlighted for ${query}` : ""));
    legend();
    measure();
    fromAddress();
    dress();
    fit();
    new ResizeObserver(fit).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", dress);
    addEventListener("hashchange", () => { fromAddress(); redraw(); });
    figure.dataset.ready = "yes";
  }

  start().catch((error) => shown.after(make("p", { class: "note", role: "alert" },
    error.message)));
}
