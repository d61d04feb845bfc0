"use strict";
// Where names stand on a picture: inside it, beside their nodes, and none over another.
const placeNames = (() => {
  const GAP = 3;
  const SIDES = [[1, 0], [-1, 0], [0, -1], [0, 1], [0.8, -0.8], [0.8, 0.8], [-0.8, -0.8], [-0.8, 0.8]];
  const RINGS = 16, FARTHEST = 260;
  const WORST = 60; // beyond this, a name that covers more dots is no worse: it stays near its node
  const FIRST = 25; // so many of the names may cover a small dot

  const overlaps = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const inside = (a, frame) =>
    a.left >= frame.left && a.right <= frame.right && a.top >= frame.top && a.bottom <= frame.bottom;

  // The box of a name whose nearest edge or corner is so far from the middle of its node, in a direction.
  function boxAt(name, [dx, dy], away) {
    const x = name.x + dx * away + (Math.sign(Math.round(dx * 2)) * name.width) / 2;
    const y = name.y + dy * away + (Math.sign(Math.round(dy * 2)) * name.height) / 2;
    return {
      left: x - name.width / 2 - 1, right: x + name.width / 2 + 1,
      top: y - name.height / 2, bottom: y + name.height / 2, x, y,
    };
  }

  // How much of the dots a name would cover, its own aside.
  function covered(box, dots, own) {
    let cost = 0;
    for (const dot of dots) {
      if (dot.k === own) continue;
      const dx = Math.max(box.left - dot.x, 0, dot.x - box.right), dy = Math.max(box.top - dot.y, 0, dot.y - box.bottom);
      if (dx * dx + dy * dy < dot.r * dot.r) cost += 3 + dot.r;
    }
    return cost;
  }

  function best(name, candidates, placed, dots, frame) {
    let found = null, least = Infinity;
    candidates.forEach((box, number) => {
      if (!inside(box, frame) || placed.some((other) => overlaps(box, other))) return;
      const cost = Math.min(covered(box, dots, name.k), WORST) + 0.4 * number;
      if (cost < least) [found, least] = [box, cost];
    });
    return { box: found, cost: least };
  }

  // names: [{k, x, y, r, width, height, must}] in pixels, the most important first; dots: [{k, x, y, r}].
  // Names that must stand somewhere move away from their node until there is room; the others are left out.
  return (names, dots, frame) => {
    const placed = [];
    for (const [number, name] of names.entries()) {
      const near = SIDES.map((side) => boxAt(name, side, name.r + GAP));
      let { box, cost } = best(name, near, placed, dots, frame);
      if (!name.must) {
        if (box && cost < (number < FIRST ? 8 : 3)) placed.push({ ...name, ...box, led: false });
        continue;
      }
      let led = false;
      for (let away = name.r + 14; away < FARTHEST && (!box || cost > 24); away += 12) {
        const ring = [];
        for (let turn = 0; turn < RINGS; turn++) {
          const angle = (2 * Math.PI * turn) / RINGS;
          ring.push(boxAt(name, [Math.cos(angle), Math.sin(angle)], away));
        }
        const next = best(name, ring, placed, dots, frame);
        if (next.box && (!box || next.cost + away / 2 < cost)) [box, cost, led] = [next.box, next.cost + away / 2, true];
      }
      if (box) placed.push({ ...name, ...box, led });
    }
    return placed;
  };
})();
