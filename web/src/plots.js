// Outputs over time under the scene, one panel for each unit, with the time that is shown.

import { figures, make } from "./elements.js";

const COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const HEIGHT = 130;
const [LEFT, RIGHT, ABOVE, BELOW] = [58, 10, 18, 18];

export class Plots {
  constructor(motion, tracks, onchange) {
    this.motion = motion;
    this.tracks = tracks;
    this.shown = new Set();
    this.box = make("div", { className: "plots" });
    this.onchange = onchange;
    this.panels = [];
  }

  choose(name, on) {
    if (on) this.shown.add(name);
    else this.shown.delete(name);
    const units = new Map();
    for (const track of this.tracks.filter((each) => this.shown.has(each.name))) {
      if (!units.has(track.unit)) units.set(track.unit, []);
      units.get(track.unit).push(track);
    }
    this.panels = Array.from(units, ([unit, tracks]) => {
      const canvas = make("canvas", { className: "plot" });
      const seek = (event) => {
        const box = canvas.getBoundingClientRect();
        const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
        this.onchange(this.motion.start + share * (this.motion.end - this.motion.start));
      };
      canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); seek(event); });
      canvas.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
      return { unit, tracks, canvas, still: null, width: 0 };
    });
    this.box.replaceChildren(...this.panels.map((panel) => panel.canvas));
  }

  // curves anew, as after a change of colours
  renew() {
    for (const panel of this.panels) panel.still = null;
  }

  draw(time) {
    const style = getComputedStyle(this.box);
    for (const panel of this.panels) {
      const width = panel.canvas.clientWidth;
      if (!width) continue;
      if (!panel.still || panel.width !== width) this.#still(panel, width);
      const context = panel.canvas.getContext("2d");
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, panel.canvas.width, panel.canvas.height);
      context.drawImage(panel.still, 0, 0);
      const scale = window.devicePixelRatio || 1;
      context.scale(scale, scale);
      const span = this.motion.end - this.motion.start || 1;
      const x = LEFT + ((time - this.motion.start) / span) * (width - LEFT - RIGHT);
      context.strokeStyle = style.getPropertyValue("--ink");
      context.beginPath();
      context.moveTo(x, ABOVE);
      context.lineTo(x, HEIGHT - BELOW);
      context.stroke();
      let place = LEFT;
      context.font = "11px system-ui, sans-serif";
      for (const track of panel.tracks) {
        const text = `${track.name} ${figures(this.motion.value(track.values, time))} ${panel.unit}`;
        context.fillStyle = this.#color(track);
        context.fillText(text, place, 12);
        place += context.measureText(text).width + 14;
      }
    }
  }

  #color(track) {
    return COLORS[this.tracks.indexOf(track) % COLORS.length];
  }

  #still(panel, width) {
    const style = getComputedStyle(this.box);
    const scale = window.devicePixelRatio || 1;
    const still = document.createElement("canvas");
    for (const canvas of [panel.canvas, still]) Object.assign(canvas, { width: width * scale, height: HEIGHT * scale });
    const context = still.getContext("2d");
    context.scale(scale, scale);
    let [low, high] = [Infinity, -Infinity];
    for (const { values } of panel.tracks) {
      for (const value of values) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    const least = 1e-6 * Math.max(Math.abs(low), Math.abs(high)) || 1;
    if (high - low < least) [low, high] = [low - least, high + least];
    const { times, start, end } = this.motion;
    const x = (t) => LEFT + ((t - start) / (end - start || 1)) * (width - LEFT - RIGHT);
    const y = (value) => HEIGHT - BELOW - ((value - low) / (high - low)) * (HEIGHT - ABOVE - BELOW - 4);
    context.font = "10px system-ui, sans-serif";
    context.fillStyle = style.getPropertyValue("--soft");
    context.strokeStyle = style.getPropertyValue("--line");
    for (const value of [low, (low + high) / 2, high]) {
      context.beginPath();
      context.moveTo(LEFT, y(value));
      context.lineTo(width - RIGHT, y(value));
      context.stroke();
      context.fillText(figures(value), 4, y(value) + 3);
    }
    context.fillText(`${start} s`, LEFT, HEIGHT - 5);
    context.fillText(`${figures(end)} s`, width - RIGHT - 44, HEIGHT - 5);
    for (const track of panel.tracks) {
      context.strokeStyle = this.#color(track);
      context.lineWidth = 1.4;
      context.beginPath();
      track.values.forEach((value, k) => (k ? context.lineTo(x(times[k]), y(value)) : context.moveTo(x(times[k]), y(value))));
      context.stroke();
    }
    Object.assign(panel, { still, width });
  }
}
