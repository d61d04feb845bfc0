"use strict";
// What pictures are drawn with: a canvas on the page, or an SVG file, by the same three strokes. Names are text in both.
const pens = (() => {
  const family = () => getComputedStyle(document.body).fontFamily;

  function onCanvas(canvas, width, height, paper, sharp = window.devicePixelRatio || 1) {
    const brush = canvas.getContext("2d");
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
    brush.scale(sharp, sharp);
    brush.fillStyle = paper;
    brush.fillRect(0, 0, width, height);
    Object.assign(brush, { textBaseline: "middle", lineJoin: "round" });
    const ink = (path, { fill, stroke, width: wide = 1, opacity = 1 }) => {
      brush.globalAlpha = opacity;
      if (fill) { brush.fillStyle = fill; brush.fill(path); }
      if (stroke) { Object.assign(brush, { strokeStyle: stroke, lineWidth: wide }); brush.stroke(path); }
    };
    return {
      path: (d, look) => ink(new Path2D(d), look),
      dot(x, y, r, look) {
        const circle = new Path2D();
        circle.arc(x, y, r, 0, 2 * Math.PI);
        ink(circle, look);
      },
      text(x, y, words, { size, color, weight = 400, anchor = "middle", halo = true }) {
        Object.assign(brush, { font: `${weight} ${size}px ${family()}`, textAlign: anchor === "middle" ? "center" : anchor, globalAlpha: 1 });
        if (halo) { Object.assign(brush, { strokeStyle: paper, lineWidth: 3 }); brush.strokeText(words, x, y); }
        brush.fillStyle = color;
        brush.fillText(words, x, y);
      },
    };
  }

  function asSvg(width, height, paper) {
    const element = (tag, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(name, value);
      return made;
    };
    const svg = element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": family() });
    const ink = ({ fill = "none", stroke, width: wide = 1, opacity }) => ({ fill, stroke, "stroke-width": stroke && wide, opacity });
    svg.append(element("rect", { width, height, fill: paper }));
    return {
      svg,
      path: (d, look) => svg.append(element("path", { d, ...ink(look) })),
      dot: (cx, cy, r, look) => svg.append(element("circle", { cx, cy, r, ...ink(look) })),
      text(x, y, words, { size, color, weight = 400, anchor = "middle", halo = true }) {
        const made = element("text", {
          x, y, fill: color, "font-size": size, "font-weight": weight, "text-anchor": anchor, "dominant-baseline": "central",
          ...(halo ? { stroke: paper, "stroke-width": 3, "paint-order": "stroke", "stroke-linejoin": "round" } : {}),
        });
        made.textContent = words;
        svg.append(made);
      },
    };
  }

  return { family, onCanvas, asSvg };
})();
