// Small parts that all views are made of. Texts from files enter the page as text only.

const MAIN = document.getElementById("main");

// el("p", {class: "note"}, "text", child...): an element. Attributes that are functions are listeners.
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Canvases that must be drawn anew when the theme changes remember how.
function painted(canvas, paint) {
  canvas.paint = () => paint(canvas);
  canvas.paint();
  return canvas;
}
function repaintAll() {
  for (const canvas of document.querySelectorAll("canvas")) if (canvas.paint) canvas.paint();
}

const centroidCanvas = (k, className, label) => painted(newCanvas(className, label), (canvas) => paintCentroid(canvas, CENTROIDS[k]));
const formCanvas = (form, className, label) => painted(newCanvas(className, label), (canvas) => paintCentroid(canvas, FORMS[form]));
const pictureCanvas = (slot, className, label) => painted(newCanvas(className, label), (canvas) => paintPicture(canvas, valuesOf(slot)));

// A bar of two parts: what is left over, and what the bending costs. `full` is the cost of a whole bar.
function costBar(cost, bending, full, label) {
  const bar = el("span", { class: "bar", role: "img", "aria-label": label || `cost ${percent(cost)}, of it bending ${percent(bending)}` });
  const part = (value, name) => {
    const piece = el("i", { class: name });
    piece.style.width = `${Math.max(0, Math.min(100, (100 * value) / full))}%`;
    return piece;
  };
  bar.append(part(cost - bending, "data"), part(bending, "bending"));
  return bar;
}

// "form 2 of 3", counted within its cluster.
function formName(form) {
  const all = FORMS_OF[DATA.forms.cluster[form]];
  return `form ${all.indexOf(form) + 1} of ${all.length}`;
}

function clusterName(k) {
  const matched = matchedClass(k);
  return matched === null ? `Cluster ${k}` : `Cluster ${k} · ${className(matched)}`;
}

// A slider from "as it is" to "aligned" with a button that plays it; `change` is called with t in [0, 1].
function alignSlider(which, change) {
  const input = el("input", {
    type: "range", min: 0, max: 1, step: 0.01, value: state.slides[which], id: "align", "aria-label": "From as it is to aligned",
    input: () => { stop(); set(Number(input.value)); },
  });
  let frame = 0;
  const set = (t) => { state.slides[which] = t; input.value = t; change(t); };
  const stop = () => cancelAnimationFrame(frame);
  const play = () => {
    stop();
    const from = state.slides[which], to = from < 0.5 ? 1 : 0, begin = performance.now();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return set(to);
    const tick = (now) => {
      const share = Math.min(1, (now - begin) / 900), eased = share * share * (3 - 2 * share);
      set(from + eased * (to - from));
      if (share < 1 && input.isConnected) frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
  };
  const element = el("div", { class: "slide" },
    el("span", {}, "As it is"), input, el("span", {}, "Aligned"),
    el("button", { type: "button", id: "play", title: "Slide from one to the other (a)", click: play }, "Play"));
  return { element, play };
}

// Runs `work` on the elements that come into view, and keeps track of which are.
function watchVisible(work) {
  const visible = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) { visible.add(entry.target); work(entry.target); }
      else visible.delete(entry.target);
    }
  }, { rootMargin: "120px" });
  return { observe: (element) => observer.observe(element), visible, stop: () => { observer.disconnect(); visible.clear(); } };
}

// Arrow keys among the buttons of a wall; only one of them is in the tab order.
function roving(wall) {
  const buttons = () => [...wall.querySelectorAll("button, a")];
  const first = buttons()[0];
  if (!first) return;
  for (const button of buttons()) button.tabIndex = -1;
  first.tabIndex = 0;
  if (wall.roving) return; // filled anew: it listens already
  wall.roving = true;
  wall.addEventListener("focusin", (event) => {
    for (const button of wall.querySelectorAll("[tabindex='0']")) button.tabIndex = -1;
    event.target.tabIndex = 0;
  });
  wall.addEventListener("keydown", (event) => {
    const all = buttons(), here = all.indexOf(document.activeElement);
    if (here < 0) return;
    const top = all[0].offsetTop, across = Math.max(1, all.filter((b) => b.offsetTop === top).length);
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across, Home: -here, End: all.length - 1 - here }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    all[Math.min(all.length - 1, Math.max(0, here + move))].focus();
  });
}
