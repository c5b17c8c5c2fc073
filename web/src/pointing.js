// What the pointer does to the scene: pull bodies, measure between points.

import { BufferGeometry, Float32BufferAttribute, Line, LineBasicMaterial, Matrix4, Plane, Points, PointsMaterial, Raycaster, Vector2, Vector3 } from "three";
import { figures } from "./elements.js";

const DOT = 7; // pixels

export class Pointing {
  constructor({ world, eye, canvas, say, pull, settle, cut, redraw }) {
    Object.assign(this, { world, eye, canvas, say, pull, settle, cut, redraw });
    this.mode = "look";
    this.grip = null;
    this.picked = [];
    this.ray = new Raycaster();
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new Float32BufferAttribute(new Float32Array(9), 3));
    // drawn last, over everything
    const over = { color: "#d62728", depthTest: false, transparent: true };
    this.line = new Line(geometry, new LineBasicMaterial(over));
    this.dots = new Points(geometry, new PointsMaterial({ ...over, size: DOT, sizeAttenuation: false }));
    for (const each of [this.line, this.dots]) {
      Object.assign(each, { frustumCulled: false, visible: false, renderOrder: 1 });
      world.scene.add(each);
    }
    canvas.addEventListener("pointerdown", (event) => this.#down(event), { capture: true });
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => this.#up(event));
  }

  #aim(event) {
    const box = this.canvas.getBoundingClientRect();
    const at = new Vector2(
      (2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height,
    );
    this.ray.setFromCamera(at, this.eye.camera);
  }

  // the body under the pointer: its frame, the point in the world and in body axes
  #hit(event) {
    this.#aim(event);
    for (const { part, point } of this.world.cast.met(this.ray)) {
      if ((this.mode === "pull" && part.frame === 0) || this.cut().some((plane) => plane.distanceToPoint(point) < 0)) continue;
      const inverse = new Matrix4().copy(this.world.frames.matrices[part.frame]).invert();
      return { part, point: point.clone(), local: point.clone().applyMatrix4(inverse) };
    }
    return null;
  }

  #down(event) {
    if (event.button !== 0 || this.mode === "look") return;
    const hit = this.#hit(event);
    if (!hit) return;
    event.stopImmediatePropagation();
    if (this.mode === "measure") {
      this.#measure(hit);
      return;
    }
    if (hit.part.frame === 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const towards = this.eye.camera.getWorldDirection(new Vector3());
    this.grip = { ...hit, plane: new Plane().setFromNormalAndCoplanarPoint(towards, hit.point), target: hit.point };
    this.eye.controls.enabled = false;
  }

  #move(event) {
    if (!this.grip) return;
    this.#aim(event);
    const target = this.ray.ray.intersectPlane(this.grip.plane, new Vector3());
    if (!target) return;
    this.grip.target = target;
    this.pull(this.grip.part.frame, this.grip.local, target);
  }

  #up(event) {
    if (!this.grip) return;
    this.canvas.releasePointerCapture?.(event.pointerId);
    this.settle?.();
    this.grip = null;
    this.line.visible = this.dots.visible = false;
    this.eye.controls.enabled = true;
  }

  #measure(hit) {
    if (this.picked.length >= 3) this.picked = [];
    this.picked.push(hit);
    this.redraw();
  }

  // lines of what is pulled or measured follow the bodies
  update() {
    const world = (grip) => grip.local.clone().applyMatrix4(this.world.frames.matrices[grip.part.frame]);
    let points = [];
    if (this.grip) points = [world(this.grip), this.grip.target];
    else if (this.mode === "measure") points = this.picked.map(world);
    this.line.visible = points.length > 1;
    this.dots.visible = points.length > 0;
    if (points.length > 0) {
      const position = this.line.geometry.getAttribute("position");
      points.forEach((point, k) => position.setXYZ(k, point.x, point.y, point.z));
      position.needsUpdate = true;
      this.line.geometry.setDrawRange(0, points.length);
    }
    if (this.mode === "measure" && !this.grip) this.say(measured(points, this.picked));
  }
}

function measured(points, picked) {
  if (points.length === 0) return "measure: pick points on bodies";
  if (points.length === 1) return `${picked[0].part.owner}: ${points[0].toArray().map(figures).join(", ")} m`;
  const distance = points[0].distanceTo(points[1]);
  if (points.length === 2) return `distance ${figures(distance)} m; a third point gives the angle`;
  const [a, b] = [points[0].clone().sub(points[1]), points[2].clone().sub(points[1])];
  return `angle ${figures((a.angleTo(b) * 180) / Math.PI)}°, distances ${figures(a.length())} and ${figures(b.length())} m`;
}
