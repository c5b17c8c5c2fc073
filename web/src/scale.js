// Numbers as colours, and what they mean.

import { Color } from "three";
import { figures, make } from "./elements.js";

const STOPS = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];
const COLORS = STOPS.map((each) => new Color(each));

// colour of a share from 0 to 1
export function shade(share, out) {
  const place = Math.min(Math.max(share, 0), 1) * (COLORS.length - 1);
  const k = Math.min(Math.floor(place), COLORS.length - 2);
  return out.lerpColors(COLORS[k], COLORS[k + 1], place - k);
}

// a bar with its ends written beside it
export class Scale {
  constructor() {
    this.name = make("div");
    this.low = make("span", { textContent: "0" });
    this.high = make("span");
    const bar = make("div", { className: "gradient", style: `background: linear-gradient(to right, ${STOPS.join(", ")})` });
    this.box = make("div", { className: "scale" }, this.name, bar, make("div", { className: "ends" }, this.low, this.high));
    this.box.hidden = true;
  }

  show(field) {
    this.box.hidden = !field;
    if (!field) return;
    this.name.textContent = field.name;
    this.high.textContent = `${figures(field.largest)} ${field.unit}`;
  }
}
