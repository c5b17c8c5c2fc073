// Names beside bodies and joints, written over the scene.

import { Vector3 } from "three";
import { make } from "./elements.js";

export class Labels {
  constructor(world) {
    this.world = world;
    this.box = make("div", { className: "labels" });
    this.box.hidden = true;
    const { bodies, joints, rigid, flexible } = world.document;
    this.labels = [];
    for (const joint of joints) this.#add(joint.name, "joint", joint.at);
    bodies.forEach((body, k) => {
      const part = [...rigid, ...flexible].find((each) => each.owner === body.name && each.kind === "body");
      this.#add(body.name, "body", { frame: k + 1, at: part?.at ?? [0, 0, 0] });
    });
  }

  #add(name, kind, at) {
    const label = make("span", { className: kind, textContent: name });
    this.box.append(label);
    this.labels.push({ label, at });
  }

  place(camera, width, height) {
    if (this.box.hidden) return;
    const point = new Vector3();
    for (const { label, at } of this.labels) {
      this.world.frames.point(at, point).project(camera);
      const seen = Math.abs(point.z) <= 1;
      label.hidden = !seen;
      label.style.transform = `translate(${((point.x + 1) / 2) * width + 6}px, ${((1 - point.y) / 2) * height - 14}px)`;
    }
  }
}
