"use strict";
// Text from elsewhere goes into the page by textContent alone. Names on pictures go to plotly, whose texts are markup,
// only through `plain`, which leaves no character that could be a tag, an entity or a formula.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const { nodes, near, edges, total } = data;
  const count = nodes.name.length;
  const narrow = window.matchMedia("(max-width: 640px)");
  const coarse = window.matchMedia("(pointer: coarse)").matches;
  const state = { chosen: -1, query: "", key: "rank", down: false, page: 0, rows: 25, theme: "light", colour: 0 };
  const plots = [];

  // --- text ---------------------------------------------------------------------------------------------------

  const visible = (text) => text.replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)));
  const nameOf = (k) => (k < count ? nodes.name[k] : near.others[k - count]);

  function shorten(text, most = 40) {
    if (text.length <= most) return text;
    const letters = Array.from(text.slice(0, 2 * most));
    return letters.slice(0, most).join("") + "…";
  }

  const shown = (text, most) => (text.trim() ? visible(shorten(text, most)) : `“${shorten(text, most)}”`);

  const SAFE = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "%": "&#37;" };
  // Directions are turned off: on a picture they would turn what stands around them, too.
  const unturned = (text) => text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/g, "");
  const plain = (text) => unturned(text).replace(/[&<>$%]/g, (c) => SAFE[c]);

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
  const delta = fixed(nodes.delta), strength = fixed(nodes.strength ?? [0]), distance = (value) => value.toFixed(3);

  // --- theme --------------------------------------------------------------------------------------------------

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  // Cividis, which reads the same with any kind of colour vision; the top of the ranking stands out from the paper.
  const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
  const scaleColours = () => (state.theme === "dark" ? [...CIVIDIS].reverse() : CIVIDIS);
  const colourScale = () => scaleColours().map((c, k) => [k / (CIVIDIS.length - 1), c]);

  function base() {
    return {
      paper_bgcolor: colour("paper"),
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("quiet") },
      margin: { l: 62, r: 16, t: 16, b: 46 },
      showlegend: false,
      hovermode: "closest",
      dragmode: coarse ? false : "pan",
      uirevision: "one page", // what was zoomed by hand stays when a picture is drawn anew
    };
  }

  const axis = (text, more = {}) => ({
    title: { text, standoff: 10 }, gridcolor: colour("rule"), linecolor: colour("rule"), zeroline: false,
    automargin: true, ...more,
  });
  const CONFIG = {
    responsive: true, displaylogo: false, scrollZoom: false, doubleClick: "reset",
    displayModeBar: coarse ? false : "hover",
  };

  // --- pictures to keep ---------------------------------------------------------------------------------------

  function save(plot, format) {
    if (!plot.layout) return Promise.resolve();
    const { width, height } = plot.getBoundingClientRect();
    return Plotly.downloadImage(plot, { format, width, height, scale: format === "png" ? 2 : 1, filename: plot.id.replace("-plot", "") });
  }

  const saving = () => ["png", "svg"].map((format) => ({
    name: `save-${format}`, title: `Save as ${format.toUpperCase()}`,
    icon: format === "png" ? Plotly.Icons.camera : Plotly.Icons.disk, click: (plot) => save(plot, format),
  }));

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
      column.codes.forEach((code, k) => { sizes[code] += 1; if (first[code] < 0) first[code] = k; });
      const coloured = column.kinds.map((_, code) => code).filter((code) => colouring.fill(code, column.kinds) !== colouring.rest);
      for (const code of coloured) {
        const called = state.colour === 0 ? label(nodes.name[first[code]], 18) : label(column.kinds[code], 18);
        parts.push(make("span", {}, swatch(data.palette[code]), called, ` (${whole(sizes[code])})`));
      }
      const others = column.kinds.length - coloured.length;
      const left = sizes.reduce((a, b) => a + b, 0) - coloured.reduce((sum, code) => sum + sizes[code], 0);
      if (others) parts.push(make("span", {}, swatch(colouring.rest), `${state.colour === 0 ? `${whole(others)} smaller communities` : "other or none"} (${whole(left)})`));
      if (state.colour === 0) parts.unshift(make("span", {}, "Communities by their top node (size):"));
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
    pen.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
    return { k, must, text, size, weight, width: pen.measureText(text).width + 4, height: size * 1.3 };
  }

  const annotation = (name, more) => ({
    text: plain(name.text), xanchor: "center", yanchor: "middle", borderpad: 0, name: String(name.k), ...more,
    font: {
      size: name.size, weight: name.weight, color: colour(name.k === state.chosen ? "mark" : name.must || state.chosen < 0 ? "ink" : "quiet"),
      shadow: [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, -1], [-1, 1]].map(([x, y]) => `${x}px ${y}px 1px ${colour("paper")}`).join(", "),
    },
  });

  // --- the map ------------------------------------------------------------------------------------------------

  const WIDTHS = [0.5, 0.9, 1.5, 2.4];
  const STRENGTHS = [0.3, 0.38, 0.48, 0.6];
  const incident = nodes.name.map(() => []);
  if (edges) edges.band.forEach((_, e) => { incident[edges.ends[2 * e]].push(e); incident[edges.ends[2 * e + 1]].push(e); });
  const otherEnd = (e, k) => (edges.ends[2 * e] === k ? edges.ends[2 * e + 1] : edges.ends[2 * e]);
  // Its neighbours, the strongest ties first; the nearest nodes where the ties are not known. Edges come weakest first.
  const beside = (k) => (edges ? [...incident[k]].sort((a, b) => b - a).map((e) => otherEnd(e, k)) : nearestOf(k).filter((j) => j < count));
  const MARGIN = 6;

  const mapView = {
    id: "map-plot",
    tools: ["zoomIn2d", "zoomOut2d", "resetScale2d"],
    prepare() {
      const most = Math.max(...(nodes.strength ?? [1]), 1e-300), crowd = count > 1500 ? 0.42 : count > 600 ? 0.6 : count > 200 ? 0.8 : 1;
      const size = (narrow.matches ? 0.75 : 1) * crowd;
      this.sizes = nodes.name.map((_, k) => size * (6 + (nodes.strength ? 20 * Math.sqrt(nodes.strength[k] / most) : 4)));
    },
    // Standing upright where the picture is taller than wide: directions on a map mean nothing.
    turn() {
      const { width, height } = $(this.id).getBoundingClientRect();
      this.upright = height > 1.05 * width;
      [this.x, this.y] = this.upright ? [nodes.y, nodes.x] : [nodes.x, nodes.y];
      const span = (values, pixels) => {
        const low = Math.min(...values), high = Math.max(...values), room = ((high - low) * 26) / Math.max(pixels - 52, 60) || 1;
        return [low - room, high + room];
      };
      this.whole = { x: span(this.x, width), y: span(this.y, height) };
    },
    frame() {
      const { width, height } = $(this.id).getBoundingClientRect(), { layout } = $(this.id);
      const x = this.drawn ? layout.xaxis.range : this.whole.x, y = this.drawn ? layout.yaxis.range : this.whole.y;
      const wide = width - 2 * MARGIN, tall = height - 2 * MARGIN;
      return {
        left: MARGIN, right: width - MARGIN, top: MARGIN, bottom: height - MARGIN, x, y,
        at: (k) => [MARGIN + ((this.x[k] - x[0]) / (x[1] - x[0])) * wide, height - MARGIN - ((this.y[k] - y[0]) / (y[1] - y[0])) * tall],
      };
    },
    names() {
      const frame = this.frame(), most = narrow.matches ? 22 : 60;
      const at = nodes.name.map((_, k) => frame.at(k));
      const seen = (k) => at[k][0] >= frame.left && at[k][0] <= frame.right && at[k][1] >= frame.top && at[k][1] <= frame.bottom;
      const names = toName(most, seen).map(measured).map((name) => ({ ...name, x: at[name.k][0], y: at[name.k][1], r: this.sizes[name.k] / 2, nx: at[name.k][0], ny: at[name.k][1] }));
      const dots = at.map(([x, y], k) => ({ k, x, y, r: this.sizes[k] / 2 })).filter(({ k }) => seen(k));
      return placeNames(names, dots, frame);
    },
    annotations() {
      return this.names().map((name) => annotation(name, {
        x: this.x[name.k], y: this.y[name.k], xref: "x", yref: "y",
        ...(name.led
          ? { showarrow: true, arrowhead: 0, arrowwidth: 1, arrowcolor: colour("quiet"), ax: name.x - name.nx, ay: name.y - name.ny, standoff: name.r }
          : { showarrow: false, xshift: name.x - name.nx, yshift: name.ny - name.y }),
      }));
    },
    // Slightly bent, so that ties along one line are told apart.
    curve(e) {
      const a = edges.ends[2 * e], b = edges.ends[2 * e + 1], { x, y } = this, bend = 0.08;
      return [x[a], y[a], (x[a] + x[b]) / 2 + bend * (y[a] - y[b]), (y[a] + y[b]) / 2 + bend * (x[b] - x[a]), x[b], y[b]];
    },
    // One path for each band of strength and each colour: thousands of lines would be thousands of elements.
    strands() {
      if (!edges) return [];
      const found = new Map(), crowd = Math.min(1, Math.max(0.25, Math.sqrt(500 / edges.drawn.length)));
      for (const e of edges.drawn) {
        const kind = colouring.kind(edges.ends[2 * e]), within = kind >= 0 && kind === colouring.kind(edges.ends[2 * e + 1]);
        const k = edges.bands.length === 1 ? 1 : Math.round((edges.band[e] * (WIDTHS.length - 1)) / (edges.bands.length - 1));
        const key = `${k} ${within ? data.palette[kind] : colour("line")}`;
        if (!found.has(key)) found.set(key, { list: [], width: WIDTHS[k], opacity: STRENGTHS[k] * crowd * (within ? 1.2 : 0.65), color: key.split(" ")[1] });
        found.get(key).list.push(e);
      }
      return [...found.values()].sort((a, b) => a.width - b.width);
    },
    path({ list, color, width, opacity }) {
      const line = list.map((e) => {
        const [ax, ay, mx, my, bx, by] = this.curve(e).map((v) => v.toPrecision(6));
        return `M${ax},${ay}Q${mx},${my} ${bx},${by}`;
      }).join("");
      return { type: "path", path: line || "M0,0", layer: "below", line: { color, width }, opacity, xref: "x", yref: "y" };
    },
    shapes() {
      const marked = incident[state.chosen] ?? [], fade = state.chosen >= 0 ? 0.45 : 1;
      const found = this.strands().map((strand) => this.path({ ...strand, opacity: strand.opacity * fade }));
      // Always as many: plotly leaves behind what is taken away.
      return [...found, this.path({ list: marked, color: colour("mark"), width: 1.6, opacity: marked.length ? 0.85 : 0 })];
    },
    opacities() {
      // In a crowd, what is coloured stands out.
      if (state.chosen < 0) return colouring.colours.map((fill) => (fill === colouring.rest && count > 1500 ? 0.45 : 1));
      const own = new Set([state.chosen, ...beside(state.chosen)]);
      return nodes.name.map((_, k) => (own.has(k) ? 1 : 0.4));
    },
    chosen() {
      const k = state.chosen;
      return k < 0 ? { x: [], y: [], size: 20 } : { x: [this.x[k]], y: [this.y[k]], size: this.sizes[k] + 9 };
    },
    // Where the nodes lie that are not shown one by one.
    density() {
      const { x, y, counts } = data.density, turned = this.upright;
      const grid = turned ? x.map((_, i) => y.map((_, j) => counts[j][i])) : counts;
      return {
        type: "heatmap", x: turned ? y : x, y: turned ? x : y, z: grid.map((row) => row.map((c) => (c ? Math.log1p(c) : null))),
        zsmooth: "best", connectgaps: false, showscale: false, hoverinfo: "skip", opacity: 0.5,
        colorscale: [[0, colour("paper")], [1, colour("haze")]],
      };
    },
    traces() {
      const ring = this.chosen();
      return [
        ...(data.density ? [this.density()] : []),
        {
          type: "scatter", mode: "markers", meta: "nodes", x: this.x, y: this.y, hoverinfo: "none",
          marker: {
            size: this.sizes, color: colouring.colours, opacity: this.opacities(),
            line: { color: colour("paper"), width: count > 1000 ? 0.4 : 0.9 },
          },
        },
        {
          type: "scatter", mode: "markers", meta: "chosen", x: ring.x, y: ring.y, hoverinfo: "skip",
          marker: { size: ring.size, color: "rgba(0,0,0,0)", line: { color: colour("mark"), width: 2.5 } },
        },
      ];
    },
    layout() {
      const { x, y } = this.ranges();
      return {
        ...base(), margin: { l: MARGIN, r: MARGIN, t: MARGIN, b: MARGIN }, shapes: this.shapes(), annotations: [],
        xaxis: { visible: false, range: x }, yaxis: { visible: false, range: y },
        ...(this.drawn ? { dragmode: $(this.id).layout.dragmode } : {}),
      };
    },
    // What is seen: all of it, or the part that was zoomed into before, also where the map is turned by a new shape.
    ranges() {
      const { upright, whole } = this, same = (a, b) => a[0] === b[0] && a[1] === b[1];
      this.turn();
      const { xaxis, yaxis } = this.drawn ? $(this.id).layout : {};
      if (!xaxis || (same(xaxis.range, whole.x) && same(yaxis.range, whole.y))) return { x: [...this.whole.x], y: [...this.whole.y] };
      const [x, y] = this.upright === upright ? [xaxis.range, yaxis.range] : [yaxis.range, xaxis.range];
      return { x: [...x], y: [...y] };
    },
    async settle(first) {
      await this.rename();
      if (!first) return;
      $(this.id).on("plotly_relayout", (change) => {
        if (Object.keys(change).some((key) => key.startsWith("xaxis") || key.startsWith("yaxis") || key === "autosize")) this.rename();
      });
      $(this.id).on("plotly_doubleclick", () => this.rename());
    },
    rename() { return Plotly.relayout(this.id, { annotations: this.annotations() }); },
    async mark() {
      const ring = this.chosen(), at = data.density ? 1 : 0, range = this.around(state.chosen);
      await Plotly.restyle(this.id, { "marker.opacity": [this.opacities()] }, [at]);
      await Plotly.update(this.id, { x: [ring.x], y: [ring.y], "marker.size": ring.size }, { shapes: this.shapes(), ...range }, [at + 1]);
      await this.rename();
    },
    // Of a map that is zoomed, the part with the selected node in it.
    around(k) {
      if (k < 0) return {};
      const move = ([low, high], value) => (value >= low && value <= high ? [low, high] : [value - (high - low) / 2, value + (high - low) / 2]);
      const { xaxis, yaxis } = $(this.id).layout;
      return { "xaxis.range": move(xaxis.range, this.x[k]), "yaxis.range": move(yaxis.range, this.y[k]) };
    },
    zoom(how) {
      if (!this.drawn) return;
      const { xaxis, yaxis } = $(this.id).layout, factor = how === "in" ? 1 / 1.5 : 1.5, k = state.chosen;
      const scaled = ([low, high], middle) => [middle - ((high - low) * factor) / 2, middle + ((high - low) * factor) / 2];
      const middle = (range, values) => (how === "in" && k >= 0 ? values[k] : (range[0] + range[1]) / 2);
      const ranges = how === "reset" ? this.whole
        : { x: scaled(xaxis.range, middle(xaxis.range, this.x)), y: scaled(yaxis.range, middle(yaxis.range, this.y)) };
      const near = ranges.x[1] - ranges.x[0] < 0.95 * (this.whole.x[1] - this.whole.x[0]);
      Plotly.relayout(this.id, { "xaxis.range": [...ranges.x], "yaxis.range": [...ranges.y], dragmode: coarse && !near ? false : "pan" });
    },
    // What plotly will draw, seen at once: it is there before plotly is.
    sketch() {
      this.turn();
      const place = $(this.id), canvas = make("canvas"), sharp = window.devicePixelRatio || 1, brush = canvas.getContext("2d");
      const { width, height } = place.getBoundingClientRect(), frame = this.frame(), { x, y } = frame;
      canvas.width = width * sharp;
      canvas.height = height * sharp;
      canvas.style.cssText = "position: absolute; inset: 0; width: 100%; height: 100%";
      brush.scale(sharp, sharp);
      const across = (v) => MARGIN + ((v - x[0]) / (x[1] - x[0])) * (width - 2 * MARGIN);
      const up = (v) => height - MARGIN - ((v - y[0]) / (y[1] - y[0])) * (height - 2 * MARGIN);
      for (const { list, color, width: wide, opacity } of this.strands()) {
        brush.beginPath();
        for (const [ax, ay, mx, my, bx, by] of list.map((e) => this.curve(e))) {
          brush.moveTo(across(ax), up(ay));
          brush.quadraticCurveTo(across(mx), up(my), across(bx), up(by));
        }
        Object.assign(brush, { strokeStyle: color, lineWidth: wide, globalAlpha: opacity });
        brush.stroke();
      }
      Object.assign(brush, { globalAlpha: 1, strokeStyle: colour("paper"), lineWidth: 0.9, textAlign: "center", textBaseline: "middle" });
      for (let k = 0; k < count; k++) {
        brush.beginPath();
        brush.arc(...frame.at(k), this.sizes[k] / 2, 0, 2 * Math.PI);
        brush.fillStyle = colouring.colours[k];
        brush.fill();
        brush.stroke();
      }
      for (const name of this.names()) {
        brush.font = `${name.weight} ${name.size}px ${getComputedStyle(document.body).fontFamily}`;
        Object.assign(brush, { strokeStyle: colour("paper"), lineWidth: 2.5, fillStyle: colour("ink") });
        brush.strokeText(name.text, name.x, name.y);
        brush.fillText(name.text, name.x, name.y);
      }
      place.replaceChildren(canvas);
    },
  };

  let resized = 0;
  window.addEventListener("resize", () => {
    tip.hidden = true;
    window.clearTimeout(resized);
    resized = window.setTimeout(() => { if (mapView.drawn) draw(mapView); if (spaceView.drawn) spaceView.rename(); }, 200);
  });

  // --- the embedding in 3-D -----------------------------------------------------------------------------------

  const EYE = narrow.matches ? { x: 1.75, y: 1.75, z: 0.8 } : { x: 1.3, y: 1.3, z: 0.6 };
  const spaceView = {
    id: "space-plot",
    tools: ["orbitRotation", "pan3d", "resetCameraDefault3d"],
    at(k) {
      const [x, y, z] = data.space.points;
      return k < 0 ? { x: [], y: [], z: [] } : { x: [x[k]], y: [y[k]], z: [z[k]] };
    },
    traces() {
      const [x, y, z] = data.space.points;
      return [
        {
          type: "scatter3d", mode: "markers", meta: "nodes", x, y, z, hoverinfo: "none",
          marker: {
            size: count > 800 ? 3 : 6, color: colouring.colours,
            line: { color: colour("paper"), width: count > 800 ? 0 : 0.8 },
          },
        },
        {
          type: "scatter3d", mode: "markers", meta: "chosen", ...this.at(state.chosen), hoverinfo: "skip",
          marker: { size: 13, symbol: "circle-open", color: colour("mark"), line: { color: colour("mark"), width: 4 } },
        },
      ];
    },
    layout() {
      const side = (k) => ({
        ...axis(data.space.axes[k]), visible: data.space.axes[k] !== "", showbackground: false, color: colour("quiet"),
        nticks: 5, automargin: undefined,
      });
      return {
        ...base(), margin: { l: 0, r: 0, t: 0, b: 0 }, dragmode: "turntable",
        scene: {
          xaxis: side(0), yaxis: side(1), zaxis: side(2), aspectmode: "cube", dragmode: "turntable",
          camera: this.drawn ? $(this.id).layout.scene.camera : { eye: { ...EYE }, center: { x: 0, y: 0, z: -0.12 } },
          annotations: [],
        },
      };
    },
    // Where each node is on the screen, as the camera of plotly sees it.
    seen() {
      const scene = $(this.id)._fullLayout.scene._scene, { model, view, projection } = scene.glplot.cameraParams;
      const { width, height } = $(this.id).getBoundingClientRect(), scale = scene.dataScale;
      const times = (m, v) => [0, 1, 2, 3].map((row) => v.reduce((sum, value, k) => sum + m[4 * k + row] * value, 0));
      return nodes.name.map((_, k) => {
        const point = data.space.points.map((axis, a) => axis[k] * scale[a]);
        const [x, y, , w] = times(projection, times(view, times(model, [...point, 1])));
        return [(0.5 + x / w / 2) * width, (0.5 - y / w / 2) * height];
      });
    },
    annotations() {
      const { width, height } = $(this.id).getBoundingClientRect();
      const frame = { left: MARGIN, right: width - MARGIN, top: MARGIN, bottom: height - MARGIN };
      const at = this.seen(), r = count > 800 ? 2 : 4;
      const within = (k) => at[k][0] > frame.left && at[k][0] < frame.right && at[k][1] > frame.top && at[k][1] < frame.bottom;
      const names = toName(TOP, within).map(measured).map((name) => ({ ...name, x: at[name.k][0], y: at[name.k][1], r, nx: at[name.k][0], ny: at[name.k][1] }));
      const dots = at.map(([x, y], k) => ({ k, x, y, r })).filter(({ k }) => within(k));
      return placeNames(names, dots, frame).map((name) => {
        const { x: [x], y: [y], z: [z] } = this.at(name.k);
        return annotation(name, {
          x, y, z, ...(name.led
            ? { showarrow: true, arrowhead: 0, arrowwidth: 1, arrowcolor: colour("quiet"), ax: name.x - name.nx, ay: name.y - name.ny, standoff: r }
            : { showarrow: false, xshift: name.x - name.nx, yshift: name.ny - name.y }),
        });
      });
    },
    async settle(first) {
      await this.rename();
      if (first) $(this.id).on("plotly_relayout", (change) => { if (Object.keys(change).some((key) => key.startsWith("scene.camera"))) this.rename(); });
    },
    rename() { return Plotly.relayout(this.id, { "scene.annotations": this.annotations() }); },
    async mark() {
      const { x, y, z } = this.at(state.chosen);
      await Plotly.restyle(this.id, { x: [x], y: [y], z: [z] }, [1]);
      await this.rename();
    },
    turn(how) {
      const plot = $(this.id);
      if (!plot.layout) return;
      const eye = { ...(plot.layout.scene.camera?.eye || EYE) };
      const flat = Math.hypot(eye.x, eye.y), angle = Math.atan2(eye.y, eye.x), far = Math.hypot(flat, eye.z);
      let tilt = Math.atan2(eye.z, flat), round = angle, away = far;
      if (how === "left") round -= 0.26;
      if (how === "right") round += 0.26;
      if (how === "up") tilt = Math.min(1.45, tilt + 0.2);
      if (how === "down") tilt = Math.max(-1.45, tilt - 0.2);
      if (how === "in") away /= 1.25;
      if (how === "out") away *= 1.25;
      const turned = { x: away * Math.cos(tilt) * Math.cos(round), y: away * Math.cos(tilt) * Math.sin(round), z: away * Math.sin(tilt) };
      Plotly.relayout(plot, { "scene.camera.eye": how === "reset" ? { ...EYE } : turned });
    },
  };

  // --- distances and loss -------------------------------------------------------------------------------------

  const distanceView = {
    id: "distances-plot",
    tools: ["toImage"],
    rug() {
      const k = state.chosen;
      if (k < 0) return { x: [], y: [] };
      const far = edges ? incident[k].map((e) => edges.distances[e])
        : near.distances.slice(k * near.k, (k + 1) * near.k);
      const last = data.distances.bins.at(-1);
      return { x: far.map((d) => Math.min(d, last)), y: far.map(() => 0) };
    },
    traces() {
      const { bins, edges: tied, others } = data.distances;
      const part = (counts, name, fill, pattern) => {
        const all = counts.reduce((a, b) => a + b, 0);
        return {
          type: "bar", name, x: bins.slice(0, -1).map((b, k) => (b + bins[k + 1]) / 2),
          y: counts.map((c) => (100 * c) / Math.max(1, all)), width: bins[1] - bins[0], customdata: counts,
          marker: { color: fill, opacity: 0.75, line: { width: 0 }, pattern: { shape: pattern, fillmode: "overlay", fgcolor: colour("paper"), solidity: 0.2, size: 6 } },
          hovertemplate: `distance %{x:.3f}: %{y:.2f} % of the ${name} (%{customdata:,})<extra></extra>`,
        };
      };
      const found = [part(others, edges ? "untied pairs" : "pairs", colour("others"), "/")];
      if (edges) found.push(part(tied, "tied pairs", colour("edges"), ""));
      found.push({
        type: "scatter", mode: "markers", name: edges ? "selected node and its neighbours" : "selected node and its nearest",
        ...this.rug(), hovertemplate: "%{x:.3f}<extra></extra>", cliponaxis: false,
        marker: { symbol: "line-ns", size: 20, color: colour("mark"), line: { color: colour("mark"), width: 2.5 } },
      });
      return found;
    },
    layout() {
      return {
        ...base(), barmode: "overlay", showlegend: true, bargap: 0, dragmode: false,
        legend: { orientation: "h", x: 0, y: 1.12, yanchor: "bottom" }, margin: { l: 56, r: 16, t: 56, b: 46 },
        xaxis: axis("distance", { rangemode: "tozero" }), yaxis: axis("share (%)", { rangemode: "tozero" }),
      };
    },
    mark() {
      const { x, y } = this.rug();
      return Plotly.restyle(this.id, { x: [x], y: [y] }, [edges ? 2 : 1]);
    },
  };

  const lossView = {
    id: "loss-plot",
    tools: ["toImage"],
    traces() {
      const { values, every, best } = data.loss;
      const line = {
        type: "scatter", mode: "lines", x: values.map((_, k) => k * every), y: values,
        line: { color: colour("edges"), width: 2 }, hovertemplate: "iteration %{x}: %{y:.5g}<extra></extra>",
      };
      const at = best === null ? -1 : Math.min(values.length - 1, Math.round(best / every));
      const point = {
        type: "scatter", mode: "markers", x: at < 0 ? [] : [at * every], y: at < 0 ? [] : [values[at]],
        marker: { size: 10, color: colour("mark"), symbol: "diamond" }, hovertemplate: "best, kept<extra></extra>",
      };
      return [line, point];
    },
    layout() {
      const known = data.loss.values.filter((v) => v !== null);
      const low = Math.min(...known), high = Math.max(...known);
      return {
        ...base(), dragmode: false, xaxis: axis("iteration"),
        yaxis: axis("loss", { type: low > 0 && high / low > 50 ? "log" : "linear", exponentformat: "power" }),
      };
    },
    mark() {},
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

  // With its interval over the seeds, where several were trained.
  const ranked = (k) => whole(nodes.rank[k]) + (nodes.rank_low ? ` (${whole(nodes.rank_low[k])}–${whole(nodes.rank_high[k])})` : "");

  function facts(k) {
    const words = [`rank ${ranked(k)} of ${whole(total)}`, `δ ${delta(nodes.delta[k])}`];
    if (nodes.strength) words.push(`strength ${strength(nodes.strength[k])}`, `${whole(nodes.degree[k])} ${nodes.degree[k] === 1 ? "neighbour" : "neighbours"}`);
    return words.join(" · ");
  }

  // The id where the name is a label, and what the table of nodes says.
  function details(k) {
    const parts = nodes.id && nodes.id[k] !== nodes.name[k] ? [["id", nodes.id[k]]] : [];
    data.colours.forEach((column, c) => { if (c > 0) parts.push([column.name, colouring.text(column, k)]); });
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

  function listen(plot) {
    const node = (event) => event.points.find((point) => point.data.meta === "nodes")?.pointNumber ?? -1;
    plot.on("plotly_hover", (event) => { if (node(event) >= 0) showTip(node(event)); });
    plot.on("plotly_unhover", () => { tip.hidden = true; });
    plot.on("plotly_click", (event) => { if (node(event) >= 0) choose(node(event)); });
  }

  // --- finding ------------------------------------------------------------------------------------------------

  const lower = nodes.name.map((name, k) => [name.toLowerCase(), (nodes.id ? nodes.id[k] : "").toLowerCase()]);

  function matches() {
    const query = state.query.toLowerCase();
    if (!query) return nodes.name.map((_, k) => k);
    const found = [];
    lower.forEach(([name, text], k) => { if (name.includes(query) || text.includes(query)) found.push(k); });
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
    state.page = 0;
    mark(state.query ? best(found) : -1, found.length);
  }

  // A node that is pointed out by its position: the search is cleared, so that the table has all rows.
  function choose(k) {
    if (k >= count) {
      say(make("strong", {}, label(nameOf(k))), " is not one of the nodes shown on this page.");
      return;
    }
    state.query = "";
    $("find").value = "";
    mark(k, count);
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
      const others = state.query && found > 1 ? ` (${whole(found)} matches; press Enter for the next)` : "";
      const line = [make("strong", {}, label(nodes.name[k])), " · ", facts(k)], more = details(k);
      if (more.length) line.push(" · ", ...more);
      if (near.k) {
        line.push(" · nearest: ");
        nearestOf(k).forEach((other, i) => line.push(i ? ", " : "", nodeButton(other, 24)));
      }
      say(...line, others);
    }
    showTable(true);
    if (k >= 0) bringIntoView();
    window.clearTimeout(waiting);
    waiting = window.setTimeout(async () => {
      for (const view of plots) if (view.drawn) await view.mark();
      document.documentElement.dataset.chosen = String(k);
    }, 30);
  }

  // The row of the selected node within the table, and the map where less than half of it is seen.
  function bringIntoView() {
    const row = $("rows").querySelector(".chosen"), box = $("scroll");
    if (row) {
      const top = row.offsetTop - $("heads").offsetHeight, bottom = row.offsetTop + row.offsetHeight;
      if (top < box.scrollTop) box.scrollTop = top;
      else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
    }
    const { top, bottom, height } = $("map-plot").getBoundingClientRect();
    const bar = document.querySelector(".bar").offsetHeight;
    if (Math.min(bottom, window.innerHeight) - Math.max(top, bar) < height / 2) $("map").scrollIntoView({ block: "start" });
  }

  function next() {
    const found = matches();
    if (!state.query || !found.length) return;
    mark(found[(found.indexOf(state.chosen) + 1) % found.length], found.length);
  }

  // --- the table ----------------------------------------------------------------------------------------------

  const COLUMNS = [
    { key: "rank", head: "rank", kind: "number", values: nodes.rank },
    { key: "name", head: "node", kind: "text", values: nodes.name },
    { key: "delta", head: "δ", kind: "number", show: delta, values: nodes.delta, title: "Sum of the distances to all other nodes" },
    ...(nodes.strength ? [{ key: "strength", head: "strength", kind: "number", show: strength, values: nodes.strength, title: "Sum of the weights of a node’s ties" }] : []),
    ...(nodes.degree ? [{ key: "degree", head: "ties", kind: "number", extra: true, show: whole, values: nodes.degree, title: "Number of neighbours" }] : []),
    ...(nodes.id ? [{ key: "id", head: "id", kind: "text", extra: true, values: nodes.id }] : []),
    { key: "colour", head: "", kind: "text", extra: true, values: [] },
  ];

  function makeHeads() {
    for (const column of COLUMNS) {
      const button = make("button", { type: "button", ...(column.title ? { title: column.title } : {}) }, column.head);
      column.button = button;
      button.addEventListener("click", () => {
        state.down = state.key === column.key ? !state.down : column.key === "strength" || column.key === "degree";
        state.key = column.key;
        state.page = 0;
        showTable(false);
      });
      column.element = make("th", { scope: "col", class: classes(column) }, button);
      $("heads").append(column.element);
    }
    $("heads").append(make("th", { scope: "col", class: "extra" }, "nearest"));
  }

  const classes = (column) => `${column.kind === "number" && column.key !== "rank" ? "number" : ""}${column.extra ? " extra" : ""}${column.key === "colour" ? " colour" : ""}`;

  function sorted(found) {
    const { values, kind } = COLUMNS.find((column) => column.key === state.key), text = kind === "text";
    const collator = new Intl.Collator("en", { numeric: true });
    const order = text ? (a, b) => collator.compare(values[a], values[b]) || a - b : (a, b) => values[a] - values[b] || a - b;
    return found.sort(state.down ? (a, b) => order(b, a) : order);
  }

  function showTable(follow) {
    const found = sorted(matches());
    const pages = Math.max(1, Math.ceil(found.length / state.rows));
    if (follow && state.chosen >= 0 && found.includes(state.chosen))
      state.page = Math.floor(found.indexOf(state.chosen) / state.rows);
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * state.rows, here = found.slice(first, first + state.rows);
    for (const column of COLUMNS)
      column.element.setAttribute("aria-sort", column.key === state.key ? (state.down ? "descending" : "ascending") : "none");
    $("rows").replaceChildren(...here.map(row));
    $("page").textContent = found.length
      ? `${whole(first + 1)}–${whole(first + here.length)} of ${whole(found.length)}` : "no matching node";
    $("previous").disabled = state.page === 0;
    $("next").disabled = state.page >= pages - 1;
  }

  function row(k) {
    const line = make("tr", k === state.chosen ? { class: "chosen", "aria-current": "true" } : {});
    for (const column of COLUMNS) {
      const cell = make("td", { class: classes(column) });
      if (column.key === "name") cell.append(make("span", { class: "named" }, swatch(colouring.colours[k]), nodeButton(k)));
      else if (column.key === "rank") cell.append(ranked(k));
      else if (column.key === "colour") cell.append(label(column.values[k], 24));
      else if (column.kind === "text") cell.append(label(column.values[k]));
      else cell.append(column.show(column.values[k]));
      line.append(cell);
    }
    const last = make("td", { class: "extra" });
    const near3 = nearestOf(k).slice(0, 3);
    near3.forEach((other, i) => last.append(make("span", { class: "item" }, nodeButton(other, 20), i < near3.length - 1 ? "," : "")));
    line.append(last);
    return line;
  }

  // --- all together -------------------------------------------------------------------------------------------

  function absent(view, why) {
    const place = $(view.id);
    place.classList.add("none");
    place.removeAttribute("tabindex");
    place.replaceChildren(make("p", { class: "absent" }, `No picture: ${why}.`));
  }

  async function draw(view) {
    try {
      if (!view.drawn) $(view.id).replaceChildren();
      await Plotly.react(view.id, view.traces(), view.layout(), { ...CONFIG, modeBarButtons: [[...view.tools, ...saving()]] });
      if ($(view.id).querySelector(".no-webgl")) {
        Plotly.purge(view.id);
        throw new Error("3-D pictures need WebGL, which this browser does not have");
      }
      const first = !view.drawn;
      view.drawn = true;
      if (first && (view === mapView || view === spaceView)) listen($(view.id));
      if (view.settle) await view.settle(first);
    } catch (error) {
      view.drawn = false;
      absent(view, error.message);
    }
  }

  function setTheme(theme) {
    state.theme = theme;
    document.documentElement.dataset.theme = theme;
    $("theme").textContent = theme === "dark" ? "Light" : "Dark";
    colouring.choose(state.colour);
    return Promise.all(plots.filter((view) => view.drawn).map(draw));
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
    for (const view of [mapView, spaceView]) if (view.drawn) draw(view);
  });
  document.querySelectorAll("[data-turn]").forEach((button) => {
    button.addEventListener("click", () => spaceView.turn(button.dataset.turn));
  });
  document.querySelectorAll("[data-zoom]").forEach((button) => {
    button.addEventListener("click", () => mapView.zoom(button.dataset.zoom));
  });
  document.querySelectorAll("[data-save]").forEach((button) => {
    button.addEventListener("click", () => save($(button.dataset.plot), button.dataset.save));
  });
  $("space-plot").addEventListener("keydown", (event) => {
    const how = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", "+": "in", "-": "out" }[event.key];
    if (how) { event.preventDefault(); spaceView.turn(how); }
  });
  $("map-plot").addEventListener("keydown", (event) => {
    const how = { "+": "in", "-": "out", "0": "reset" }[event.key];
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (how) { event.preventDefault(); mapView.zoom(how); }
    if (step) { event.preventDefault(); choose((state.chosen + step + count + (state.chosen < 0 && step < 0 ? 1 : 0)) % count); }
  });

  let before = null;
  window.addEventListener("beforeprint", () => {
    before = { theme: state.theme, rows: state.rows };
    state.rows = 50;
    showTable(false);
    setTheme("light");
    // A drawing in space cannot be made anew in time: all are shrunk to the paper.
    for (const view of plots) {
      const place = $(view.id), { width, height } = place.getBoundingClientRect();
      Object.assign(place.style, { width: `${width}px`, height: `${height}px`, zoom: Math.min(1, 660 / width) });
    }
  });
  window.addEventListener("afterprint", () => {
    state.rows = before.rows;
    showTable(false);
    for (const view of plots) Object.assign($(view.id).style, { width: "", height: "", zoom: "" });
    setTheme(before.theme);
  });

  makeHeads();
  mapView.prepare();
  setTheme(dark.matches ? "dark" : "light");
  showTable(false);
  mapView.sketch();
  plots.push(mapView, distanceView);
  if (data.loss) plots.push(lossView);
  else { $("loss-words").remove(); absent(lossView, "this run has no recorded losses"); }
  plots.push(spaceView); // last, for it takes longest
  // The words and the table are there and can be used before plotly, which is large, is even read.
  const painted = new Promise((resolve) => {
    new PerformanceObserver(resolve).observe({ type: "paint", buffered: true });
    window.setTimeout(resolve, 500);
  });
  const loaded = new Promise((resolve) => window.addEventListener("load", resolve));
  const pause = () => new Promise((resolve) => window.setTimeout(resolve, 0));
  (async () => {
    await Promise.all([loaded, painted]);
    await pause();
    const plotly = make("script");
    plotly.textContent = $("plotly").textContent;
    document.body.append(plotly);
    for (const view of plots) {
      await pause();
      await draw(view);
      document.documentElement.dataset.drawn = view.id;
    }
    document.documentElement.dataset.ready = "true";
  })();
})();
