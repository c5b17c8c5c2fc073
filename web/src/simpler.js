// Coarser copies of a mesh, for what is small on the page: corners that share a cell of a grid become one.

import { BufferGeometry, Float32BufferAttribute, IcosahedronGeometry } from "three";
import { mergeVertices, toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";

const CELLS = [5, 3, 2]; // along each side of the mesh's box, from fine to coarse
const WORTH = 0.7; // a coarser copy is kept if it has less than this share of the triangles
const FEW = 12; // triangles: need no copy
const FILLED = [0.55, 1.8]; // a coarser copy is kept if it fills such a share of the volume: a ring stays a ring

function geometryOf(corners, triangles) {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new Float32BufferAttribute(corners, 3));
  geometry.setIndex(Array.from(triangles));
  return geometry;
}

// smooth but for edges sharper than an angle (rad); corners that look alike are shared
export function smooth(geometry, angle) {
  return mergeVertices(toCreasedNormals(geometry, angle));
}

// in each cell the corner that is farthest from the middle stands for all: the outline stays
function clustered(corners, triangles, cells) {
  const count = corners.length / 3;
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < corners.length; i += 1) {
    low[i % 3] = Math.min(low[i % 3], corners[i]);
    high[i % 3] = Math.max(high[i % 3], corners[i]);
  }
  const side = low.map((each, k) => high[k] - each);
  const chosen = new Map();
  const cellOf = new Int32Array(count);
  for (let i = 0; i < count; i += 1) {
    let cell = 0;
    let away = 0;
    for (let k = 0; k < 3; k += 1) {
      const share = side[k] > 0 ? (corners[3 * i + k] - low[k]) / side[k] : 0;
      cell = cell * cells + Math.min(cells - 1, Math.floor(share * cells));
      away += (share - 0.5) ** 2;
    }
    cellOf[i] = cell;
    const best = chosen.get(cell);
    if (!best || away > best.away + 1e-6) chosen.set(cell, { corner: i, away });
  }
  const seen = new Set();
  const found = [];
  for (let i = 0; i < triangles.length; i += 3) {
    const three = [0, 1, 2].map((k) => chosen.get(cellOf[triangles[i + k]]).corner);
    if (new Set(three).size < 3) continue;
    const first = three.indexOf(Math.min(...three)); // a triangle and its back are two
    const key = [0, 1, 2].map((k) => three[(first + k) % 3]).join();
    if (seen.has(key)) continue;
    seen.add(key);
    found.push(...three);
  }
  return found;
}

// whether a mesh { corners, triangles } has no rim and shows its outer side: its inner one need not be drawn
export function closed({ corners, triangles }) {
  const places = new Map();
  const near = 1e-5 * corners.reduce((most, each) => Math.max(most, Math.abs(each)), 0); // rounding: one corner
  const place = Array.from({ length: corners.length / 3 }, (_, i) => {
    const key = Array.from(corners.subarray(3 * i, 3 * i + 3), (each) => Math.round(each / near)).join(" ");
    if (!places.has(key)) places.set(key, places.size);
    return places.get(key);
  });
  const sides = new Map();
  for (let i = 0; i < triangles.length; i += 3) {
    for (let k = 0; k < 3; k += 1) {
      const [from, to] = [place[triangles[i + k]], place[triangles[i + ((k + 1) % 3)]]];
      const key = from < to ? `${from} ${to}` : `${to} ${from}`;
      if (from !== to) sides.set(key, (sides.get(key) ?? 0) + (from < to ? 1 : -1));
    }
  }
  return volume(corners, triangles) > 0 && Array.from(sides.values()).every((left) => left === 0);
}

function volume(corners, triangles) {
  let sum = 0;
  for (let i = 0; i < triangles.length; i += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => corners.subarray(3 * triangles[i + k], 3 * triangles[i + k] + 3));
    sum += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
  }
  return sum / 6;
}

// the corners that are farthest in the directions of an icosahedron's, joined as its are
function wrapped(corners) {
  const directions = new IcosahedronGeometry(1, 0).getAttribute("position").array; // three for each triangle
  const found = [];
  for (let i = 0; i < directions.length; i += 3) {
    let best = 0;
    let most = -Infinity;
    for (let k = 0; k < corners.length; k += 3) {
      const far = corners[k] * directions[i] + corners[k + 1] * directions[i + 1] + corners[k + 2] * directions[i + 2];
      if (far > most) [best, most] = [k / 3, far];
    }
    found.push(best);
  }
  return found;
}

// geometries of a mesh { corners, triangles }, from fine to coarse
export function levelsOf({ corners, triangles }) {
  const whole = closed({ corners, triangles });
  const all = volume(corners, triangles);
  const filled = (some) => !whole || (volume(corners, some) > FILLED[0] * all && volume(corners, some) < FILLED[1] * all);
  const levels = [smooth(geometryOf(corners, triangles), 0.6)];
  let count = triangles.length;
  const ways = CELLS.map((cells) => () => clustered(corners, triangles, cells));
  if (whole) ways.push(() => wrapped(corners)); // round things have no corners that a few cells could keep
  for (const way of ways) {
    if (count <= 3 * FEW) break;
    const fewer = way();
    if (fewer.length === 0 || fewer.length > WORTH * count || !filled(fewer)) continue;
    levels.push(smooth(geometryOf(corners, fewer), 1));
    count = fewer.length;
  }
  return levels;
}
