// How finely the page is drawn: as the screen has it where there is a graphics processor; without one, coarsely while
// something moves, coarser still if that is slow, and finely once all is still.

const SLOW = 0.03; // s between frames
const QUICK = 0.02;
const FINE = { ratio: 2, size: 0.25 };
// pixels drawn for each of the page, and how many times as large things may be that get few triangles
const STEPS = [{ ratio: 1, size: 1 }, { ratio: 1, size: 2 }, { ratio: 0.75, size: 2 }, { ratio: 0.5, size: 2 }];
const PATIENCE = 1000; // ms until a finer step is tried, twice as many after each that was too slow
const STILL = 250; // ms without a change

// whether a processor draws what a graphics processor should
export function byProcessor() {
  const context = document.createElement("canvas").getContext("webgl2");
  if (!context) return false;
  const named = context.getExtension("WEBGL_debug_renderer_info");
  const renderer = String(context.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : context.RENDERER));
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(renderer);
}

export class Pace {
  constructor(software) {
    this.software = software;
    this.step = 0;
    this.mean = 0;
    this.changed = 0;
    this.fine = false;
    this.patience = PATIENCE;
    this.since = 0;
  }

  get coarse() {
    return this.software && !this.fine;
  }

  // pixels drawn for each of the page
  get ratio() {
    const screen = Math.min(window.devicePixelRatio || 1, 2);
    if (!this.software) return screen;
    return this.fine ? FINE.ratio : STEPS[this.step].ratio;
  }

  get size() {
    return this.coarse ? STEPS[this.step].size : FINE.size;
  }

  // take note of a frame that differs from the last, s after it; return whether the ratio changes
  moved(now, seconds) {
    this.changed = now;
    if (!this.software) return false;
    const before = this.ratio;
    this.fine = false;
    if (seconds < 0.5) this.mean += 0.1 * (seconds - this.mean);
    if (this.mean > SLOW && this.step < STEPS.length - 1) {
      if (this.tried) this.patience *= 2;
      this.#go(1, now);
    } else if (this.mean > 0 && this.mean < QUICK && this.step > 0 && now - this.since > this.patience) this.#go(-1, now);
    return this.ratio !== before;
  }

  #go(way, now) {
    this.step += way;
    this.since = now;
    this.tried = way < 0;
    this.mean = (SLOW + QUICK) / 2;
  }

  // return whether a still page is to be drawn once more, finely
  rested(now) {
    if (!this.software || this.fine || now - this.changed < STILL) return false;
    this.fine = true;
    return true;
  }
}
