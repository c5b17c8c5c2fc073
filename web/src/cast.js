// One configuration of all bodies: drawn once for the motion itself, and once more for each that is laid over it.

import { BufferAttribute, Color, DoubleSide, DynamicDrawUsage, FrontSide, Group, Matrix4, Mesh, MeshLambertMaterial } from "three";
import { Crowd, edgesOf } from "./crowd.js";
import { Frames } from "./motion.js";
import { meshGeometry } from "./shapes.js";
import { shade } from "./scale.js";
import { closed, levelsOf } from "./simpler.js";

export class Cast {
  // tint: a colour for all of it; opacity: of all of it; software: a processor draws
  constructor(document, { tint = null, opacity = 1, software = false } = {}) {
    this.group = new Group();
    this.frames = new Frames(document.bodies.length, document.modes, document.motion.field?.values.shape[1]);
    this.largest = document.motion.field?.largest ?? 0;
    this.hidden = new Set();
    this.rigid = this.#rigid(document, tint, opacity, software);
    this.flexible = this.#flexible(document, tint, opacity);
    this.open(false);
  }

  #material(color, opacity, flat) {
    const material = new MeshLambertMaterial({ color, side: DoubleSide, flatShading: flat });
    material.userData.opacity = opacity;
    material.transparent = opacity < 1;
    material.opacity = opacity;
    material.depthWrite = opacity > 0.5;
    return material;
  }

  // parts that share a mesh are drawn together
  #rigid(document, tint, opacity, software) {
    const groups = new Map();
    for (const part of document.rigid) {
      const key = `${part.mesh}/${part.opacity}/${part.kind}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(part);
    }
    const meshes = document.meshes.map((mesh) => [levelsOf(mesh), mesh.edges.length && opacity === 1 ? edgesOf(meshGeometry(mesh)) : null, closed(mesh)]);
    return Array.from(groups.values(), (parts) => {
      const [levels, edges, whole] = meshes[parts[0].mesh];
      const material = this.#material("#ffffff", parts[0].opacity * opacity, false);
      material.userData.closed = whole;
      const items = parts.map((part) => ({ part, color: tint ?? part.color }));
      const crowd = new Crowd(this.group, levels, material, items, { edges, software, shines: Boolean(parts[0].shines) && opacity === 1 });
      const offsets = parts.map((part) => new Matrix4().makeTranslation(...part.at));
      return { crowd, parts, offsets, kind: parts[0].kind };
    });
  }

  #flexible(document, tint, opacity) {
    return document.flexible.map((part) => {
      const geometry = meshGeometry(part);
      geometry.getAttribute("position").setUsage(DynamicDrawUsage);
      const field = part.nodes && !tint;
      const mesh = new Mesh(geometry, this.#material(field ? "#ffffff" : tint ?? part.color, part.opacity * opacity, true));
      if (field) {
        mesh.material.vertexColors = true;
        geometry.setAttribute("color", new BufferAttribute(new Float32Array(part.corners.length), 3).setUsage(DynamicDrawUsage));
      }
      mesh.matrixAutoUpdate = false;
      mesh.frustumCulled = false;
      this.group.add(mesh);
      return { mesh, part, corners: Float32Array.from(part.corners), kind: part.kind };
    });
  }

  update() {
    const matrix = new Matrix4();
    for (const { crowd, parts, offsets } of this.rigid) {
      parts.forEach((part, k) => {
        crowd.hidden[k] = this.hidden.has(part.owner);
        crowd.place(k, matrix.multiplyMatrices(this.frames.matrices[part.frame], offsets[k]));
      });
    }
    for (const { mesh, part, corners } of this.flexible) {
      mesh.visible = !this.hidden.has(part.owner);
      mesh.matrix.copy(this.frames.matrices[part.frame]);
      bend(mesh.geometry, part, corners, this.frames.eta);
      if (mesh.material.vertexColors) paint(mesh.geometry, part, this.frames.field, this.largest || 1);
    }
  }

  // of the boxes about all parts of bodies, in the world
  corners() {
    const found = [];
    for (const { crowd, kind } of this.rigid) {
      if (kind !== "body") continue;
      for (const matrix of crowd.matrices) for (const corner of crowd.corners) found.push(corner.clone().applyMatrix4(matrix));
    }
    return found;
  }

  draw(sight) {
    if (this.group.visible) for (const { crowd } of this.rigid) crowd.draw(sight);
  }

  // where a ray meets parts, nearest first: { part, point }
  met(ray) {
    const found = [];
    for (const { crowd } of this.rigid) for (const { item, ...hit } of crowd.met(ray)) found.push({ part: item.part, ...hit });
    for (const { mesh, part } of this.flexible) {
      if (mesh.visible) for (const { point, distance } of ray.intersectObject(mesh, false)) found.push({ part, point, distance });
    }
    return found.sort((a, b) => a.distance - b.distance);
  }

  // show or hide joints, or elements
  show(kind, on) {
    for (const each of this.rigid) if (each.kind === kind) each.crowd.visible = on;
  }

  // cut open or transparent, bodies show their inner sides too
  open(on) {
    this.opened = on;
    for (const { crowd, mesh } of [...this.rigid, ...this.flexible]) {
      const { material } = crowd ?? mesh;
      material.side = material.userData.closed && !on && !material.transparent ? FrontSide : DoubleSide;
      material.needsUpdate = true;
    }
  }

  // bodies, not joints, are seen through
  fade(share) {
    for (const { crowd, mesh, kind } of [...this.rigid, ...this.flexible]) {
      const { material } = crowd ?? mesh;
      const seen = kind === "body" ? share : 1;
      material.opacity = material.userData.opacity * seen;
      material.transparent = material.opacity < 1;
      material.depthWrite = material.opacity > 0.5;
      crowd?.fade(seen);
    }
    this.open(this.opened);
  }
}

function paint(geometry, part, field, largest) {
  const colors = geometry.getAttribute("color");
  const color = new Color();
  part.nodes.forEach((node, k) => shade(field[node] / largest, color).toArray(colors.array, 3 * k));
  colors.needsUpdate = true;
}

function bend(geometry, part, corners, eta) {
  const position = geometry.getAttribute("position");
  const { array } = position;
  const [modes, count] = part.modes.shape;
  array.set(corners);
  for (let k = 0; k < modes; k += 1) {
    const weight = eta[part.eta + k];
    if (weight === 0) continue;
    const start = 3 * k * count;
    for (let i = 0; i < 3 * count; i += 1) array[i] += weight * part.modes[start + i];
  }
  position.needsUpdate = true;
  geometry.boundingSphere = null;
}
