"use strict";
// Text from elsewhere goes into the page by textContent alone, and never to plotly, whose texts are markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const { nodes, near, edges, total } = data;
  const count = nodes.name.length;
  const narrow = window.matchMedia("(max-width: 640px)");
  const state = { chosen: -1, query: "", key: "rank", down: false, page: 0, rows: 25, theme: "light" };
  const plots = [];

  // --- text ---------------------------------------------------------------------------------------------------

  const visible = (text) => text.replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)));
  const nameOf = (k) => (k < count ? nodes.name[k] : near.others[k - count]);

  function shorten(text, most = 40) {
    if (text.length <= most) return text;
    const letters = Array.from(text.slice(0, 2 * most));
    return letters.slice(0, most).join("") + "…";
  }

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function label(text, most) {
    const element = make("bdi");
    element.textContent = text.trim() ? visible(shorten(text, most)) : `“${shorten(text, most)}”`;
    if (element.textContent !== text) element.title = text;
    return element;
  }

  function nodeButton(k, most) {
    const button = make("button", { type: "button", class: "link" }, label(nameOf(k), most));
    button.addEventListener("click", () => choose(k));
    return button;
  }

  const number = (value) => {
    const size = Math.abs(value);
    return size < 100 ? value.toFixed(4) : size < 1e4 ? value.toFixed(2) : value.toPrecision(6);
  };
  const whole = (value) => value.toLocaleString("en");

  // --- theme --------------------------------------------------------------------------------------------------

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  // Cividis, which reads the same with any kind of colour vision; the top of the ranking stands out from the paper.
  const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
  const scaleColours = () => (state.theme === "dark" ? [...CIVIDIS].reverse() : CIVIDIS);
  const colourScale = () => scaleColours().map((c, k) => [k / (CIVIDIS.length - 1), c]);

  function base() {
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("quiet") },
      margin: { l: 62, r: 16, t: 16, b: 46 },
      showlegend: false,
      hovermode: "closest",
      dragmode: window.matchMedia("(pointer: coarse)").matches ? false : "pan",
    };
  }

  const axis = (text, more = {}) => ({
    title: { text, standoff: 10 }, gridcolor: colour("rule"), linecolor: colour("rule"), zeroline: false,
    automargin: true, ...more,
  });
  const CONFIG = {
    responsive: true, displaylogo: false, scrollZoom: false, doubleClick: "reset",
    displayModeBar: window.matchMedia("(pointer: coarse)").matches ? false : "hover",
  };

  // --- the graph ----------------------------------------------------------------------------------------------

  const WIDTHS = [0.6, 1.1, 1.9, 3];
  const STRENGTHS = [0.32, 0.42, 0.55, 0.7];
  const bandStyle = (band) => {
    const k = edges.bands.length === 1 ? 1 : Math.round((band * (WIDTHS.length - 1)) / (edges.bands.length - 1));
    return { width: WIDTHS[k], opacity: STRENGTHS[k] * (edges.band.length > 3000 ? 0.5 : 1) };
  };
  const incident = [];

  function segments(list) {
    const { across, delta } = nodes;
    return list
      .map((e) => {
        const a = edges.ends[2 * e], b = edges.ends[2 * e + 1];
        return `M${across[a]},${delta[a]}L${across[b]},${delta[b]}`;
      })
      .join("");
  }

  // One path for each band of strength: thousands of lines would be thousands of elements.
  const path = (list, style) => ({
    type: "path", path: segments(list), layer: "between", line: { color: style.color, width: style.width },
    opacity: style.opacity, xref: "x", yref: "y",
  });

  const graphView = {
    id: "graph-plot",
    tools: ["zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"],
    prepare() {
      this.bands = edges.bands.map(() => []);
      edges.band.forEach((band, e) => this.bands[band].push(e));
      for (let k = 0; k < count; k++) incident.push([]);
      edges.band.forEach((_, e) => {
        incident[edges.ends[2 * e]].push(e);
        incident[edges.ends[2 * e + 1]].push(e);
      });
      const most = Math.max(...nodes.strength, 1e-300), size = count > 800 ? 5 : 9;
      this.sizes = nodes.strength.map((s) => size * (0.7 + 1.5 * Math.sqrt(s / most)));
    },
    shapes() {
      const found = this.bands.map((list, band) => path(list, { color: colour("line"), ...bandStyle(band) }));
      // Always as many: plotly leaves behind what is taken away.
      const marked = incident[state.chosen] ?? [];
      const own = path(marked, { color: colour("mark"), width: 1.8, opacity: marked.length ? 0.9 : 0 });
      return [...found, marked.length ? own : { ...own, path: "M0,0" }];
    },
    chosen() {
      const k = state.chosen;
      return k < 0 ? { x: [], y: [] } : { x: [nodes.across[k]], y: [nodes.delta[k]] };
    },
    traces() {
      return [
        {
          type: "scatter", mode: "markers", x: nodes.across, y: nodes.delta, hoverinfo: "none",
          marker: {
            size: this.sizes, color: nodes.rank, cmin: 1, cmax: Math.max(total, 2), colorscale: colourScale(), opacity: 1,
            line: { color: colour(state.theme === "dark" ? "quiet" : "line"), width: 0.8 },
          },
        },
        {
          type: "scatter", mode: "markers", ...this.chosen(), hoverinfo: "skip",
          marker: { size: 26, color: "rgba(0,0,0,0)", line: { color: colour("mark"), width: 3 } },
        },
      ];
    },
    ranges() {
      const width = Math.max(1, ...nodes.across.map(Math.abs)) * 1.06;
      const low = Math.min(...nodes.delta), high = Math.max(...nodes.delta), room = 0.06 * (high - low) || 1;
      return { x: [-width, width], y: [high + room, low - room] };
    },
    layout() {
      const { x, y } = this.ranges();
      return {
        ...base(), shapes: this.shapes(),
        xaxis: { visible: false, range: x },
        yaxis: axis("δ, the sum of distances", { range: y, showline: false, nticks: 6 }),
      };
    },
    // What plotly will draw, seen at once: it is there before plotly is.
    sketch() {
      const place = $(this.id), canvas = make("canvas"), sharp = window.devicePixelRatio || 1;
      const { width, height } = place.getBoundingClientRect(), { l, r, t, b } = base().margin, { x, y } = this.ranges();
      canvas.width = width * sharp;
      canvas.height = height * sharp;
      canvas.style.cssText = "position: absolute; inset: 0; width: 100%; height: 100%";
      const pen = canvas.getContext("2d");
      const at = (k) => [
        l + ((nodes.across[k] - x[0]) / (x[1] - x[0])) * (width - l - r),
        height - b - ((nodes.delta[k] - y[0]) / (y[1] - y[0])) * (height - t - b),
      ];
      pen.scale(sharp, sharp);
      this.bands.forEach((list, band) => {
        const style = bandStyle(band);
        pen.beginPath();
        for (const e of list) { pen.moveTo(...at(edges.ends[2 * e])); pen.lineTo(...at(edges.ends[2 * e + 1])); }
        Object.assign(pen, { strokeStyle: colour("line"), lineWidth: style.width, globalAlpha: style.opacity });
        pen.stroke();
      });
      const scale = scaleColours();
      pen.globalAlpha = 1;
      pen.strokeStyle = colour("line");
      pen.lineWidth = 0.8;
      for (let k = 0; k < count; k++) {
        pen.beginPath();
        pen.arc(...at(k), this.sizes[k] / 2, 0, 2 * Math.PI);
        pen.fillStyle = scale[Math.floor(((nodes.rank[k] - 1) / total) * scale.length)];
        pen.fill();
        pen.stroke();
      }
      place.replaceChildren(canvas);
    },
    mark() {
      const { x, y } = this.chosen();
      return Plotly.update(this.id, { x: [x], y: [y] }, { shapes: this.shapes() }, [1]);
    },
  };

  function graphLegend() {
    const words = edges.bands.map(([low, high, size], band) => {
      const line = make("i"), style = bandStyle(band);
      line.style.height = `${Math.max(1, style.width)}px`;
      line.style.opacity = Math.min(1, style.opacity + 0.15);
      return make("span", {}, line, `weight ${low === high ? low : `${low} to ${high}`} (${whole(size)})`);
    });
    const scale = make("i", { class: "scale" });
    scale.style.background = `linear-gradient(to right, ${scaleColours().join(",")})`;
    $("graph-legend").replaceChildren(make("span", {}, "rank 1 ", scale, ` ${whole(total)}`), ...words);
  }

  // --- the points in space ------------------------------------------------------------------------------------

  const EYE = narrow.matches ? { x: 2.1, y: 2.1, z: 0.95 } : { x: 1.5, y: 1.5, z: 0.7 };
  const spaceView = {
    id: "space-plot",
    tools: ["orbitRotation", "pan3d", "resetCameraDefault3d", "toImage"],
    at(k) {
      const [x, y, z] = data.space.points;
      return k < 0 ? { x: [], y: [], z: [] } : { x: [x[k]], y: [y[k]], z: [z[k]] };
    },
    traces() {
      const [x, y, z] = data.space.points;
      return [
        {
          type: "scatter3d", mode: "markers", x, y, z, hoverinfo: "none",
          marker: {
            size: count > 800 ? 3 : 6, color: nodes.rank, cmin: 1, cmax: Math.max(total, 2), colorscale: colourScale(),
            line: { color: colour(state.theme === "dark" ? "quiet" : "line"), width: count > 800 ? 0 : 0.8 },
            colorbar: narrow.matches ? undefined
              : { title: { text: "rank" }, thickness: 12, len: 0.6, outlinewidth: 0, tickfont: { color: colour("quiet") } },
            showscale: !narrow.matches,
          },
        },
        {
          type: "scatter3d", mode: "markers", ...this.at(state.chosen), hoverinfo: "skip",
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
          camera: { eye: { ...(this.eye || EYE) }, center: { x: 0, y: 0, z: -0.12 } },
        },
      };
    },
    mark() {
      const { x, y, z } = this.at(state.chosen);
      return Plotly.restyle(this.id, { x: [x], y: [y], z: [z] }, [1]);
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
      if (how === "nearer") away /= 1.25;
      if (how === "farther") away *= 1.25;
      this.eye = { x: away * Math.cos(tilt) * Math.cos(round), y: away * Math.cos(tilt) * Math.sin(round), z: away * Math.sin(tilt) };
      if (how === "back") this.eye = { ...EYE };
      Plotly.relayout(plot, { "scene.camera.eye": this.eye });
    },
  };

  // --- distances and loss -------------------------------------------------------------------------------------

  const distanceView = {
    id: "distances-plot",
    tools: ["toImage"],
    rug() {
      const k = state.chosen;
      if (k < 0) return { x: [], y: [] };
      const far = edges ? (incident[k] || []).map((e) => edges.distances[e])
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
          hovertemplate: `%{x:.3f}: %{y:.2f} % of ${name}, %{customdata} pairs<extra></extra>`,
        };
      };
      const found = [part(others, edges ? "non-edges" : "pairs", colour("others"), "/")];
      if (edges) found.push(part(tied, "edges", colour("edges"), ""));
      found.push({
        type: "scatter", mode: "markers", name: edges ? "the found node and its neighbours" : "the found node and the nearest",
        ...this.rug(), hovertemplate: "%{x:.4f}<extra></extra>", cliponaxis: false,
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
        marker: { size: 10, color: colour("mark"), symbol: "diamond" }, hovertemplate: "the best, kept<extra></extra>",
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
    const words = [`rank ${ranked(k)} of ${whole(total)}`, `δ ${number(nodes.delta[k])}`];
    if (nodes.strength) words.push(`strength ${nodes.strength[k]}`);
    return words.join(" · ");
  }

  const nearestOf = (k) => near.nodes.slice(k * near.k, (k + 1) * near.k);

  function showTip(k) {
    const name = make("strong", {}, label(nodes.name[k], 60));
    const parts = [name];
    if (nodes.label && nodes.label[k]) parts.push(make("div", {}, label(nodes.label[k], 60)));
    parts.push(make("div", {}, facts(k)));
    if (near.k) {
      const line = make("div", {}, "nearest: ");
      nearestOf(k).forEach((other, i) => {
        const far = near.distances[k * near.k + i];
        line.append(i ? ", " : "", label(nameOf(other), 24), ` (${far})`);
      });
      parts.push(line);
    }
    tip.replaceChildren(...parts);
    tip.hidden = false;
    placeTip();
  }

  function listen(plot) {
    plot.on("plotly_hover", (event) => {
      const point = event.points[0];
      if (point.curveNumber === 0) showTip(point.pointNumber);
    });
    plot.on("plotly_unhover", () => { tip.hidden = true; });
    plot.on("plotly_click", (event) => {
      const point = event.points[0];
      if (point.curveNumber === 0) choose(point.pointNumber);
    });
  }

  // --- finding ------------------------------------------------------------------------------------------------

  const lower = nodes.name.map((name, k) => [name.toLowerCase(), (nodes.label ? nodes.label[k] : "").toLowerCase()]);

  function matches() {
    const query = state.query.toLowerCase();
    if (!query) return nodes.name.map((_, k) => k);
    const found = [];
    lower.forEach(([name, text], k) => { if (name.includes(query) || text.includes(query)) found.push(k); });
    return found;
  }

  function best(found) {
    const query = state.query.toLowerCase();
    const exact = found.find((k) => nodes.name[k] === state.query) ?? found.find((k) => lower[k][0] === query);
    return exact ?? found.find((k) => lower[k][0].startsWith(query)) ?? found[0] ?? -1;
  }

  let waiting = 0;
  function search(text, from) {
    state.query = text.trim();
    document.querySelectorAll(".find").forEach((input) => { if (input !== from) input.value = text; });
    const found = matches();
    state.page = 0;
    mark(state.query ? best(found) : -1, found.length);
  }

  // A node that is pointed out by its position: the search is cleared, so that the table has all rows.
  function choose(k) {
    if (k >= count) {
      say(make("strong", {}, label(nameOf(k))), " is not among the nodes of this page.");
      return;
    }
    state.query = "";
    document.querySelectorAll(".find").forEach((input) => { input.value = ""; });
    mark(k, count);
  }

  function say(...parts) { $("found").replaceChildren(...parts); }

  function mark(k, found) {
    state.chosen = k;
    $("clear").hidden = k < 0 && !state.query;
    if (k < 0) {
      const rest = total > count ? ` among the ${whole(count)} of ${whole(total)} that this page holds` : "";
      if (state.query) say(`No node matches${rest}.`);
      else say();
    } else {
      const others = state.query && found > 1 ? ` (${whole(found)} match; Enter goes to the next)` : "";
      const line = [make("strong", {}, label(nodes.name[k])), " · ", facts(k)];
      if (near.k) {
        line.push(" · nearest: ");
        nearestOf(k).forEach((other, i) => line.push(i ? ", " : "", nodeButton(other, 24)));
      }
      say(...line, others);
    }
    showTable(true);
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      document.documentElement.dataset.chosen = String(k);
      for (const view of plots) if (view.drawn) view.mark();
    }, 30);
  }

  function next() {
    const found = matches();
    if (!state.query || !found.length) return;
    mark(found[(found.indexOf(state.chosen) + 1) % found.length], found.length);
  }

  // --- the table ----------------------------------------------------------------------------------------------

  const COLUMNS = [
    { key: "rank", head: "rank", kind: "number" },
    { key: "name", head: "node", kind: "text" },
    ...(nodes.label ? [{ key: "label", head: "label", kind: "text" }] : []),
    { key: "delta", head: "δ", kind: "number", show: number },
    ...(nodes.strength ? [{ key: "strength", head: "strength", kind: "number", show: String }] : []),
    ...(nodes.degree ? [{ key: "degree", head: "neighbours", kind: "number", extra: true, show: whole }] : []),
  ];

  function makeHeads() {
    for (const column of COLUMNS) {
      const button = make("button", { type: "button" }, column.head);
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

  const classes = (column) => `${column.kind === "number" && column.key !== "rank" ? "number" : ""}${column.extra ? " extra" : ""}`;

  function sorted(found) {
    const values = nodes[state.key], text = COLUMNS.find((column) => column.key === state.key).kind === "text";
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
      ? `${whole(first + 1)} to ${whole(first + here.length)} of ${whole(found.length)}` : "no node matches";
    $("before").disabled = state.page === 0;
    $("after").disabled = state.page >= pages - 1;
  }

  function row(k) {
    const line = make("tr", k === state.chosen ? { class: "chosen", "aria-current": "true" } : {});
    for (const column of COLUMNS) {
      const cell = make("td", { class: classes(column) });
      if (column.key === "name") cell.append(nodeButton(k));
      else if (column.key === "label") cell.append(label(nodes.label[k]));
      else if (column.key === "rank") cell.append(ranked(k));
      else cell.append((column.show || whole)(nodes[column.key][k]));
      line.append(cell);
    }
    const last = make("td", { class: "extra" });
    nearestOf(k).slice(0, 3).forEach((other, i) => last.append(i ? ", " : "", nodeButton(other, 20)));
    line.append(last);
    return line;
  }

  // --- all together -------------------------------------------------------------------------------------------

  function absent(view, why) {
    const place = $(view.id);
    place.classList.add("none");
    place.removeAttribute("tabindex");
    place.replaceChildren(make("p", { class: "absent" }, `Not drawn: ${why}.`));
  }

  async function draw(view) {
    try {
      if (!view.drawn) $(view.id).replaceChildren();
      await Plotly.react(view.id, view.traces(), view.layout(), { ...CONFIG, modeBarButtons: [view.tools] });
      if ($(view.id).querySelector(".no-webgl")) {
        Plotly.purge(view.id);
        throw new Error("this browser draws nothing in space, for it has no WebGL");
      }
      if (!view.drawn && (view === graphView || view === spaceView)) listen($(view.id));
      view.drawn = true;
    } catch (error) {
      view.drawn = false;
      absent(view, error.message);
    }
  }

  function setTheme(theme) {
    state.theme = theme;
    document.documentElement.dataset.theme = theme;
    $("theme").textContent = theme === "dark" ? "Light" : "Dark";
    if (edges) graphLegend();
    return Promise.all(plots.filter((view) => view.drawn).map(draw));
  }

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  $("theme").addEventListener("click", () => setTheme(state.theme === "dark" ? "light" : "dark"));
  document.querySelectorAll(".find").forEach((input) => {
    input.addEventListener("input", () => search(input.value, input));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") next();
      if (event.key === "Escape") search("", null);
    });
  });
  $("clear").addEventListener("click", () => { search("", null); $("find").focus(); });
  $("before").addEventListener("click", () => { state.page -= 1; showTable(false); });
  $("after").addEventListener("click", () => { state.page += 1; showTable(false); });
  document.querySelectorAll("[data-turn]").forEach((button) => {
    button.addEventListener("click", () => spaceView.turn(button.dataset.turn));
  });
  $("space-plot").addEventListener("keydown", (event) => {
    const how = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", "+": "nearer", "-": "farther" }[event.key];
    if (how) { event.preventDefault(); spaceView.turn(how); }
  });
  $("graph-plot").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
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
  showTable(false);
  setTheme(dark.matches ? "dark" : "light");
  if (edges) {
    graphView.prepare();
    graphView.sketch();
    plots.push(graphView);
  } else { $("graph-plot").remove(); $("graph-legend").remove(); }
  plots.push(distanceView);
  if (data.loss) plots.push(lossView);
  else { $("loss-words").remove(); absent(lossView, "the record of this training holds no losses"); }
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
