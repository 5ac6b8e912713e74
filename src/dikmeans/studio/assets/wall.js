// A wall of pictures: only those in view are in the page, so that 20,000 stay smooth.

const selection = new Set(); // numbers of pictures
const TILE = { width: 108, height: 132 };
const LINE = 18;
const PAGE = 200;
// Rows beyond the edges of the window that are kept ready.
const SPARE = 3;
// Milliseconds that a tile has to stay before its picture is asked for: whoever scrolls past
// thousands does not wait for them.
const PATIENCE = 70;

function clearSelection() {
  selection.clear();
  showSelection();
}
function showSelection() {
  for (const tile of document.querySelectorAll(".tile[data-number]"))
    tile.setAttribute("aria-pressed", selection.has(Number(tile.dataset.number)));
  const bar = byId("selection");
  bar.hidden = selection.size === 0;
  document.body.classList.toggle("has-selection", selection.size > 0);
  if (bar.hidden) return;
  bar.replaceChildren(
    el("strong", {}, `${plural(selection.size, "picture")} selected`),
    ...selectionActions());
}

// Pages of a list on the server, asked for when they come into view.
class PagedList {
  constructor(address) {
    this.address = address;
    this.pages = new Map();
    this.total = null;
  }
  async load(page) {
    if (!this.pages.has(page)) {
      const ask = request(`${this.address}&offset=${page * PAGE}&limit=${PAGE}`);
      this.pages.set(page, ask.then((answer) => {
        this.total = answer.total;
        this.pages.set(page, answer.pictures);
        return answer.pictures;
      }));
      ask.catch(() => this.pages.delete(page));
    }
    return this.pages.get(page);
  }
  // The picture in a place, or null if its page is on the way.
  at(place) {
    const page = this.pages.get(Math.floor(place / PAGE));
    return Array.isArray(page) ? page[place % PAGE] ?? null : null;
  }
}
// A list that is there already.
class WholeList {
  constructor(pictures) {
    this.pictures = pictures;
    this.total = pictures.length;
  }
  async load() { return this.pictures; }
  at(place) { return this.pictures[place] ?? null; }
}

