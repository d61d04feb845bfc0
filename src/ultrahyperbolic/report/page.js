"use strict";
// Text from elsewhere goes into the page by textContent, and into pictures as the text of a pen, alone.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const { nodes, near, edges, total } = data;
  const count = nodes.name.length;
  const narrow = window.matchMedia("(max-width: 640px)");
  const state = { chosen: -1, query: "", key: "rank", down: false, page: 0, rows: 25, theme: "light", colour: 0, by: "rank" };

  // --- text ---------------------------------------------------------------------------------------------------

  const visible = (text) => text.replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)));
  const nameOf = (k) => (k < count ? nodes.name[k] : near.others[k - count]);

  function shorten(text, most = 40) {
    if (text.length <= most) return text;
    const letters = Array.from(text.slice(0, 2 * most));
    return letters.slice(0, most).join("") + "…";
  }

  const shown = (text, most) => (text.trim() ? visible(shorten(text, most)) : `“${shorten(text, most)}”`);

  // Directions are turned off: on a picture they would turn what stands around them, too.
  const unturned = (text) => text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/g, "");

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function label(text, most) {
    const element = make("bdi");
    element.textContent = shown(text, most);
    if (element.textContent !== text) element.title = text;
    return element;
  }

  function nodeButton(k, most) {
    const button = make("button", { type: "button", class: "link" }, label(nameOf(k), most));
    button.addEventListener("click", () => choose(k));
    return button;
  }

  // Numbers of one kind have one number of decimals.
  const fixed = (values) => {
    const most = Math.max(0, ...values.map((v) => Math.abs(v ?? 0)));
    const digits = values.every((v) => v === null || Number.isInteger(v)) ? 0 : most < 10 ? 3 : most < 1000 ? 2 : 1;
    return (value) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  };
  const whole = (value) => value.toLocaleString("en");
  const delta = fixed(nodes.delta), strength = fixed(nodes.strength ?? [0]), central = fixed(nodes.centrality ?? [0]), weight = fixed(edges?.weights ?? [0]), distance = (value) => value.toFixed(3);

  // --- theme --------------------------------------------------------------------------------------------------

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  // Cividis, which reads the same with any kind of colour vision; the top of the ranking stands out from the paper.
  const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
  const scaleColours = () => (state.theme === "dark" ? [...CIVIDIS].reverse() : CIVIDIS);

  // --- colours ------------------------------------------------------------------------------------------------

  const swatch = (fill) => {
    const dot = make("i", { class: "dot" });
    dot.style.background = fill;
    return dot;
  };

  const colouring = {
    // What the nodes can be coloured by: kinds, or numbers on a scale.
    columns: [
      ...data.colours,
      { name: "rank", values: nodes.rank, low: 1, high: total, show: whole },
      ...(nodes.strength ? [{ name: "strength", values: nodes.strength, show: strength }] : []),
    ],
    colours: [],
    rest: data.palette.at(-1),
    fill(code, kinds) {
      return code < data.palette.length - 1 && kinds[code] !== "" ? data.palette[code] : this.rest;
    },
    text(column, k) {
      if (column.kinds) return column.kinds[column.codes[k]];
      return column.values[k] === null ? "" : (column.show ?? fixed(column.values))(column.values[k]);
    },
    range({ values, low, high }) {
      const known = values.filter((value) => value !== null);
      return [low ?? Math.min(...known), high ?? Math.max(...known)];
    },
    onScale(value, [low, high]) {
      if (value === null) return this.rest;
      const scale = scaleColours(), place = (high > low ? (value - low) / (high - low) : 0) * (scale.length - 1);
      const k = Math.min(Math.floor(place), scale.length - 2), share = place - k;
      const mix = [1, 3, 5].map((at) => {
        const [a, b] = [scale[k], scale[k + 1]].map((hex) => parseInt(hex.slice(at, at + 2), 16));
        return Math.round(a + share * (b - a)).toString(16).padStart(2, "0");
      });
      return `#${mix.join("")}`;
    },
    choose(which) {
      state.colour = which;
      const column = this.columns[which], range = column.kinds ? null : this.range(column);
      this.colours = column.kinds ? column.codes.map((code) => this.fill(code, column.kinds))
        : column.values.map((value) => this.onScale(value, range));
      const head = COLUMNS.at(-1);
      head.values = nodes.name.map((_, k) => this.text(column, k));
      if (head.button) head.button.textContent = shown(column.name, 16);
      // Communities have no names of their own, and rank and strength are in the table anyway.
      $("table").classList.toggle("plain", which === 0 || which >= data.colours.length);
      legend(column, range);
      if ($("rows").firstChild) showTable(false);
    },
    // The community of a node, which ties within it share; none where the map is not coloured by kinds.
    kind(k) {
      const { codes } = this.columns[state.colour];
      return codes && this.colours[k] !== this.rest ? codes[k] : -1;
    },
  };

  function legend(column, range) {
    const parts = [];
    if (column.kinds) {
      const sizes = column.kinds.map(() => 0), first = column.kinds.map(() => -1);
      column.codes.forEach((code, k) => { sizes[code] += 1; if (first[code] < 0 || nodes.strength?.[k] > nodes.strength?.[first[code]]) first[code] = k; });
      const coloured = column.kinds.map((_, code) => code).filter((code) => colouring.fill(code, column.kinds) !== colouring.rest);
      for (const code of coloured) {
        const called = state.colour === 0 ? label(nodes.name[first[code]], 18) : label(column.kinds[code], 18);
        parts.push(make("span", {}, swatch(data.palette[code]), called, ` (${whole(sizes[code])})`));
      }
      const others = column.kinds.length - coloured.length;
      const left = sizes.reduce((a, b) => a + b, 0) - coloured.reduce((sum, code) => sum + sizes[code], 0);
      if (others) parts.push(make("span", {}, swatch(colouring.rest), `${state.colour === 0 ? `${whole(others)} smaller communities` : "other or none"} (${whole(left)})`));
      if (state.colour === 0) parts.unshift(make("span", {}, `Communities by their ${nodes.strength ? "strongest" : "most central"} node (size):`));
    } else {
      const scale = make("i", { class: "scale" }), show = column.show ?? fixed(column.values);
      scale.style.background = `linear-gradient(to right, ${scaleColours().join(",")})`;
      parts.push(make("span", {}, label(column.name, 30), ` ${show(range[0])} `, scale, ` ${show(range[1])}`));
    }
    if (nodes.strength) parts.push(make("span", {}, "Larger nodes have more strength (the sum of their ties’ weights)."));
    $("map-legend").replaceChildren(...parts);
  }

  colouring.columns.forEach((column, k) => {
    $("colour").append(make("option", { value: String(k) }, shown(column.name, 40)));
  });

  // --- names on the pictures ----------------------------------------------------------------------------------

  const pen = make("canvas").getContext("2d", { willReadFrequently: true });
  const TOP = 10;

  // The top of the ranking, and then the largest.
  const byImportance = [...Array(count).keys()];
  if (nodes.strength) byImportance.splice(TOP, count, ...byImportance.slice(TOP).sort((a, b) => nodes.strength[b] - nodes.strength[a] || a - b));

  // The nodes to name, the most important first: the selected one, its neighbours, the top, and as many more as fit.
  function toName(most, seen) {
    const own = state.chosen < 0 ? [] : [state.chosen, ...beside(state.chosen).slice(0, narrow.matches ? 5 : 9)];
    const order = [...new Set([...own, ...byImportance])].filter(seen);
    const must = new Set(own.length ? own : order.slice(0, TOP));
    return order.slice(0, most + own.length).map((k) => ({ k, must: must.has(k) }));
  }

  function measured({ k, must }) {
    const size = (must ? 13 : 11) - (narrow.matches ? 1 : 0), weight = must ? 600 : 400;
    const text = unturned(shown(nodes.name[k], narrow.matches ? 18 : 24));
    pen.font = `${weight} ${size}px ${pens.family()}`;
    return { k, must, text, size, weight, width: pen.measureText(text).width + 4, height: size * 1.3 };
  }

  // --- pictures -----------------------------------------------------------------------------------------------

  const sizeOf = (view) => { const { width, height } = $(view.id).getBoundingClientRect(); return { width, height }; };
  const line = (points, close = "") => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("") + close;
  const inside = ([x, y], frame) => x >= frame.left && x <= frame.right && y >= frame.top && y <= frame.bottom;

  // Draws at once. What is in a part of the page that is closed has no size, and is drawn when that is opened.
  function draw(view, names = true) {
    const { width, height } = sizeOf(view);
    if (!width) return;
    view.lay?.(width, height);
    if (names) view.rename?.(width, height);
    view.paint(pens.onCanvas(view.canvas, width, height, colour("paper")), width, height);
  }

  function save(view, format) {
    const { width, height } = sizeOf(view);
    const keep = (blob) => {
      const link = make("a", { href: URL.createObjectURL(blob), download: `${view.id.replace("-plot", "")}.${format}` });
      link.click();
      window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    };
    if (format === "svg") {
      const pen = pens.asSvg(width, height, colour("paper"));
      view.paint(pen, width, height);
      keep(new Blob([new XMLSerializer().serializeToString(pen.svg)], { type: "image/svg+xml" }));
    } else {
      const canvas = make("canvas");
      view.paint(pens.onCanvas(canvas, width, height, colour("paper"), 2), width, height);
      canvas.toBlob(keep);
    }
  }

  // A picture answers to the pointer: dragged, pinched, hovered and clicked.
  function attach(view) {
    const place = $(view.id), held = new Map();
    let moved = 0, frame = 0;
    view.canvas = make("canvas");
    place.replaceChildren(view.canvas);
    place.picture = view;
    const at = (event) => { const box = place.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const soon = () => { window.cancelAnimationFrame(frame); frame = window.requestAnimationFrame(() => draw(view, false)); };
    const middle = (points) => [0, 1].map((k) => (points[0][k] + points[1][k]) / 2);
    const apart = ([a, b]) => Math.hypot(a[0] - b[0], a[1] - b[1]);
    place.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      held.set(event.pointerId, at(event));
      moved = held.size > 1 ? Infinity : 0;
    });
    place.addEventListener("pointermove", (event) => {
      const now = at(event), before = held.get(event.pointerId);
      if (!before) {
        if (event.pointerType !== "touch") view.hover?.(now);
        return;
      }
      const ends = [...held.values()];
      held.set(event.pointerId, now);
      if (held.size === 2 && view.scale) {
        const ended = [...held.values()];
        view.scale(apart(ends) / Math.max(apart(ended), 1), middle(ended));
        soon();
        return;
      }
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (moved <= 3 || !view.drag) return;
      tip.hidden = true;
      if (!place.hasPointerCapture(event.pointerId)) place.setPointerCapture(event.pointerId);
      view.drag(now[0] - before[0], now[1] - before[1]);
      soon();
    });
    const release = (event) => {
      if (!held.delete(event.pointerId)) return;
      window.cancelAnimationFrame(frame);
      if (moved > 3) draw(view);
      else if (event.type === "pointerup" && view.hit) {
        const k = view.hit(at(event));
        if (k >= 0) choose(k);
      }
    };
    place.addEventListener("pointerup", release);
    place.addEventListener("pointercancel", release);
    place.addEventListener("pointerleave", () => { tip.hidden = true; });
    if (view.reset) place.addEventListener("dblclick", () => view.reset());
    // A trackpad pinches by the wheel with Ctrl; without, the wheel scrolls the page.
    if (view.scale) place.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      view.scale(Math.exp(event.deltaY / 200), at(event));
      draw(view);
    }, { passive: false });
  }

  // Where the names of the map stand, from where the nodes are and how large these are: [k] → [x, y], and r.
  function settleNames(at, radii, frame, most) {
    const seen = (k) => inside(at[k], frame);
    const names = toName(most, seen).map(measured).map((name) => ({ ...name, x: at[name.k][0], y: at[name.k][1], r: radii[name.k] }));
    const dots = at.map(([x, y], k) => ({ k, x, y, r: radii[k] })).filter(({ k }) => seen(k));
    return placeNames(names, dots, frame).map((name) => ({ ...name, dx: name.x - at[name.k][0], dy: name.y - at[name.k][1] }));
  }

  function writeNames(pen, placed, at, frame) {
    for (const { k, dx, dy, led, text, size, weight, must, width, height } of placed) {
      const x = at[k][0] + dx, y = at[k][1] + dy;
      if (!inside([x - width / 2, y], frame) || !inside([x + width / 2, y], frame)) continue;
      if (led) {
        const edge = [Math.max(x - width / 2, Math.min(at[k][0], x + width / 2)), Math.max(y - height / 2, Math.min(at[k][1], y + height / 2))];
        pen.path(line([at[k], edge]), { stroke: colour("quiet") });
      }
      pen.text(x, y, text, { size, weight, color: colour(k === state.chosen ? "mark" : must || state.chosen < 0 ? "ink" : "quiet") });
    }
  }

  // --- the map ------------------------------------------------------------------------------------------------

  const WIDTHS = [0.5, 0.9, 1.5, 2.4];
  const STRENGTHS = [0.3, 0.38, 0.48, 0.6];
  const incident = nodes.name.map(() => []);
  if (edges) edges.band.forEach((_, e) => { incident[edges.ends[2 * e]].push(e); incident[edges.ends[2 * e + 1]].push(e); });
  const otherEnd = (e, k) => (edges.ends[2 * e] === k ? edges.ends[2 * e + 1] : edges.ends[2 * e]);
  // The ties of a node, the strongest first: edges come weakest first.
  const tiesOf = (k) => (edges ? [...incident[k]].sort((a, b) => b - a) : []);
  // Its neighbours; the nearest nodes where the ties are not known.
  const beside = (k) => (edges ? tiesOf(k).map((e) => otherEnd(e, k)) : nearestOf(k).filter((j) => j < count));
  // Whether a tie leads from an end to the other, both ways where the network has no directions.
  const leads = (e, from) => !edges.ways || (edges.ways[e] & (edges.ends[2 * e] === from ? 1 : 2)) > 0;
  const pointsUp = (e) => {
    if (!edges.ways || edges.ways[e] === 3) return false;
    const [a, b] = [edges.ends[2 * e], edges.ends[2 * e + 1]];
    return (edges.ways[e] === 1 ? nodes.height[b] - nodes.height[a] : nodes.height[a] - nodes.height[b]) > 0;
  };
  const MARGIN = 6;
  const span = (values, pixels) => {
    const low = Math.min(...values), high = Math.max(...values), room = ((high - low) * 26) / Math.max(pixels - 52, 60) || 1;
    return [low - room, high + room];
  };

  const mapView = {
    id: "map-plot", by: "map", placed: [],
    prepare() {
      const most = Math.max(...(nodes.strength ?? [1]), 1e-300), crowd = count > 1500 ? 0.42 : count > 600 ? 0.6 : count > 200 ? 0.8 : 1;
      const size = (narrow.matches ? 0.375 : 0.5) * crowd;
      this.radii = nodes.name.map((_, k) => size * (6 + (nodes.strength ? 20 * Math.sqrt(nodes.strength[k] / most) : 4)));
    },
    // Standing upright where the picture is taller than wide: directions on a map mean nothing. By height they do.
    lay(width, height) {
      const high = this.by === "height", upright = !high && height > 1.05 * width;
      [this.x, this.y] = high ? [nodes.x, nodes.height] : upright ? [nodes.y, nodes.x] : [nodes.x, nodes.y];
      this.frame = { left: MARGIN + (high ? 34 : 0), right: width - MARGIN, top: MARGIN, bottom: height - MARGIN };
      const whole = { x: span(this.x, width), y: span(this.y, height) };
      if (!this.box || !this.zoomed) this.box = { x: [...whole.x], y: [...whole.y] };
      else if (upright !== this.upright) this.box = { x: this.box.y, y: this.box.x };
      Object.assign(this, { whole, upright });
      const { left, right, top, bottom } = this.frame, { x, y } = this.box;
      this.across = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (right - left);
      this.up = (v) => bottom - ((v - y[0]) / (y[1] - y[0])) * (bottom - top);
      this.at = nodes.name.map((_, k) => [this.across(this.x[k]), this.up(this.y[k])]);
      this.canvas.style.touchAction = this.zoomed ? "none" : "pan-y";
    },
    rename() { this.placed = settleNames(this.at, this.radii, this.frame, narrow.matches ? 22 : 60); },
    hit([x, y]) {
      const far = this.at.map(([a, b], k) => Math.hypot(a - x, b - y) - this.radii[k]), least = Math.min(...far);
      return least < 4 ? far.indexOf(least) : -1;
    },
    hover(point) { const k = this.hit(point); if (k >= 0) showTip(k); else tip.hidden = true; },
    // Slightly bent, so that ties along one line are told apart.
    curve(e) {
      const [a, b] = [this.at[edges.ends[2 * e]], this.at[edges.ends[2 * e + 1]]], bend = 0.08;
      return [a, [(a[0] + b[0]) / 2 + bend * (b[1] - a[1]), (a[1] + b[1]) / 2 + bend * (a[0] - b[0])], b];
    },
    ties(pen, list, look) {
      const curves = list.map((e) => this.curve(e)), pair = ([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`;
      pen.path(curves.map(([a, m, b]) => `M${pair(a)}Q${pair(m)} ${pair(b)}`).join(""), { ...look, stroke: look.color });
      if (!edges.ways) return;
      const heads = list.map((e, k) => [1, 2].filter((way) => edges.ways[e] & way).map((way) => {
        const [a, m, b] = way === 1 ? curves[k] : [...curves[k]].reverse(), end = edges.ends[2 * e + (way === 1 ? 1 : 0)];
        const long = Math.hypot(b[0] - m[0], b[1] - m[1]) || 1, [x, y] = [(b[0] - m[0]) / long, (b[1] - m[1]) / long];
        if (Math.hypot(b[0] - a[0], b[1] - a[1]) < 2 * this.radii[end]) return "";
        const tip = [b[0] - x * (this.radii[end] + 1), b[1] - y * (this.radii[end] + 1)], size = 4 + 1.5 * look.width;
        const back = [tip[0] - x * size, tip[1] - y * size], side = 0.45 * size;
        return line([tip, [back[0] - y * side, back[1] + x * side], [back[0] + y * side, back[1] - x * side]], "Z");
      }).join(""));
      pen.path(heads.join(""), { fill: look.color, opacity: Math.min(1, 1.6 * look.opacity) });
    },
    // One path for each band of strength and each colour.
    strands() {
      if (!edges) return [];
      const found = new Map(), crowd = Math.min(1, Math.max(0.25, Math.sqrt(500 / edges.drawn.length)));
      for (const e of edges.drawn) {
        const kind = colouring.kind(edges.ends[2 * e]), up = this.by === "height" && pointsUp(e);
        const within = !up && this.by === "map" && kind >= 0 && kind === colouring.kind(edges.ends[2 * e + 1]);
        const k = edges.bands.length === 1 ? 1 : Math.round((edges.band[e] * (WIDTHS.length - 1)) / (edges.bands.length - 1));
        const color = up ? colour("mark") : within ? data.palette[kind] : colour("line"), key = `${k} ${color}`;
        if (!found.has(key)) found.set(key, { list: [], width: WIDTHS[k], opacity: STRENGTHS[k] * crowd * (up ? 1.8 : within ? 1.2 : edges.ways ? 1 : 0.65), color, up });
        found.get(key).list.push(e);
      }
      return [...found.values()].sort((a, b) => a.up - b.up || a.width - b.width);
    },
    // Where the nodes lie that are not shown one by one.
    shade(pen) {
      const { x, y, counts } = data.density, [across, up] = this.upright ? [y, x] : [x, y];
      const most = Math.log1p(Math.max(...counts.flat()));
      const wide = 0.9 * Math.abs(this.across(across[1]) - this.across(across[0]));
      counts.forEach((row, j) => row.forEach((c, i) => {
        const [a, b] = this.upright ? [j, i] : [i, j];
        if (c) pen.dot(this.across(across[a]), this.up(up[b]), wide, { fill: colour("haze"), opacity: 0.3 * (Math.log1p(c) / most) });
      }));
    },
    heights(pen) {
      for (const value of ticks(...this.box.y, 6)) {
        const y = this.up(value);
        if (y < this.frame.top || y > this.frame.bottom) continue;
        pen.path(line([[this.frame.left, y], [this.frame.right, y]]), { stroke: colour("rule") });
        pen.text(this.frame.left - 4, y, String(value), { size: 11, color: colour("quiet"), anchor: "end" });
      }
    },
    opacity(k, own) {
      if (own) return own.has(k) ? 1 : 0.4;
      return colouring.colours[k] === colouring.rest && count > 1500 ? 0.45 : 1; // in a crowd, what is coloured stands out
    },
    paint(pen) {
      const k = state.chosen, own = k < 0 ? null : new Set([k, ...beside(k)]);
      if (data.density && this.by === "map") this.shade(pen);
      if (this.by === "height") this.heights(pen);
      for (const strand of this.strands()) this.ties(pen, strand.list, { ...strand, opacity: strand.opacity * (own ? 0.45 : 1) });
      this.marked = edges && k >= 0 ? incident[k] : [];
      if (this.marked.length) this.ties(pen, this.marked, { color: colour("mark"), width: 1.6, opacity: 0.85 });
      const edge = { stroke: colour("paper"), width: count > 1000 ? 0.4 : 0.9 };
      for (let j = count - 1; j >= 0; j--) pen.dot(...this.at[j], this.radii[j], { fill: colouring.colours[j], opacity: this.opacity(j, own), ...edge });
      if (own) pen.dot(...this.at[k], this.radii[k] + 4, { stroke: colour("mark"), width: 2.5 });
      writeNames(pen, this.placed, this.at, this.frame);
    },
    drag(dx, dy) {
      if (!this.zoomed) return;
      const { left, right, top, bottom } = this.frame, { x, y } = this.box;
      const [byX, byY] = [(-dx * (x[1] - x[0])) / (right - left), (dy * (y[1] - y[0])) / (bottom - top)];
      this.box = { x: x.map((v) => v + byX), y: y.map((v) => v + byY) };
    },
    // Around a place on the picture, which stays where it is.
    scale(factor, [px, py]) {
      const { left, right, top, bottom } = this.frame, { x, y } = this.box;
      const about = (range, share) => { const fixed = range[0] + share * (range[1] - range[0]); return range.map((v) => fixed + factor * (v - fixed)); };
      this.box = { x: about(x, (px - left) / (right - left)), y: about(y, (bottom - py) / (bottom - top)) };
      this.zoomed = this.box.x[1] - this.box.x[0] < 0.99 * (this.whole.x[1] - this.whole.x[0]);
    },
    reset() { this.zoomed = false; draw(this); },
    zoom(how) {
      if (how === "reset") return this.reset();
      const { left, right, top, bottom } = this.frame, k = state.chosen;
      if (how === "in" && k >= 0) this.centre(k);
      this.scale(how === "in" ? 1 / 1.5 : 1.5, [(left + right) / 2, (top + bottom) / 2]);
      return draw(this);
    },
    centre(k) {
      const to = ([low, high], value) => [value - (high - low) / 2, value + (high - low) / 2];
      this.box = { x: to(this.box.x, this.x[k]), y: to(this.box.y, this.y[k]) };
    },
    // Of a map that is zoomed, the part with the selected node in it.
    follow(k) {
      const out = ([low, high], value) => value < low || value > high;
      if (this.zoomed && k >= 0 && (out(this.box.x, this.x[k]) || out(this.box.y, this.y[k]))) this.centre(k);
    },
  };

  // --- distances and loss -------------------------------------------------------------------------------------

  function ticks(low, high, most) {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough || 1));
    const step = [1, 2, 5, 10].find((k) => k * power >= rough) * power, found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  // Axes with their names; the vertical one may be logarithmic. Returns where values are.
  function axes(pen, width, height, x, y) {
    const frame = { left: 62, right: width - 16, top: 14, bottom: height - 44 }, log = (v) => (y.log ? Math.log10(v) : v);
    const across = (v) => frame.left + ((v - x.low) / (x.high - x.low || 1)) * (frame.right - frame.left);
    const up = (v) => frame.bottom - ((log(v) - log(y.low)) / (log(y.high) - log(y.low) || 1)) * (frame.bottom - frame.top);
    const powers = [];
    for (let k = Math.ceil(log(y.low)); y.log && k <= log(y.high); k++) powers.push(10 ** k);
    for (const value of powers.length > 1 ? powers : ticks(y.low, y.high, 5)) {
      pen.path(line([[frame.left, up(value)], [frame.right, up(value)]]), { stroke: colour("rule") });
      pen.text(frame.left - 6, up(value), value >= 1e6 || (value && value < 1e-3) ? value.toExponential() : value.toLocaleString("en", { maximumSignificantDigits: 4 }), { size: 12, color: colour("quiet"), anchor: "end", halo: false });
    }
    for (const value of ticks(x.low, x.high, width / 90))
      pen.text(across(value), frame.bottom + 14, value.toLocaleString("en"), { size: 12, color: colour("quiet"), halo: false });
    pen.text((frame.left + frame.right) / 2, height - 10, x.name, { size: 13, color: colour("quiet"), halo: false });
    pen.text(4, 7, y.name, { size: 12, color: colour("quiet"), anchor: "start" });
    return { frame, across, up };
  }

  const distanceView = {
    id: "distances-plot",
    series() {
      const { edges: tied, others } = data.distances, free = [edges ? "untied pairs" : "pairs", others, "others"];
      return edges ? [free, ["tied pairs", tied, "edges"]] : [free];
    },
    // The ties of the selected node; its nearest nodes where the ties are not known.
    rug() {
      const k = state.chosen, last = data.distances.bins.at(-1);
      if (k < 0) return [];
      return (edges ? incident[k].map((e) => edges.distances[e]) : near.distances.slice(k * near.k, (k + 1) * near.k)).map((d) => Math.min(d, last));
    },
    legend() {
      const parts = this.series().map(([name, , fill]) => make("span", {}, swatch(colour(fill)), name));
      if (this.rug().length) parts.push(make("span", {}, swatch(colour("mark")), edges ? "ties of the selected node" : "nearest of the selected node"));
      $("distances-legend").replaceChildren(...parts);
    },
    paint(pen, width, height) {
      const { bins } = data.distances, most = Math.max(10, ...this.series().flatMap(([, counts]) => counts));
      const { frame, across, up } = axes(pen, width, height, { low: bins[0], high: bins.at(-1), name: "distance" }, { low: 0.7, high: most * 1.3, log: true, name: "pairs (log scale)" });
      this.bin = (x) => bins.findIndex((b, k) => k + 1 < bins.length && across(b) <= x && x < across(bins[k + 1]));
      for (const [, counts, fill] of this.series())
        pen.path(counts.map((c, k) => (c ? line([[across(bins[k]) + 0.5, frame.bottom], [across(bins[k]) + 0.5, up(c)], [across(bins[k + 1]) - 0.5, up(c)], [across(bins[k + 1]) - 0.5, frame.bottom]], "Z") : "")).join(""), { fill: colour(fill), opacity: 0.6 });
      const marks = this.rug().map((d) => line([[across(d), frame.bottom - 16], [across(d), frame.bottom + 3]])).join("");
      if (marks) pen.path(marks, { stroke: colour("mark"), width: 2 });
      this.legend();
    },
    hover([x]) {
      const k = this.bin(x), { bins } = data.distances;
      tip.hidden = k < 0;
      if (k < 0) return;
      tip.replaceChildren(make("div", {}, `distance ${distance(bins[k])} to ${distance(bins[k + 1])}`), ...this.series().map(([name, counts]) => make("div", {}, `${whole(counts[k])} ${name}`)));
      placeTip();
    },
  };

  const lossView = {
    id: "loss-plot",
    paint(pen, width, height) {
      const { values, every, best } = data.loss, known = values.filter((v) => v !== null);
      const low = Math.min(...known), high = Math.max(...known), log = low > 0 && high / low > 50;
      const { across, up } = axes(pen, width, height, { low: 0, high: (values.length - 1) * every, name: "iteration" }, { low, high: high > low ? high : low + 1, log, name: log ? "loss (log scale)" : "loss" });
      let drawn = false;
      const d = values.map((v, k) => {
        const step = v === null ? "" : `${drawn ? "L" : "M"}${across(k * every).toFixed(1)},${up(v).toFixed(1)}`;
        drawn = v !== null;
        return step;
      }).join("");
      pen.path(d, { stroke: colour("edges"), width: 2 });
      const at = best === null ? -1 : Math.min(values.length - 1, Math.round(best / every));
      if (at >= 0 && values[at] !== null) pen.dot(across(at * every), up(values[at]), 5, { fill: colour("mark") });
    },
  };

  // --- what is pointed at -------------------------------------------------------------------------------------

  const tip = $("tip");
  let pointer = { x: 0, y: 0 };
  window.addEventListener("pointermove", (event) => { pointer = { x: event.clientX, y: event.clientY }; placeTip(); });
  window.addEventListener("pointerdown", (event) => { pointer = { x: event.clientX, y: event.clientY }; });

  function placeTip() {
    if (tip.hidden) return;
    const box = tip.getBoundingClientRect();
    const left = pointer.x + 16 + box.width > window.innerWidth ? pointer.x - 16 - box.width : pointer.x + 16;
    tip.style.left = `${Math.max(6, left)}px`;
    tip.style.top = `${Math.max(6, Math.min(pointer.y + 14, window.innerHeight - box.height - 6))}px`;
  }

  // The ranking that the table shows: by centrality, or of a directed network by height.
  const byCentrality = { rank: nodes.rank, low: nodes.rank_low, high: nodes.rank_high };
  const ranking = () => (state.by === "height" ? { rank: nodes.height_rank } : byCentrality);
  const between = (low, high) => (low === high ? whole(low) : `${whole(low)}–${whole(high)}`);
  const ranked = (k, { rank, low, high } = ranking()) => whole(rank[k]) + (low ? ` (${between(low[k], high[k])})` : "");

  function facts(k) {
    const words = [`rank ${ranked(k)} of ${whole(total)}`];
    words.push(nodes.centrality ? `centrality ${central(nodes.centrality[k])}` : `δ ${delta(nodes.delta[k])}`);
    if (nodes.strength) words.push(`strength ${strength(nodes.strength[k])}`, `${whole(nodes.degree[k])} ${nodes.degree[k] === 1 ? "neighbour" : "neighbours"}`);
    return words.join(" · ");
  }

  // The id where the name is a label, and what the table of nodes says.
  function details(k) {
    const parts = nodes.id && nodes.id[k] !== nodes.name[k] ? [["id", nodes.id[k]]] : [];
    data.colours.forEach((column, c) => { if (c > 0 && !(nodes.height && column.name === "height")) parts.push([column.name, colouring.text(column, k)]); });
    return parts.filter(([, text]) => text).flatMap(([name, text]) => [" · ", label(name, 20), " ", label(text, 40)]).slice(1);
  }

  const nearestOf = (k) => near.nodes.slice(k * near.k, (k + 1) * near.k);

  function showTip(k) {
    const parts = [make("strong", {}, label(nodes.name[k], 60)), make("div", {}, facts(k))];
    const more = details(k);
    if (more.length) parts.push(make("div", {}, ...more));
    if (near.k) {
      const line = make("div", {}, "nearest: ");
      nearestOf(k).forEach((other, i) => {
        line.append(i ? ", " : "", label(nameOf(other), 24), ` (${distance(near.distances[k * near.k + i])})`);
      });
      parts.push(line);
    }
    tip.replaceChildren(...parts);
    tip.hidden = false;
    placeTip();
  }

  // --- the card of the selected node --------------------------------------------------------------------------

  const rows = (heads, lines) => make("table", { class: "small" },
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...lines.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))))));

  // Lists of nodes with a number each; of a directed network, which way the tie leads.
  function listed(title, list) {
    const items = list.map(([k, words]) => make("li", {}, nodeButton(k, 24), make("small", {}, ` ${words}`)));
    return [make("h3", {}, title), items.length ? make("ul", {}, ...items) : make("p", { class: "hint" }, "none")];
  }

  function showCard() {
    const k = state.chosen, card = $("card");
    card.hidden = k < 0;
    if (k < 0) return;
    const places = nodes.centrality ? [["centrality", central(nodes.centrality[k]), ranked(k, byCentrality)]] : [];
    if (nodes.height) places.push(["height", nodes.height[k].toFixed(2), whole(nodes.height_rank[k])]);
    places.push(["δ", delta(nodes.delta[k]), whole((nodes.delta_rank ?? nodes.rank)[k])]);
    if (nodes.strength) {
      places.push(["strength", strength(nodes.strength[k]), whole(nodes.strength_rank[k])]);
      places.push(["eigenvector", "", whole(nodes.eigenvector_rank[k])], ["PageRank", "", whole(nodes.pagerank_rank[k])]);
    }
    const more = details(k), ties = tiesOf(k).slice(0, 6), parts = [make("h2", {}, label(nodes.name[k], 60))];
    if (more.length) parts.push(make("p", { class: "hint" }, ...more));
    parts.push(rows(["by", "value", `rank of ${whole(total)}`], places));
    const way = (e) => (!edges.ways ? "" : leads(e, k) ? (leads(e, otherEnd(e, k)) ? "↔ " : "→ ") : "← ");
    const columns = [];
    if (edges) columns.push(make("div", {}, ...listed("Strongest ties (weight)", ties.map((e) => [otherEnd(e, k), `${way(e)}${weight(edges.weights[e])}`]))));
    const free = near.free?.[k];
    columns.push(make("div", {}, ...(free
      ? listed("Nearest without a tie (distance)", free.map(([other, far]) => [other, distance(far)]))
      : listed("Nearest (distance)", nearestOf(k).map((other, i) => [other, distance(near.distances[k * near.k + i])])))));
    card.replaceChildren(...parts, make("div", { class: "two" }, ...columns));
  }

  // --- finding ------------------------------------------------------------------------------------------------

  const lower = nodes.name.map((name, k) => [name.toLowerCase(), (nodes.id ? nodes.id[k] : "").toLowerCase()]);

  function matches() {
    const query = state.query.toLowerCase(), found = [];
    lower.forEach(([name, text], k) => { if (query && (name.includes(query) || text.includes(query))) found.push(k); });
    return found;
  }

  function best(found) {
    const query = state.query.toLowerCase();
    const exact = found.find((k) => nodes.name[k] === state.query) ?? found.find((k) => lower[k].includes(query));
    return exact ?? found.find((k) => lower[k][0].startsWith(query)) ?? found[0] ?? -1;
  }

  let waiting = 0;
  function search(text) {
    state.query = text.trim();
    $("find").value = text;
    const found = matches();
    mark(best(found), found.length);
  }

  // A node that is clicked, or reached by the keyboard: the search is over.
  function choose(k) {
    if (k >= count) {
      say(make("strong", {}, label(nameOf(k))), " is not one of the nodes shown on this page.");
      return;
    }
    state.query = "";
    $("find").value = "";
    mark(k, 1);
  }

  function say(...parts) { $("found").replaceChildren(...parts); }

  function mark(k, found) {
    state.chosen = k;
    $("clear").hidden = k < 0 && !state.query;
    if (k < 0) {
      const rest = total > count ? ` among the ${whole(count)} of ${whole(total)} on this page` : "";
      if (state.query) say(`No matching node${rest}.`);
      else say();
    } else {
      const others = found > 1 ? ` (${whole(found)} matches; press Enter for the next)` : "";
      const line = [make("strong", {}, label(nodes.name[k])), " · ", facts(k)], more = details(k);
      if (more.length) line.push(" · ", ...more);
      say(...line, others);
    }
    showCard();
    showTable(true);
    if (k >= 0) bringIntoView();
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      mapView.follow(k);
      plots.forEach((view) => draw(view));
      document.documentElement.dataset.chosen = String(k);
    }, 30);
  }

  // The row of the selected node within the table, and the map where less than half of it is seen.
  function bringIntoView() {
    const row = $("rows").querySelector(".chosen"), box = $("scroll");
    if (row) {
      const top = row.offsetTop - $("heads").offsetHeight, bottom = row.offsetTop + row.offsetHeight;
      if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = (top + bottom - box.clientHeight) / 2;
    }
    const { top, bottom, height } = $("map-plot").getBoundingClientRect();
    const bar = document.querySelector(".bar").offsetHeight;
    if (Math.min(bottom, window.innerHeight) - Math.max(top, bar) < height / 2) $("map").scrollIntoView({ block: "start" });
  }

  function next() {
    const found = matches();
    if (found.length) mark(found[(found.indexOf(state.chosen) + 1) % found.length], found.length);
  }

  // --- the table ----------------------------------------------------------------------------------------------

  const COLUMNS = [
    { key: "rank", head: "rank", kind: "number", values: nodes.rank },
    { key: "name", head: "node", kind: "text", values: nodes.name },
    nodes.centrality
      ? { key: "centrality", head: "centrality", kind: "number", show: central, values: nodes.centrality, title: "Current-flow closeness in the network" }
      : { key: "delta", head: "δ", kind: "number", show: delta, values: nodes.delta, title: "Sum of the distances to all other nodes on the map" },
    ...(nodes.height ? [{ key: "height", head: "height", kind: "number", show: (v) => v.toFixed(2), values: nodes.height, title: "Ties point from higher nodes to lower ones" }] : []),
    ...(nodes.strength ? [{ key: "strength", head: "strength", kind: "number", extra: Boolean(nodes.centrality), show: strength, values: nodes.strength, title: "Sum of the weights of a node’s ties" }] : []),
    ...(nodes.degree ? [{ key: "degree", head: "ties", kind: "number", extra: true, show: whole, values: nodes.degree, title: "Number of neighbours" }] : []),
    ...(nodes.id ? [{ key: "id", head: "id", kind: "text", extra: true, values: nodes.id }] : []),
    { key: "colour", head: "", kind: "text", extra: true, values: [] },
  ];

  function makeHeads() {
    for (const column of COLUMNS) {
      const button = make("button", { type: "button", ...(column.title ? { title: column.title } : {}) }, column.head);
      column.button = button;
      button.addEventListener("click", () => {
        state.down = state.key === column.key ? !state.down : ["centrality", "strength", "degree", "height"].includes(column.key);
        state.key = column.key;
        state.page = 0;
        showTable(false);
      });
      column.element = make("th", { scope: "col", class: classes(column) }, button);
      $("heads").append(column.element);
    }
  }

  const classes = (column) => `${column.kind === "number" && column.key !== "rank" ? "number" : ""}${column.extra ? " extra" : ""}${column.key === "colour" ? " colour" : ""}`;

  function sorted() {
    const { values, kind } = COLUMNS.find((column) => column.key === state.key), text = kind === "text";
    const collator = new Intl.Collator("en", { numeric: true });
    const order = text ? (a, b) => collator.compare(values[a], values[b]) || a - b : (a, b) => values[a] - values[b] || a - b;
    return [...nodes.name.keys()].sort(state.down ? (a, b) => order(b, a) : order);
  }

  function showTable(follow) {
    const order = sorted(), pages = Math.max(1, Math.ceil(count / state.rows));
    if (follow) state.page = Math.floor(Math.max(order.indexOf(state.chosen), 0) / state.rows);
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * state.rows, here = order.slice(first, first + state.rows);
    scale = here.length ? [Math.min(...here.map((k) => lowest(k))), Math.max(...here.map((k) => highest(k)))] : [1, 1];
    for (const column of COLUMNS)
      column.element.setAttribute("aria-sort", column.key === state.key ? (state.down ? "descending" : "ascending") : "none");
    $("rows").replaceChildren(...here.map(row));
    $("page").textContent = `${whole(first + 1)}–${whole(first + here.length)} of ${whole(count)}`;
    $("previous").disabled = state.page === 0;
    $("next").disabled = state.page >= pages - 1;
  }

  const lowest = (k) => (ranking().low ?? ranking().rank)[k], highest = (k) => (ranking().high ?? ranking().rank)[k];
  let scale = [1, 1]; // of the ranks on this page of the table

  // The higher the rank, the longer the bar; the line across its end is the interval.
  function bar(k) {
    const share = (rank) => `${(100 * (scale[1] + 0.5 - rank)) / (scale[1] - scale[0] + 1)}%`, track = make("span", { class: "track", "aria-hidden": "true" });
    const fill = make("i"), interval = make("b");
    fill.style.width = share(ranking().rank[k]);
    interval.style.left = share(highest(k) + 0.5);
    interval.style.right = `calc(100% - ${share(lowest(k) - 0.5)})`;
    track.append(fill, ...(ranking().low ? [interval] : []));
    return track;
  }

  function row(k) {
    const line = make("tr", k === state.chosen ? { class: "chosen", "aria-current": "true" } : {});
    for (const column of COLUMNS) {
      const cell = make("td", { class: classes(column) });
      if (column.key === "name") cell.append(make("span", { class: "named" }, swatch(colouring.colours[k]), nodeButton(k)), bar(k));
      else if (column.key === "rank") cell.append(ranked(k));
      else if (column.key === "colour") cell.append(label(column.values[k], 24));
      else if (column.kind === "text") cell.append(label(column.values[k]));
      else cell.append(column.show(column.values[k]));
      line.append(cell);
    }
    return line;
  }

  // --- all together -------------------------------------------------------------------------------------------

  function setTheme(theme) {
    state.theme = theme;
    document.documentElement.dataset.theme = theme;
    $("theme").textContent = theme === "dark" ? "Light" : "Dark";
    colouring.choose(state.colour);
    plots.forEach((view) => draw(view));
  }

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  $("theme").addEventListener("click", () => setTheme(state.theme === "dark" ? "light" : "dark"));
  $("find").addEventListener("input", () => search($("find").value));
  $("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") next();
    if (event.key === "Escape") search("");
  });
  $("clear").addEventListener("click", () => { search(""); $("find").focus(); });
  $("previous").addEventListener("click", () => { state.page -= 1; showTable(false); });
  $("next").addEventListener("click", () => { state.page += 1; showTable(false); });
  $("colour").addEventListener("change", () => {
    colouring.choose(Number($("colour").value));
    draw(mapView);
  });
  document.querySelectorAll("[data-zoom]").forEach((button) => {
    button.addEventListener("click", () => mapView.zoom(button.dataset.zoom));
  });
  document.querySelectorAll("[data-save]").forEach((button) => {
    button.addEventListener("click", () => save($(button.dataset.plot).picture, button.dataset.save));
  });
  $("map-plot").addEventListener("keydown", (event) => {
    const how = { "+": "in", "-": "out", "0": "reset" }[event.key];
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (how) { event.preventDefault(); mapView.zoom(how); }
    if (step) { event.preventDefault(); choose((state.chosen + step + count + (state.chosen < 0 && step < 0 ? 1 : 0)) % count); }
  });

  let resized = 0;
  window.addEventListener("resize", () => {
    tip.hidden = true;
    window.clearTimeout(resized);
    resized = window.setTimeout(() => { plots.forEach((view) => draw(view)); document.documentElement.dataset.resized = String(window.innerWidth); }, 150);
  });
  $("loss").querySelector("details").addEventListener("toggle", () => plots.forEach((view) => draw(view)));

  let before = "light"; // what is printed is light, and as wide as the paper
  window.addEventListener("beforeprint", () => { before = state.theme; setTheme("light"); });
  window.addEventListener("afterprint", () => setTheme(before));

  // A directed network can also be drawn, and listed, by height.
  for (const id of ["drawing", "by"]) if (!nodes.height) $(`${id}-tools`).remove();
  if (nodes.height) {
    $("drawing").addEventListener("change", () => { mapView.by = $("drawing").value; mapView.reset(); $("height-note").hidden = mapView.by === "map"; });
    $("by").addEventListener("change", () => {
      Object.assign(state, { by: $("by").value, key: "rank", down: false, page: 0 });
      COLUMNS[0].values = ranking().rank;
      showTable(false);
    });
  }

  if (nodes.height) {
    state.by = "height";
    if (!nodes.centrality) $("by").options[1].textContent = "δ";
    COLUMNS[0].values = nodes.height_rank;
  }
  makeHeads();
  mapView.prepare();
  const plots = [mapView, distanceView, ...(data.loss ? [lossView] : [])];
  if (!data.loss) $("loss").remove();
  plots.forEach(attach);
  setTheme(dark.matches ? "dark" : "light");
  showTable(false);
  document.documentElement.dataset.ready = "true";
})();
