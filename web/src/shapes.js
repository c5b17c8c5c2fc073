// Geometries of symbols. Stretched ones go along z from 0 to 1 and are a unit wide; others are a unit large about 0.

import {
  BoxGeometry, BufferGeometry, CatmullRomCurve3, ConeGeometry, CylinderGeometry, Float32BufferAttribute, LatheGeometry,
  SphereGeometry, TubeGeometry, Vector2, Vector3,
} from "three";
import { mergeGeometries } from "three/addons/utils/BufferGeometryUtils.js";

const COILS = 7;
const LEAD = 0.16; // of a spring's length at either end is straight

function along(geometry, from, to) {
  return geometry.rotateX(Math.PI / 2).scale(1, 1, to - from).translate(0, 0, (from + to) / 2);
}

function rod(radius, from = 0, to = 1, around = 12, open = false) {
  return along(new CylinderGeometry(radius, radius, 1, around, 1, open), from, to);
}

// wound in the proportions that most springs have, so that its wire stays round when it is stretched
function coil(around = 24, sides = 6) {
  const long = 14;
  const points = [new Vector3(0, 0, 0), new Vector3(0, 0, LEAD * 0.7 * long)];
  const steps = Math.min(14, around) * COILS;
  for (let k = 0; k <= steps; k += 1) {
    const angle = (2 * Math.PI * COILS * k) / steps;
    points.push(new Vector3(Math.cos(angle), Math.sin(angle), (LEAD + ((1 - 2 * LEAD) * k) / steps) * long));
  }
  points.push(new Vector3(0, 0, (1 - LEAD * 0.7) * long), new Vector3(0, 0, long));
  const curve = new CatmullRomCurve3(points, false, "catmullrom", 0.2);
  return new TubeGeometry(curve, around * COILS, 0.16, sides).scale(1, 1, 1 / long);
}

// as flat as a ribbon: enough for what is small on the page
function ribbon(around) {
  const half = 0.012; // as broad as the wire of a spring, along its axis
  const steps = around * COILS;
  const path = [[0, 0, 0], [0, 0, LEAD]];
  for (let k = 0; k <= steps; k += 1) {
    const angle = (2 * Math.PI * k) / around;
    path.push([Math.cos(angle), Math.sin(angle), LEAD + ((1 - 2 * LEAD) * k) / steps]);
  }
  path.push([0, 0, 1 - LEAD], [0, 0, 1]);
  const corners = [];
  const normals = [];
  const triangles = [];
  path.forEach(([x, y, z], k) => {
    const end = x === 0 && y === 0; // the straight ends stand on edge
    for (const way of [-1, 1]) {
      corners.push(end ? 10 * half * way : x, y, end ? z : z + half * way);
      normals.push(...(end ? [0, 1, 0] : [x, y, 0]));
    }
    if (k > 0) triangles.push(2 * k - 2, 2 * k, 2 * k - 1, 2 * k - 1, 2 * k, 2 * k + 1);
  });
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new Float32BufferAttribute(corners, 3));
  geometry.setAttribute("normal", new Float32BufferAttribute(normals, 3));
  return geometry.setIndex(triangles);
}

function dashpot(width, around = 12) {
  const part = (radius, from, to) => rod(radius * width, from, to, around, around < 4);
  return mergeGeometries([part(0.16, 0, 0.55), part(0.62, 0.38, 0.78), part(0.16, 0.78, 1)]);
}

function spindle(around = 16) {
  const outline = Array.from({ length: 15 }, (_, k) => {
    const z = k / 14;
    const belly = Math.sin(Math.PI * Math.min(1, Math.max(0, (z - 0.1) / 0.8)));
    return new Vector2(0.18 + 0.95 * belly ** 1.5, z);
  });
  return new LatheGeometry(outline, around).rotateX(Math.PI / 2);
}

// a spring, then a damper
function inRow(around, sides, faces) {
  return mergeGeometries([coil(around, sides).scale(1, 1, 0.5), dashpot(1, faces).scale(1, 1, 0.5).translate(0, 0, 0.5)]);
}

function bumper() {
  const block = along(new CylinderGeometry(0.75, 0.75, 1, 16), 0, 0.3);
  const tip = along(new CylinderGeometry(0.35, 0.75, 1, 16), 0.3, 0.4);
  return mergeGeometries([block, tip, rod(0.12, 0.4, 1)]);
}

function dashes(around = 6) {
  return mergeGeometries(Array.from({ length: 12 }, (_, k) => rod(1, k / 12, (k + 0.5) / 12, around)));
}

function pyramid() {
  const base = new ConeGeometry(0.8, 1.3, 4).rotateX(Math.PI / 2).translate(0, 0, -0.65);
  const plate = new BoxGeometry(2, 2, 0.22).translate(0, 0, -1.41);
  return mergeGeometries([base.toNonIndexed(), plate.toNonIndexed()]);
}

const coils = [coil(), coil(10, 4), ribbon(5), ribbon(3)];
const rods = [rod(1), rod(1, 0, 1, 6), rod(1, 0, 1, 3, true)];
const dashpots = (width) => [dashpot(width), dashpot(width, 7), dashpot(width, 4), dashpot(width, 3)];

// looks of lines: geometries from fine to coarse, width in joint radii, colour
export const STRETCHED = {
  spring: [[coils, 1.5, "#555555"]],
  damper: [[dashpots(1), 1.5, "#777777"]],
  both: [[coils, 1.8, "#555555"], [dashpots(0.55), 1.5, "#999999"]],
  cylinder: [[dashpots(1.2), 1.6, "#8a6d3b"]],
  cable: [[rods, 0.22, "#333333"]],
  muscle: [[[spindle(), spindle(8), spindle(5)], 1.3, "#b5423b"]],
  bar: [[rods, 0.45, "#4d4d4d"]],
  beam: [[rods, 0.6, "#4d4d4d"]],
  series: [[[inRow(), inRow(10, 4, 7), inRow(4, 3, 3)], 1.5, "#555555"]],
  bumper: [[[bumper()], 1.5, "#333333"]],
  line: [[rods, 0.13, "#8c8c8c"]],
  link: [[[dashes(), dashes(4), dashes(3)], 0.13, "#8c8c8c"]],
};

export const feet = [pyramid(), new ConeGeometry(1.2, 1.5, 4, 1, true).rotateX(Math.PI / 2).translate(0, 0, -0.75)];
export const arrowShaft = rod(1, 0, 1);
export const arrowHead = new ConeGeometry(1, 1, 16).rotateX(Math.PI / 2).translate(0, 0, 0.5);
export const spot = new SphereGeometry(1, 12, 8);
export const axisRod = rod(1, -0.5, 0.5);

export function meshGeometry(mesh) {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new Float32BufferAttribute(mesh.corners, 3));
  geometry.setIndex(Array.from(mesh.triangles));
  return geometry;
}
