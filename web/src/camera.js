// From where the scene is looked at: presets, following a body, in perspective or as a drawing.

import { OrthographicCamera, PerspectiveCamera, Quaternion, Vector3 } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

const ANGLE = 32; // degrees
const EDGE = 0.95; // of the page, within which things are seen
const LEAST = 0.2; // of the size at first: what goes farther away is left alone

export class Eye {
  constructor(world, canvas) {
    this.world = world;
    this.canvas = canvas;
    this.followed = 0;
    this.last = new Vector3();
    this.perspective = new PerspectiveCamera(ANGLE, 1, 1e-3 * world.reach, 200 * world.reach);
    this.flat = new OrthographicCamera(-1, 1, 1, -1, -100 * world.reach, 100 * world.reach);
    this.camera = world.document.plane ? this.flat : this.perspective;
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("start", () => { this.taken = true; }); // the user looks where he wants
    this.look(world.document.plane ? "front" : "space");
  }

  // axes of the world to the right, upwards and towards the reader
  #axes() {
    const { plane, up } = this.world.document;
    const right = plane ? plane[0] : (up + 1) % 3;
    const unit = (k) => new Vector3().setComponent(k, 1);
    const towards = new Vector3().crossVectors(unit(right), unit(up));
    return [unit(right), unit(up), towards];
  }

  // from the middle of the scene to the reader of a plane view, or to where the camera stands
  get towards() {
    if (this.world.document.plane) return this.#axes()[2];
    return new Vector3().subVectors(this.camera.position, this.controls.target).normalize();
  }

  look(preset) {
    this.taken = false;
    const [right, up, towards] = this.#axes();
    const directions = {
      front: towards,
      back: towards.clone().negate(),
      side: right,
      top: up,
      space: towards.clone().addScaledVector(right, 0.62).addScaledVector(up, 0.42).normalize(),
    };
    const direction = directions[preset] ?? directions.space;
    const vertical = preset === "top" ? towards.clone().negate() : up;
    const far = (0.72 * this.world.reach) / Math.tan((ANGLE * Math.PI) / 360);
    for (const camera of [this.perspective, this.flat]) {
      camera.up.copy(vertical);
      camera.position.copy(this.world.middle).addScaledVector(direction, far);
      camera.zoom = 1;
      camera.lookAt(this.world.middle);
    }
    this.controls.target.copy(this.world.middle);
    this.#fit(direction);
    this.resize(this.width ?? 1, this.height ?? 1);
    this.controls.update();
  }

  // as large as the page allows
  #fit(direction) {
    const turn = new Quaternion().copy(this.perspective.quaternion).invert();
    let [wide, high] = [0, 0];
    const corner = new Vector3();
    for (let k = 0; k < 8; k += 1) {
      corner.set(...[0, 1, 2].map((i) => (k & (1 << i) ? this.world.high : this.world.low).getComponent(i)));
      corner.sub(this.world.middle).applyQuaternion(turn);
      wide = Math.max(wide, Math.abs(corner.x));
      high = Math.max(high, Math.abs(corner.y));
    }
    this.half = [1.15 * wide + 6 * this.world.radius, 1.15 * high + 6 * this.world.radius];
    const aspect = (this.width ?? 1) / (this.height ?? 1);
    const tall = Math.max(this.half[1], this.half[0] / aspect);
    const far = tall / Math.tan((ANGLE * Math.PI) / 360) + 0.3 * this.world.reach;
    this.perspective.position.copy(this.world.middle).addScaledVector(direction, far);
  }

  // show what leaves the page, as far as something small is still seen and nobody has turned the camera
  grow(points) {
    if (!this.taken && !this.followed && this.camera.zoom > LEAST) this.include(points);
  }

  // show more, if points would not be seen
  include(points) {
    const { camera } = this;
    camera.updateMatrixWorld();
    const out = Math.max(...points.map((point) => point.clone().project(camera)).map(({ x, y }) => Math.max(Math.abs(x), Math.abs(y))));
    if (!(out > EDGE)) return;
    camera.zoom *= EDGE / out;
    camera.updateProjectionMatrix();
  }

  toggle() {
    const other = this.camera === this.flat ? this.perspective : this.flat;
    other.position.copy(this.camera.position);
    other.up.copy(this.camera.up);
    other.quaternion.copy(this.camera.quaternion);
    this.camera = other;
    this.controls.object = other;
    this.resize(this.width, this.height);
    this.controls.update();
  }

  resize(width, height) {
    [this.width, this.height] = [width, height];
    const aspect = width / Math.max(height, 1);
    this.perspective.aspect = aspect;
    const tall = Math.max(this.half[1], this.half[0] / aspect);
    Object.assign(this.flat, { left: -tall * aspect, right: tall * aspect, top: tall, bottom: -tall });
    this.perspective.updateProjectionMatrix();
    this.flat.updateProjectionMatrix();
  }

  follow(frame) {
    this.followed = frame;
    this.last.setFromMatrixPosition(this.world.frames.matrices[frame]);
  }

  update() {
    if (this.followed) {
      const now = new Vector3().setFromMatrixPosition(this.world.frames.matrices[this.followed]);
      const moved = now.clone().sub(this.last);
      this.camera.position.add(moved);
      this.controls.target.add(moved);
      this.last.copy(now);
      this.controls.update();
    }
    const { lamp } = this.world;
    lamp.position.copy(this.camera.position);
    lamp.target.position.copy(this.controls.target);
    lamp.position.addScaledVector(this.camera.up, 0.8 * this.world.reach);
  }
}
