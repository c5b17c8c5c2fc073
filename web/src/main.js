// A scene in an element of a page: mount(element, bytes, { ask, stream }).

import { WebGLRenderer } from "three";
import { unpack } from "./bundle.js";
import { Eye } from "./camera.js";
import { Sight } from "./crowd.js";
import { button, make } from "./elements.js";
import { keys } from "./keys.js";
import { Labels } from "./labels.js";
import { Pace, byProcessor } from "./pace.js";
import { panel } from "./panel.js";
import { Player } from "./player.js";
import { Plots } from "./plots.js";
import { Pointing } from "./pointing.js";
import { Scale } from "./scale.js";
import { Session } from "./session.js";
import { STYLE } from "./style.js";
import { World } from "./world.js";

const ROOM = 720; // pixels from which on the panel stands beside the scene, not over it

export function mount(element, bytes, { ask, stream } = {}) {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const pace = new Pace(byProcessor());
  const world = new World(unpack(bytes), pace);
  const { document: scene } = world;
  const canvas = make("canvas", { className: "scene", tabIndex: 0, role: "img", ariaLabel: `${scene.name}, in three dimensions` });
  const said = make("div", { className: "say", role: "status" });
  const say = (text) => { said.textContent = text; };
  let renderer;
  try {
    // opaque: a page that a processor puts together need not be mixed with what is behind
    const context = canvas.getContext("webgl2", { alpha: false, antialias: !pace.software, stencil: false });
    if (!context) throw new Error("no context");
    renderer = new WebGLRenderer({ canvas, context });
  } catch (error) {
    root.replaceChildren(make("p", { textContent: `This page needs WebGL, which the browser does not offer: ${error.message}` }));
    return null;
  }
  const eye = new Eye(world, canvas);
  let stale = true;
  const redraw = () => { stale = true; };
  const player = new Player(world.motion, {
    speed: scene.speed ?? 1,
    impacts: scene.impacts ?? [],
    onchange: (time) => { world.show(time); redraw(); },
  });
  const plots = new Plots(world.motion, scene.tracks ?? [], (time) => player.go(time));
  const labels = new Labels(world);
  const session = new Session(ask);
  session.onsay = say;
  session.onposes = ({ poses, eta }) => {
    player.toggle(false);
    world.frames.between(poses, eta, 0, 0, 0);
    world.place();
    if (stream) eye.grow(world.corners());
    redraw();
  };
  session.onsettled = () => { eye.include(world.places()); redraw(); };
  session.onscene = (other) => { world.renew(other); redraw(); };
  const pointing = new Pointing({
    world, eye, canvas, say, redraw,
    pull: (frame, local, target) => session.pull(frame, local, target),
    settle: () => session.release(),
    cut: () => renderer.clippingPlanes,
  });

  const scale = new Scale();
  scale.show(scene.motion.field);
  const cycles = scene.cycles ?? null;
  let chosen = 0;
  const turn = (k) => {
    chosen = (k + cycles.length) % cycles.length;
    world.turn(cycles[chosen].motion);
    scale.show(scene.motion.field);
    title.textContent = `${scene.name}, ${cycles[chosen].name}`;
    side.choose?.(chosen);
    redraw();
  };
  const title = make("div", { className: "title", textContent: cycles ? `${scene.name}, ${cycles[0].name}` : scene.name });
  const cut = (share) => { renderer.clippingPlanes = world.cut(share, eye.towards); redraw(); };
  const side = panel({ world, eye, plots, labels, pointing, session, redraw, turn, cut, settle: () => resize() });
  side.hidden = !scene.panel;
  const menu = make("div", { className: "menu" }, button("☰", "show or hide the panel", () => unfold()));
  const stage = make("div", { className: "stage" }, canvas, labels.box, title, said, scale.box, menu, side);
  const page = make("div", { className: "viewer", tabIndex: -1 }, stage, plots.box, player.bar);
  const cycle = cycles ? (by) => turn(chosen + by) : null;
  stage.append(keys({ page, player, eye, labels, world, unfold, session, redraw, cycle }));
  root.replaceChildren(make("style", { textContent: STYLE }), page);

  function unfold() {
    side.hidden = !side.hidden;
    resize();
  }

  function resize() {
    stage.classList.toggle("beside", !side.hidden && stage.clientWidth > ROOM);
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width || !height) return;
    renderer.setPixelRatio(pace.ratio);
    renderer.setSize(width, height, false);
    eye.resize(width, height);
    redraw();
  }
  const observer = new ResizeObserver(resize);
  observer.observe(stage);
  resize();
  eye.look(scene.plane ? "front" : "space");
  eye.controls.addEventListener("change", redraw);
  const sight = new Sight();
  function draw() {
    eye.update();
    pointing.update();
    world.draw(sight.look(eye.camera, canvas.clientHeight, pace));
    renderer.render(world.scene, eye.camera);
    labels.place(eye.camera, canvas.clientWidth, canvas.clientHeight);
    plots.draw(player.time);
  }

  // a frame as finely as can be, for pictures
  function shoot(time) {
    player.toggle(false);
    player.go(time);
    pace.fine = true;
    renderer.setPixelRatio(pace.ratio);
    draw();
    stale = false;
  }

  // nothing but the scene and its plots
  function bare() {
    side.hidden = true;
    for (const each of [player.bar, menu]) each.remove();
    resize();
  }

  // colours and motion as the system asks for
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  const dress = () => { world.dress(night.matches); plots.renew(); redraw(); };
  night.addEventListener("change", dress);
  dress();
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  let last = performance.now();
  let frames = 0;
  let alive = true;
  function tick(now) {
    if (!alive) return;
    const seconds = (now - last) / 1000;
    player.tick(Math.min(0.1, seconds));
    last = now;
    if (stale) {
      stale = false;
      if (pace.moved(now, seconds)) renderer.setPixelRatio(pace.ratio);
      draw();
      frames += 1;
    } else if (pace.rested(now)) {
      renderer.setPixelRatio(pace.ratio);
      draw();
    }
    requestAnimationFrame(tick);
  }
  requestAnimationFrame(tick);
  if (scene.play && !still && world.motion.times.length > 1) player.toggle(true);
  const stop = stream?.((block) => session.take(block));
  return {
    world, player, eye, pointing, session, plots, renderer, pace, turn, shoot, bare,
    focus() { page.focus({ preventScroll: true }); },
    get frames() { return frames; },
    destroy() {
      alive = false;
      stop?.();
      observer.disconnect();
      night.removeEventListener("change", dress);
      renderer.dispose();
      root.replaceChildren();
    },
  };
}
