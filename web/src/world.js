// Everything that is seen: bodies, joints, elements, paths and arrows, as three.js objects that follow frames.

import {
  AmbientLight, BufferGeometry, Color, DirectionalLight, DoubleSide, DynamicDrawUsage, EdgesGeometry,
  Float32BufferAttribute, GridHelper, Group, HemisphereLight, InstancedMesh, Line, LineBasicMaterial, LineSegments,
  Matrix4, Mesh, MeshLambertMaterial, Quaternion, Scene, Vector3,
} from "three";
import { toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";
import { Frames, Motion } from "./motion.js";
import { STRETCHED, arrowHead, arrowShaft, axisRod, foot, meshGeometry } from "./shapes.js";

const Z = new Vector3(0, 0, 1);
const PAPER = "#fbfbfa";
const GHOST = 0.28; // opacity of further motions
const KINDS = { force: "#d62728", moment: "#9467bd", velocity: "#2ca02c" };

// from a unit geometry along z to one between two points
function stretch(matrix, start, end, width) {
  const direction = new Vector3().subVectors(end, start);
  const length = direction.length();
  const turn = new Quaternion().setFromUnitVectors(Z, length > 0 ? direction.divideScalar(length) : Z);
  return matrix.compose(start, turn, new Vector3(width, width, Math.max(length, 1e-9)));
}

// One configuration of all bodies: drawn once for the motion itself, and once more for each that is laid over it.
class Cast {
  constructor(document, shade, opacity) {
    this.group = new Group();
    this.frames = new Frames(document.bodies.length, document.modes);
    this.hidden = new Set();
    this.faint = 1;
    this.rigid = this.#rigid(document, shade, opacity);
    this.flexible = this.#flexible(document, shade, opacity);
  }

  #material(color, opacity, flat) {
    const material = new MeshLambertMaterial({ color, side: DoubleSide, flatShading: flat });
    material.userData.opacity = opacity;
    material.transparent = opacity < 1;
    material.opacity = opacity;
    material.depthWrite = opacity > 0.5;
    return material;
  }

  // parts that share a mesh are drawn by one call
  #rigid(document, shade, opacity) {
    const groups = new Map();
    for (const part of document.rigid) {
      const key = `${part.mesh}/${part.opacity}/${part.kind}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(part);
    }
    const meshes = document.meshes.map((mesh) => [
      toCreasedNormals(meshGeometry(mesh), 0.6),
      mesh.edges.length ? new EdgesGeometry(meshGeometry(mesh), 30) : null,
    ]);
    return Array.from(groups.values(), (parts) => {
      const [geometry, edges] = meshes[parts[0].mesh];
      const material = this.#material("#ffffff", parts[0].opacity * opacity, false);
      const mesh = new InstancedMesh(geometry, material, parts.length);
      mesh.instanceMatrix.setUsage(DynamicDrawUsage);
      mesh.frustumCulled = false;
      mesh.userData = { parts, kind: parts[0].kind };
      parts.forEach((part, k) => mesh.setColorAt(k, new Color(shade ?? part.color)));
      this.group.add(mesh);
      const lines = parts.length <= 200 && edges && opacity === 1 ? parts.map(() => this.#outline(edges)) : [];
      const offsets = parts.map((part) => new Matrix4().makeTranslation(...part.at));
      return { mesh, parts, offsets, lines };
    });
  }

  #outline(edges) {
    const lines = new LineSegments(edges, new LineBasicMaterial({ color: "#000000", transparent: true, opacity: 0.35 }));
    lines.matrixAutoUpdate = false;
    this.group.add(lines);
    return lines;
  }

  #flexible(document, shade, opacity) {
    return document.flexible.map((part) => {
      const geometry = meshGeometry(part);
      geometry.getAttribute("position").setUsage(DynamicDrawUsage);
      const mesh = new Mesh(geometry, this.#material(shade ?? part.color, part.opacity * opacity, true));
      mesh.matrixAutoUpdate = false;
      mesh.frustumCulled = false;
      mesh.userData = { parts: [part], kind: part.kind };
      this.group.add(mesh);
      return { mesh, part, corners: Float32Array.from(part.corners) };
    });
  }

  update() {
    const matrix = new Matrix4();
    for (const { mesh, parts, offsets, lines } of this.rigid) {
      parts.forEach((part, k) => {
        const hidden = this.hidden.has(part.owner);
        if (hidden) matrix.makeScale(0, 0, 0);
        else matrix.multiplyMatrices(this.frames.matrices[part.frame], offsets[k]);
        mesh.setMatrixAt(k, matrix);
        if (lines[k]) {
          lines[k].matrix.copy(matrix);
          lines[k].visible = !hidden && mesh.visible;
        }
      });
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null;
    }
    for (const { mesh, part, corners } of this.flexible) {
      mesh.visible = !this.hidden.has(part.owner);
      mesh.matrix.copy(this.frames.matrices[part.frame]);
      bend(mesh.geometry, part, corners, this.frames.eta);
    }
  }

  // bodies, not joints, are seen through
  fade(share) {
    for (const { mesh, lines } of [...this.rigid, ...this.flexible]) {
      const { material } = mesh;
      const seen = mesh.userData.kind === "body" ? share : 1;
      material.opacity = material.userData.opacity * seen;
      material.transparent = material.opacity < 1;
      material.depthWrite = material.opacity > 0.5;
      material.needsUpdate = true;
      for (const line of lines ?? []) line.material.opacity = 0.35 * seen;
    }
  }
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

export class World {
  constructor(document) {
    document.modes = document.motion.eta.shape[1];
    this.document = document;
    this.scene = new Scene();
    this.scene.background = new Color(PAPER);
    this.radius = document.radius;
    this.low = new Vector3(...document.low);
    this.high = new Vector3(...document.high);
    this.reach = Math.max(...new Vector3().subVectors(this.high, this.low).toArray()) || 1;
    this.middle = new Vector3().addVectors(this.low, this.high).multiplyScalar(0.5);
    this.motion = new Motion(document.motion, document.bodies.length, document.modes);
    this.cast = new Cast(document, null, 1);
    this.frames = this.cast.frames;
    this.others = (document.overlays ?? []).map((overlay) => {
      const cast = new Cast(document, overlay.color, GHOST);
      this.scene.add(cast.group);
      return { cast, motion: new Motion(overlay.motion, document.bodies.length, document.modes), name: overlay.name };
    });
    this.scene.add(this.cast.group);
    this.layers = {};
    this.scale = 1;
    this.#lights();
    this.#grid();
    this.#feet();
    this.#lines();
    this.#axes();
    this.#traces();
    this.#arrows();
    this.show(this.motion.start);
  }

  #layer(name) {
    const group = new Group();
    this.layers[name] = group;
    this.scene.add(group);
    return group;
  }

  #lights() {
    this.scene.add(new HemisphereLight("#ffffff", "#b8b8b0", 1.6), new AmbientLight("#ffffff", 0.5));
    this.lamp = new DirectionalLight("#ffffff", 1.5);
    this.scene.add(this.lamp, this.lamp.target);
  }

  #grid() {
    const { up, plane } = this.document;
    const step = 10 ** Math.floor(Math.log10(this.reach)) / 2;
    const cells = 2 * Math.ceil((1.5 * this.reach) / step);
    const grid = new GridHelper(cells * step, cells, "#c4c4c0", "#e2e2de");
    const normal = plane ? plane[2] : up;
    grid.quaternion.setFromUnitVectors(new Vector3(0, 1, 0), new Vector3().setComponent(normal, 1));
    grid.position.copy(this.middle);
    for (let k = 0; k < 3; k += 1) grid.position.setComponent(k, Math.round(this.middle.getComponent(k) / step) * step);
    // behind a plane mechanism as it is looked at, below any other
    const towards = plane ? new Vector3().setComponent(plane[0], 1).cross(new Vector3().setComponent(plane[1], 1)).getComponent(normal) : 1;
    const away = (plane ? 0.3 : 0.02) * this.reach;
    const place = towards > 0 ? this.low.getComponent(normal) - away : this.high.getComponent(normal) + away;
    grid.position.setComponent(normal, place);
    this.#layer("grid").add(grid);
  }

  #feet() {
    const group = this.#layer("ground");
    const down = new Vector3().setComponent(this.document.up, 1);
    const feet = this.document.joints.filter((joint) => joint.foot);
    const mesh = new InstancedMesh(foot, new MeshLambertMaterial({ color: "#a9a9a4", flatShading: true }), feet.length);
    const turn = new Quaternion().setFromUnitVectors(Z, down);
    const size = new Vector3().setScalar(1.7 * this.radius);
    feet.forEach(({ foot: at }, k) => mesh.setMatrixAt(k, new Matrix4().compose(new Vector3(...at), turn, size)));
    mesh.frustumCulled = false;
    group.add(mesh);
  }

  #lines() {
    const group = this.#layer("elements");
    this.lines = [];
    const rails = this.document.joints.filter((joint) => joint.rail).map((joint) => ({ look: "line", rail: joint }));
    for (const line of [...this.document.lines, ...rails]) {
      for (const [geometry, width, color] of STRETCHED[line.look] ?? STRETCHED.line) {
        const mesh = new Mesh(geometry, new MeshLambertMaterial({ color }));
        mesh.matrixAutoUpdate = false;
        mesh.frustumCulled = false;
        mesh.userData = { name: line.name };
        group.add(mesh);
        this.lines.push({ line, mesh, width: width * this.radius });
      }
    }
  }

  #axes() {
    const group = this.#layer("axes");
    group.visible = false;
    this.axes = this.document.joints.filter((joint) => joint.axis).map((joint) => {
      const mesh = new Mesh(axisRod, new MeshLambertMaterial({ color: "#e07b00" }));
      mesh.matrixAutoUpdate = false;
      mesh.frustumCulled = false;
      group.add(mesh);
      return { joint, mesh };
    });
  }

  #traces() {
    const group = this.#layer("traces");
    this.traces = (this.document.traces ?? []).map((trace, k) => {
      const { motion } = this;
      const count = motion.times.length;
      const points = new Float32Array(3 * count);
      const frames = new Frames(this.document.bodies.length, this.document.modes);
      const point = new Vector3();
      for (let i = 0; i < count; i += 1) {
        frames.between(motion.poses, motion.eta, i, i, 0);
        frames.point(trace.at, point).toArray(points, 3 * i);
      }
      const geometry = new BufferGeometry();
      geometry.setAttribute("position", new Float32BufferAttribute(points, 3));
      const color = ["#d55e00", "#0072b2", "#009e73", "#cc79a7"][k % 4];
      const faint = new Line(geometry, new LineBasicMaterial({ color, transparent: true, opacity: 0.25 }));
      const path = new Line(geometry.clone(), new LineBasicMaterial({ color }));
      for (const line of [faint, path]) {
        line.frustumCulled = false;
        group.add(line);
      }
      return { trace, path };
    });
  }

  #arrows() {
    const group = this.#layer("arrows");
    this.arrows = (this.document.arrows ?? []).map((arrow) => {
      const material = new MeshLambertMaterial({ color: KINDS[arrow.kind] ?? KINDS.force });
      const parts = [new Mesh(arrowShaft, material), new Mesh(arrowHead, material)];
      for (const part of parts) {
        part.matrixAutoUpdate = false;
        part.frustumCulled = false;
        group.add(part);
      }
      let largest = 0;
      for (let k = 0; k < arrow.values.length; k += 3) {
        largest = Math.max(largest, Math.hypot(arrow.values[k], arrow.values[k + 1], arrow.values[k + 2]));
      }
      return { arrow, parts, largest };
    });
    this.largest = {};
    for (const { arrow, largest } of this.arrows) {
      this.largest[arrow.kind] = Math.max(this.largest[arrow.kind] ?? 0, largest);
    }
  }

  // ---- frame by frame

  show(time) {
    this.time = time;
    this.frames.at(this.motion, time);
    for (const { cast, motion } of this.others) {
      cast.frames.at(motion, Math.min(Math.max(time, motion.start), motion.end));
      cast.update();
    }
    this.place();
    const rows = this.motion.locate(time)[0] + 1;
    for (const { path } of this.traces) path.geometry.setDrawRange(0, rows);
  }

  // put everything where the frames are
  place() {
    this.cast.update();
    const a = new Vector3();
    const b = new Vector3();
    for (const { line, mesh, width } of this.lines) {
      if (line.rail) this.#rail(line.rail, a, b);
      else line.ends.forEach((end, k) => this.frames.point(end, k ? b : a));
      stretch(mesh.matrix, a, b, width);
    }
    for (const { joint, mesh } of this.axes) {
      const direction = new Vector3(...joint.axis).transformDirection(this.frames.matrices[joint.at.frame]);
      const long = 0.3 * this.reach;
      const thin = 0.22 * this.radius;
      const turn = new Quaternion().setFromUnitVectors(Z, direction);
      mesh.matrix.compose(this.frames.point(joint.at, a), turn, new Vector3(thin, thin, long));
    }
    this.#placeArrows(a, b);
  }

  #rail(joint, a, b) {
    const { frames } = this;
    frames.point(joint.rail.at, a);
    const axis = new Vector3(...joint.rail.axis).transformDirection(frames.matrices[joint.rail.at.frame]);
    const travel = frames.point(joint.at, b).sub(a).dot(axis);
    const beyond = 6 * this.radius;
    b.copy(a).addScaledVector(axis, Math.max(0, travel) + beyond);
    a.addScaledVector(axis, Math.min(0, travel) - beyond);
  }

  #placeArrows(a, b) {
    const width = 0.55 * this.radius;
    for (const { arrow, parts } of this.arrows) {
      const largest = this.largest[arrow.kind] || 1;
      const factor = (0.35 * this.scale * this.reach) / largest;
      const [i, j, share] = this.motion.locate(this.time);
      const at = (k) => arrow.values[3 * i + k] + share * (arrow.values[3 * j + k] - arrow.values[3 * i + k]);
      this.frames.point(arrow.at, a);
      b.set(at(0), at(1), at(2)).multiplyScalar(factor);
      if (arrow.turning) b.transformDirection(this.frames.matrices[arrow.at.frame]).multiplyScalar(factor * Math.hypot(at(0), at(1), at(2)));
      if (arrow.turning !== undefined) a.sub(b); // a load ends where it acts
      const length = b.length();
      const visible = length > 0.5 * width;
      for (const part of parts) part.visible = visible;
      if (!visible) continue;
      const head = Math.min(4 * width, 0.5 * length);
      const neck = a.clone().addScaledVector(b, 1 - head / length);
      stretch(parts[0].matrix, a, neck, width * 0.5);
      stretch(parts[1].matrix, neck, a.clone().add(b), 0.35 * head);
    }
  }
}
