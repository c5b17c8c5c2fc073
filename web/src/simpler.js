// Coarser copies of a mesh, for what is small on the page: corners that share a cell of a grid become one.

import { BufferGeometry, Float32BufferAttribute } from "three";
import { mergeVertices, toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";

const CELLS = [5, 3, 2]; // along each side of the mesh's box, from fine to coarse
const WORTH = 0.7; // a coarser copy is kept if it has less than this share of the triangles
const FEW = 12; // triangles: need no copy

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
    const key = three.slice().sort((a, b) => a - b).join();
    if (seen.has(key)) continue;
    seen.add(key);
    found.push(...three);
  }
  return found;
}

// geometries of a mesh { corners, triangles }, from fine to coarse
export function levelsOf({ corners, triangles }) {
  const levels = [smooth(geometryOf(corners, triangles), 0.6)];
  let count = triangles.length;
  for (const cells of CELLS) {
    if (count <= 3 * FEW) break;
    const fewer = clustered(corners, triangles, cells);
    if (fewer.length === 0 || fewer.length > WORTH * count) continue;
    levels.push(smooth(geometryOf(corners, fewer), 1));
    count = fewer.length;
  }
  return levels;
}
