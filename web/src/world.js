// Everything that is seen: bodies, joints, elements, paths and arrows, as three.js objects that follow frames.

import {
  AmbientLight, BufferGeometry, Color, DirectionalLight, DoubleSide, Float32BufferAttribute, GridHelper, Group, HemisphereLight,
  Line, LineBasicMaterial, Matrix4, MeshLambertMaterial, Plane, Quaternion, Scene, Vector3,
} from "three";
import { Cast } from "./cast.js";
import { Crowd } from "./crowd.js";
import { Frames, Motion } from "./motion.js";
import { STRETCHED, arrowHead, arrowShaft, axisRod, feet, spot } from "./shapes.js";

const Z = new Vector3(0, 0, 1);
const GHOST = 0.28; // opacity of further motions
const CONTACT = ["#1b9e4b", "#e07b00"]; // a point sticks, slides
const KINDS = { force: "#d62728", moment: "#9467bd", velocity: "#2ca02c" };

// from a unit geometry along z to one between two points
function stretch(matrix, start, end, width) {
  const direction = new Vector3().subVectors(end, start);
  const length = direction.length();
  const turn = new Quaternion().setFromUnitVectors(Z, length > 0 ? direction.divideScalar(length) : Z);
  return matrix.compose(start, turn, new Vector3(width, width, Math.max(length, 1e-9)));
}

export class World {
  // software: a processor draws
  constructor(document, { software = false } = {}) {
    this.software = software;
    document.modes = document.motion.eta.shape[1];
    this.document = document;
    this.scene = new Scene();
    this.dress(false);
    this.radius = document.radius;
    this.low = new Vector3(...document.low);
    this.high = new Vector3(...document.high);
    this.reach = Math.max(...new Vector3().subVectors(this.high, this.low).toArray()) || 1;
    this.middle = new Vector3().addVectors(this.low, this.high).multiplyScalar(0.5);
    this.motion = new Motion(document.motion, document.bodies.length, document.modes);
    this.cast = new Cast(document, { software });
    this.frames = this.cast.frames;
    this.others = (document.overlays ?? []).map((overlay) => {
      const cast = new Cast(document, { tint: overlay.color, opacity: GHOST, software });
      this.scene.add(cast.group);
      return { cast, motion: new Motion(overlay.motion, document.bodies.length, document.modes), name: overlay.name };
    });
    this.scene.add(this.cast.group);
    this.cast.show("collision", false);
    this.layers = {};
    this.scale = 1;
    this.#lights();
    this.#build();
    this.show(this.motion.start);
  }

  // colours of the page: by day or by night
  dress(dark) {
    this.scene.background = new Color(dark ? "#1c1d1f" : "#fbfbfa");
    this.layers?.grid?.traverse((lines) => lines.material?.color.set(dark ? "#46484c" : "#ffffff"));
  }

