"use strict";
// Elements of a page, and numbers as people read them; they know nothing of the data. The report and
// the studio share them.

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
// Words for those who do not see what stands beside them.
const spoken = (text) => el("span", { class: "visually-hidden" }, text);
const captioned = (canvas, text) => el("figure", {}, canvas, el("figcaption", {}, text));

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

function saveFile(text, name, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const asPercent = (share, digits = 1) => `${(100 * share).toFixed(digits)}\u202f%`;
const count = (n) => n.toLocaleString("en");
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
