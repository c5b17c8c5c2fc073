// Time: play, pause, scrub, speed, loop.

import { button, make } from "./elements.js";

const WRITES = 12; // a second
const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

export class Player {
  constructor(motion, { speed, onchange, impacts = [] }) {
    this.motion = motion;
    this.time = motion.start;
    this.onchange = onchange;
    this.playing = false;
    this.loop = true;
    this.speed = speed;
    this.play = button("▶", "play or pause (space)", () => this.toggle());
    this.range = make("input", {
      type: "range", className: "time", min: motion.start, max: motion.end, step: "any", value: motion.start,
      ariaLabel: "time", oninput: () => this.go(Number(this.range.value)),
    });
    this.clock = make("output", { className: "clock" });
    const speeds = SPEEDS.includes(speed) ? SPEEDS : [...SPEEDS, speed].sort((a, b) => a - b);
    const choice = make("select", { title: "seconds of motion in a second", ariaLabel: "speed" });
    for (const each of speeds) choice.append(make("option", { value: each, textContent: `${each} ×`, selected: each === speed }));
    choice.addEventListener("change", () => { this.speed = Number(choice.value); });
    this.choice = choice;
    this.speeds = speeds;
    this.repeat = button("↻", "begin again at the end", () => this.again());
    this.repeat.classList.add("on");
    this.bar = make("div", { className: "bar" }, this.play, this.#track(impacts), this.clock, choice, this.repeat);
    const span = Math.max(motion.end - motion.start, 1e-9);
    this.digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(span / 1000))));
    this.bar.hidden = motion.times.length < 2;
    this.#write();
  }

  // the slider of time, with marks of impacts above it
  #track(impacts) {
    const { start, end } = this.motion;
    const marks = Array.from(impacts, (time) => make("i", { style: `left: ${(100 * (time - start)) / (end - start)}%` }));
    return make("div", { className: "track" }, make("div", { className: "marks", title: "impacts" }, ...marks), this.range);
  }

  toggle(on = !this.playing) {
    this.playing = on;
    this.play.textContent = on ? "❚❚" : "▶";
    this.#write();
    if (on && this.time >= this.motion.end) this.go(this.motion.start);
  }

  again() {
    this.loop = !this.loop;
    this.repeat.classList.toggle("on", this.loop);
  }

  faster(by) {
    const place = Math.min(Math.max(this.speeds.indexOf(this.speed) + by, 0), this.speeds.length - 1);
    this.speed = this.speeds[place];
    this.choice.value = this.speed;
  }

  // by stored frames
  step(by) {
    this.toggle(false);
    const [row, , share] = this.motion.locate(this.time);
    const { times } = this.motion;
    this.go(times[Math.min(Math.max(by < 0 && share > 0 ? row : row + by, 0), times.length - 1)]);
  }

  go(time) {
    this.time = Math.min(Math.max(time, this.motion.start), this.motion.end);
    // while it plays, the bar follows a few times a second: drawing it takes as long as the scene where a processor draws
    const now = performance.now();
    if (!this.playing || now - this.written > 1000 / WRITES) this.#write(now);
    this.onchange(this.time);
  }

  tick(seconds) {
    if (!this.playing || this.motion.times.length < 2) return;
    const next = this.time + seconds * this.speed;
    if (next <= this.motion.end) this.go(next);
    else if (this.loop) this.go(this.motion.start + ((next - this.motion.end) % (this.motion.end - this.motion.start)));
    else {
      this.go(this.motion.end);
      this.toggle(false);
    }
  }

  #write(now = 0) {
    this.written = now;
    this.range.value = this.time;
    this.clock.textContent = `${this.time.toFixed(this.digits)} s`;
  }
}