  #build() {
    this.crowds = [];
    this.#grid();
    this.#feet();
    this.#lines();
    this.#axes();
    this.#traces();
    this.#arrows();
    this.#contacts();
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
    const joints = this.document.joints.filter((joint) => joint.foot);
    this.feet = this.#crowd(group, feet, joints.map(() => ({ color: "#a9a9a4" })));
    const turn = new Quaternion().setFromUnitVectors(Z, down);
    const size = new Vector3().setScalar(1.7 * this.radius);
    joints.forEach(({ foot: at }, k) => this.feet.place(k, new Matrix4().compose(new Vector3(...at), turn, size)));
  }

  // copies of a shape that are drawn with the rest
  #crowd(group, levels, items, { slim = false, shines = false } = {}) {
    const crowd = new Crowd(group, levels, new MeshLambertMaterial({ color: "#ffffff", side: DoubleSide }), items, { slim, shines, software: this.software });
    this.crowds.push({ group, crowd });
    return crowd;
  }

  #lines() {
    const group = this.#layer("elements");
    const rails = this.document.joints.filter((joint) => joint.rail).map((joint) => ({ look: "line", rail: joint }));
    const looks = new Map();
    for (const line of [...this.document.lines, ...rails]) {
      const look = line.look in STRETCHED ? line.look : "line";
      if (!looks.has(look)) looks.set(look, []);
      looks.get(look).push(line);
    }
    this.lines = [];
    for (const [look, lines] of looks) {
      for (const [levels, width, color] of STRETCHED[look]) {
        const crowd = this.#crowd(group, levels, lines.map((line) => ({ line, color })), { slim: true });
        this.lines.push({ lines, crowd, width: width * this.radius });
      }
    }
  }

  #axes() {
    const group = this.#layer("axes");
    group.visible = false;
    const joints = this.document.joints.filter((joint) => joint.axis);
    this.axes = { joints, crowd: this.#crowd(group, [axisRod], joints.map(() => ({ color: "#e07b00" }))) };
  }

  #traces() {
    const group = this.#layer("traces");
    this.traces = (this.document.traces ?? []).map((trace, k) => {
      const geometry = new BufferGeometry();
      const color = ["#d55e00", "#0072b2", "#009e73", "#cc79a7"][k % 4];
      const faint = new Line(geometry, new LineBasicMaterial({ color, transparent: true, opacity: 0.25 }));
      const path = new Line(new BufferGeometry(), new LineBasicMaterial({ color }));
      for (const line of [faint, path]) {
        line.frustumCulled = false;
        group.add(line);
      }
      return { trace, path, faint };
    });
    this.#trace();
  }

  // the paths of points over the whole motion
  #trace() {
    const { motion } = this;
    const count = motion.times.length;
    const frames = new Frames(this.document.bodies.length, this.document.modes);
    const point = new Vector3();
    for (const { trace, path, faint } of this.traces) {
      const points = new Float32Array(3 * count);
      for (let i = 0; i < count; i += 1) {
        frames.between(motion.poses, motion.eta, i, i, 0);
        frames.point(trace.at, point).toArray(points, 3 * i);
      }
      for (const line of [path, faint]) line.geometry.setAttribute("position", new Float32BufferAttribute(points, 3));
    }
  }

  #arrows() {
    const group = this.#layer("arrows");
    const shown = this.document.arrows ?? [];
    const items = shown.map(({ kind }) => ({ color: KINDS[kind] ?? KINDS.force }));
    this.shafts = this.#crowd(group, [arrowShaft], items, { shines: true });
    this.heads = this.#crowd(group, [arrowHead], items, { shines: true });
    this.arrows = shown.map((arrow) => {
      let largest = 0;
      for (let k = 0; k < arrow.values.length; k += 3) {
        largest = Math.max(largest, Math.hypot(arrow.values[k], arrow.values[k + 1], arrow.values[k + 2]));
      }
      return { arrow, largest };
    });
    this.largest = {};
    for (const { arrow, largest } of this.arrows) {
      this.largest[arrow.kind] = Math.max(this.largest[arrow.kind] ?? 0, largest);
    }
  }

  // points that carry load: a spot and an arrow of its force for each, as many as any frame has
  #contacts() {
    const group = this.#layer("contacts");
    const { contacts } = this.document;
    let most = 0;
    for (let i = 0; contacts && i + 1 < contacts.begin.length; i += 1) most = Math.max(most, contacts.begin[i + 1] - contacts.begin[i]);
    const items = (color) => Array.from({ length: most }, () => ({ color }));
    const crowds = (level) => CONTACT.map((color) => this.#crowd(group, [level], items(color), { shines: true }));
    this.touching = { most, spots: crowds(spot), shafts: crowds(arrowShaft), heads: crowds(arrowHead) };
  }

  #placeContacts(a, b) {
    const { contacts } = this.document;
    const { most, spots, shafts, heads } = this.touching;
    if (!most) return;
    const [i, j, share] = this.motion.locate(this.time);
    const row = share > 0.5 ? j : i;
    const width = 0.45 * this.radius;
    const factor = (0.25 * this.scale * this.reach) / (contacts.largest || 1);
    const matrix = new Matrix4();
    for (const crowd of [...spots, ...shafts, ...heads]) crowd.hidden.fill(1);
    for (let k = contacts.begin[row]; k < contacts.begin[row + 1]; k += 1) {
      const n = k - contacts.begin[row];
      const state = contacts.state[k] > 1.5 ? 1 : 0;
      a.set(contacts.at[3 * k], contacts.at[3 * k + 1], contacts.at[3 * k + 2]);
      b.set(contacts.force[3 * k], contacts.force[3 * k + 1], contacts.force[3 * k + 2]).multiplyScalar(factor);
      if (b.length() > 0.6 * this.reach) b.setLength(0.6 * this.reach);
      spots[state].hidden[n] = 0;
      spots[state].place(n, matrix.makeScale(this.radius, this.radius, this.radius).setPosition(a));
      const length = b.length();
      if (!(length > width)) continue;
      const head = Math.min(4 * width, 0.5 * length);
      const neck = a.clone().addScaledVector(b, 1 - head / length);
      shafts[state].hidden[n] = heads[state].hidden[n] = 0;
      shafts[state].place(n, stretch(matrix, a, neck, width * 0.5));
      heads[state].place(n, stretch(matrix, neck, a.clone().add(b), 0.35 * head));
    }
  }

  // show another of the motions that a scene has, such as modes
  turn(motion) {
    this.document.motion = motion;
    Object.assign(this.motion, new Motion(motion, this.document.bodies.length, this.document.modes));
    this.cast.largest = motion.field?.largest ?? 0;
    this.#trace();
    this.show(this.time);
  }

  // the same system with other numbers: other shapes, the same things on the page
  renew(document) {
    for (const group of [this.cast.group, ...Object.values(this.layers)]) this.scene.remove(group);
    const shown = Object.fromEntries(Object.entries(this.layers).map(([name, group]) => [name, group.visible]));
    Object.assign(this.document, document, { modes: document.motion.eta.shape[1] });
    this.radius = document.radius;
    const { hidden, frames } = this.cast;
    this.cast = new Cast(this.document, { software: this.software });
    Object.assign(this.cast, { hidden, frames });
    this.cast.show("collision", this.collisions ?? false);
    this.scene.add(this.cast.group);
    this.#build();
    for (const [name, on] of Object.entries(shown)) this.layers[name].visible = on;
  }

  get casts() {
    return [this.cast, ...this.others.map((other) => other.cast)];
  }

  // what is nearer to the reader than a share of the depth is cut away
  cut(share, towards) {
    const half = 0.5 * this.reach + 8 * this.radius;
    const from = this.middle.dot(towards);
    for (const cast of this.casts) cast.open(share > 0);
    return share > 0 ? [new Plane(towards.clone().negate(), from + half - 2 * half * share)] : [];
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
    const matrix = new Matrix4();
    for (const { lines, crowd, width } of this.lines) {
      lines.forEach((line, k) => {
        if (line.rail) this.#rail(line.rail, a, b);
        else line.ends.forEach((end, i) => this.frames.point(end, i ? b : a));
        crowd.place(k, stretch(matrix, a, b, width));
      });
    }
    const rod = new Vector3(0.22 * this.radius, 0.22 * this.radius, 0.3 * this.reach);
    this.axes.joints.forEach((joint, k) => {
      const direction = new Vector3(...joint.axis).transformDirection(this.frames.matrices[joint.at.frame]);
      const turn = new Quaternion().setFromUnitVectors(Z, direction);
      this.axes.crowd.place(k, matrix.compose(this.frames.point(joint.at, a), turn, rod));
    });
    this.#placeArrows(a, b);
    this.#placeContacts(a, b);
  }

  // where joints and bodies are
  places() {
    const joints = this.document.joints.map((joint) => this.frames.point(joint.at, new Vector3()));
    return [...joints, ...this.frames.matrices.slice(1).map((matrix) => new Vector3().setFromMatrixPosition(matrix))];
  }

  // the corners of all that is drawn of bodies
  corners() {
    return [...this.places(), ...this.cast.corners()];
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
    const matrix = new Matrix4();
    this.arrows.forEach(({ arrow }, n) => {
      const largest = this.largest[arrow.kind] || 1;
      const factor = (0.35 * this.scale * this.reach) / largest;
      const [i, j, share] = this.motion.locate(this.time);
      const at = (k) => arrow.values[3 * i + k] + share * (arrow.values[3 * j + k] - arrow.values[3 * i + k]);
      this.frames.point(arrow.at, a);
      b.set(at(0), at(1), at(2)).multiplyScalar(factor);
      const length = b.length();
      if (arrow.turning) b.transformDirection(this.frames.matrices[arrow.at.frame]).multiplyScalar(length);
      if (arrow.turning !== undefined) a.sub(b); // a load ends where it acts
      const visible = length > 0.5 * width;
      for (const crowd of [this.shafts, this.heads]) crowd.hidden[n] = !visible;
      if (!visible) return;
      const head = Math.min(4 * width, 0.5 * length);
      const neck = a.clone().addScaledVector(b, 1 - head / length);
      this.shafts.place(n, stretch(matrix, a, neck, width * 0.5));
      this.heads.place(n, stretch(matrix, neck, a.clone().add(b), 0.35 * head));
    });
  }

  // bring what a camera sees to where it is drawn from
  draw(sight) {
    for (const cast of this.casts) cast.draw(sight);
    for (const { group, crowd } of this.crowds) if (group.visible) crowd.draw(sight);
  }
}