class Wall {
  constructor(list, { look = "original", caption = costCaption, lines = 1 } = {}) {
    this.height = TILE.height + (lines - 1) * LINE;
    this.list = list;
    this.look = look;
    this.caption = caption;
    this.focused = 0;
    this.anchor = 0;
    this.tiles = new Map(); // by place
    this.element = el("div", {
      class: "virtual-wall", id: "members", role: "group", "aria-label": "Pictures",
      keydown: (event) => this.key(event),
    });
    this.draw = this.draw.bind(this);
    addEventListener("scroll", this.draw, { passive: true });
    addEventListener("resize", this.draw);
  }
  async start() {
    await this.list.load(0);
    this.draw();
  }
  stop() {
    removeEventListener("scroll", this.draw);
    removeEventListener("resize", this.draw);
  }
  setLook(look) {
    this.look = look;
    this.refill();
  }
  refill() {
    for (const tile of this.tiles.values()) tile.remove();
    this.tiles.clear();
    this.draw();
  }
  get across() {
    return Math.max(1, Math.floor(this.element.clientWidth / TILE.width));
  }
  draw() {
    const { total } = this.list;
    if (total === null || !this.element.isConnected) return;
    const { across } = this, rows = Math.ceil(total / across);
    this.element.style.height = `${rows * this.height}px`;
    const top = -this.element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / this.height) - SPARE) * across;
    const last = Math.min(total,
      Math.max(0, Math.ceil((top + innerHeight) / this.height) + SPARE) * across);
    for (const [place, tile] of this.tiles) {
      if (place < first || place >= last) this.drop(place, tile);
    }
    for (let place = first; place < last; place++) this.place(place, across);
  }
  drop(place, tile) {
    tile.querySelector("img").removeAttribute("src"); // a picture on the way is not waited for
    tile.remove();
    this.tiles.delete(place);
  }
  place(place, across) {
    const known = this.list.at(place);
    if (!known) {
      const page = Math.floor(place / PAGE);
      if (!(this.list.pages?.has(page))) this.list.load(page).then(this.draw, (error) =>
        say(error.message, "error"));
      return;
    }
    let tile = this.tiles.get(place);
    if (!tile) {
      tile = this.tile(known, place);
      this.tiles.set(place, tile);
      this.element.append(tile);
    }
    tile.style.transform =
      `translate(${(place % across) * TILE.width}px, ${Math.floor(place / across) * this.height}px)`;
  }
  tile(known, place) {
    const { number, file } = known;
    const image = el("img", { class: "picture", alt: "", draggable: "false" });
    const address = imageAddress(number, 96, this.look);
    setTimeout(() => { if (image.isConnected) image.src = address; }, PATIENCE);
    const tile = el("button", {
      type: "button", class: `tile${known.decided ? " decided" : ""}`, "data-number": number,
      "data-place": place, title: file, draggable: "true",
      "aria-pressed": String(selection.has(number)),
      tabindex: place === this.focused ? "0" : "-1",
      click: (event) => this.click(event, place),
      dblclick: () => { location.hash = `picture/${number}`; },
      dragstart: (event) => this.drag(event, number),
      focus: () => { this.focused = place; },
    },
      image,
      el("small", {}, spoken(`${file}, in ${titleOf(known.cluster)}, `),
        known.decided && el("span", { class: "pinned", title: "decided by you" }, "●"),
        ...[this.caption(known)].flat()));
    tile.style.height = `${this.height - 4}px`;
    return tile;
  }
  click(event, place) {
    const number = this.list.at(place)?.number;
    if (event.shiftKey) this.selectRange(this.anchor, place);
    else {
      const wasOnly = selection.size === 1 && selection.has(number);
      if (!(event.ctrlKey || event.metaKey)) selection.clear();
      if (event.ctrlKey || event.metaKey ? selection.has(number) : wasOnly) selection.delete(number);
      else selection.add(number);
      this.anchor = place;
    }
    this.focus(place);
    showSelection();
  }
  // Everything between two places, also what has not been loaded yet.
  async selectRange(from, to) {
    const [first, last] = from < to ? [from, to] : [to, from];
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++)
      await this.list.load(page);
    for (let place = first; place <= last; place++) {
      const known = this.list.at(place);
      if (known) selection.add(known.number);
    }
    showSelection();
  }
  drag(event, number) {
    if (!selection.has(number)) { selection.clear(); selection.add(number); showSelection(); }
    event.dataTransfer.setData("application/x-dikmeans-pictures", "1");
    event.dataTransfer.effectAllowed = "move";
  }
  focus(place) {
    this.focused = place;
    for (const [other, tile] of this.tiles) tile.tabIndex = other === place ? 0 : -1;
    this.tiles.get(place)?.focus({ preventScroll: true });
  }
  key(event) {
    const { across } = this, last = this.list.total - 1;
    const target = {
      ArrowLeft: this.focused - 1, ArrowRight: this.focused + 1,
      ArrowUp: this.focused - across, ArrowDown: this.focused + across, Home: 0, End: last,
    }[event.key];
    if (target !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      this.go(Math.min(last, Math.max(0, target)), event.shiftKey);
    } else if (event.key === " ") {
      event.preventDefault();
      const { number } = this.list.at(this.focused);
      if (!selection.delete(number)) selection.add(number);
      this.anchor = this.focused;
      showSelection();
    } else if (event.key === "Enter") {
      event.preventDefault();
      location.hash = `picture/${this.list.at(this.focused).number}`;
    } else if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.selectRange(0, last);
    }
  }
  go(place, extend) {
    const start = this.focused, row = Math.floor(place / this.across) * this.height;
    const { top } = this.element.getBoundingClientRect();
    const header = document.querySelector("header.top").offsetHeight;
    if (top + row < header) scrollBy(0, top + row - header - 8);
    else if (top + row + this.height > innerHeight - 70)
      scrollBy(0, top + row + this.height - innerHeight + 78);
    this.draw();
    if (extend) this.selectRange(start, place);
    else this.anchor = place;
    this.focus(place);
  }
}

const costCaption = (known) => asPercent(known.cost);
