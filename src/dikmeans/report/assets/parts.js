// Small parts that all views are made of. Texts from files enter the page as text only.

const MAIN = document.getElementById("main");

// What the current view does on the key "a", and before another view replaces it.
let playCurrent = () => {};
let leaveView = () => {};

// el("p", {class: "note"}, "text", child...): an element. Functions among the attributes are
// listeners; attributes and children that are null, undefined or false are left out.
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  const isThere = (value) => value !== null && value !== undefined && value !== false;
  for (const [name, value] of Object.entries(attributes)) {
    if (!isThere(value)) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter(isThere));
  return element;
}

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const note = (...children) => el("p", { class: "note" }, ...children);
const captioned = (canvas, text) => el("figure", {}, canvas, el("figcaption", {}, text));

// Canvases that must be drawn again when the theme changes have a function that does it.
function painted(canvas, paint) {
  canvas.paint = () => paint(canvas);
  canvas.paint();
  return canvas;
}
function repaintAll() {
  for (const canvas of document.querySelectorAll("canvas")) if (canvas.paint) canvas.paint();
}

const prototypeCanvas = (values, className, label) =>
  painted(newCanvas(className, label), (canvas) => paintCentroid(canvas, values));
const centroidCanvas = (k, className, label) => prototypeCanvas(CENTROIDS[k], className, label);
const pictureCanvas = (slot, className, label) =>
  painted(newCanvas(className, label), (canvas) => paintPicture(canvas, valuesOf(slot)));

// A bar of two parts: what does not fit, and what the bending costs. `full` is the cost of a whole
// bar.
function costBar(cost, bending, full, label) {
  const part = (value, name) => {
    const piece = el("i", { class: name });
    piece.style.width = `${Math.max(0, Math.min(100, (100 * value) / full))}%`;
    return piece;
  };
  return el("span", { class: "bar", role: "img", "aria-label": label },
    part(cost - bending, "misfit"), part(bending, "bending"));
}

// "prototype 2 of 3", counted within its cluster.
function prototypeName(prototype) {
  const siblings = PROTOTYPES_OF[DATA.prototypes.cluster[prototype]];
  return `prototype ${siblings.indexOf(prototype) + 1} of ${siblings.length}`;
}

function clusterName(k) {
  const matched = matchedClass(k);
  return matched === null ? `Cluster ${k}` : `Cluster ${k} · ${className(matched)}`;
}

// A slider from "original" to "aligned" with a button that plays it; `change` is called with t in
// [0, 1]. `view` tells the positions in different views apart.
function alignSlider(view, change) {
  const set = (t) => { state.alignment[view] = t; input.value = t; change(t); };
  const stop = () => cancelAnimationFrame(frame);
  const input = el("input", {
    type: "range", min: 0, max: 1, step: 0.01, value: state.alignment[view], id: "align",
    "aria-label": "From original to aligned",
    input: () => { stop(); set(Number(input.value)); },
  });
  let frame = 0;
  const play = () => {
    stop();
    const from = state.alignment[view], to = from < 0.5 ? 1 : 0, begin = performance.now();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return set(to);
    const tick = (now) => {
      const share = Math.min(1, (now - begin) / 900), eased = share * share * (3 - 2 * share);
      set(from + eased * (to - from));
      if (share < 1 && input.isConnected) frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
  };
  const button = { type: "button", id: "play", title: "Move to the other end (a)", click: play };
  const element = el("div", { class: "slide" },
    el("span", {}, "Original"), input, el("span", {}, "Aligned"), el("button", button, "Play"));
  return { element, play };
}

// Calls `work` for elements that come into view, and keeps the set of those in view.
function watchVisible(work) {
  const visible = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) { visible.add(entry.target); work(entry.target); }
      else visible.delete(entry.target);
    }
  }, { rootMargin: "120px" });
  return {
    observe: (element) => observer.observe(element),
    visible,
    stop: () => { observer.disconnect(); visible.clear(); },
  };
}

// Arrow keys move among the buttons of a group; only one of them is in the tab order.
function roving(group) {
  const buttons = () => [...group.querySelectorAll("button, a")];
  const first = buttons()[0];
  if (!first) return;
  for (const button of buttons()) button.tabIndex = -1;
  first.tabIndex = 0;
  if (group.roving) return; // it has been filled again and has its listeners already
  group.roving = true;
  group.addEventListener("focusin", (event) => {
    for (const button of group.querySelectorAll("[tabindex='0']")) button.tabIndex = -1;
    event.target.tabIndex = 0;
  });
  group.addEventListener("keydown", (event) => {
    const all = buttons(), last = all.length - 1, focused = all.indexOf(document.activeElement);
    if (focused < 0) return;
    const across = Math.max(1, all.filter((b) => b.offsetTop === all[0].offsetTop).length);
    const target = {
      ArrowLeft: focused - 1, ArrowRight: focused + 1,
      ArrowUp: focused - across, ArrowDown: focused + across, Home: 0, End: last,
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    all[Math.min(last, Math.max(0, target))].focus();
  });
}
