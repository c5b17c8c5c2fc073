// The panel beside the scene: what is shown, what is plotted, what can be moved.

import { button, check, make, slider } from "./elements.js";

function section(title, open, ...children) {
  const found = make("details", { open }, make("summary", { textContent: title }), ...children);
  found.hidden = children.length === 0;
  return found;
}

export function panel({ world, eye, plots, labels, pointing, session, redraw, turn, cut, settle }) {
  const { document: scene } = world;
  const changed = (act) => (value) => {
    act(value);
    redraw();
  };
  const layer = (name, text) => check(text, world.layers[name].visible, changed((on) => { world.layers[name].visible = on; }));

  const show = (kind, on) => {
    world.cast.show(kind, on);
  };

  const looks = ["front", "side", "top", "back", "space"].map((name) => button(name, `look from the ${name}`, () => changed(() => eye.look(name))()));
  const flat = button("⊡", "perspective or parallel", () => changed(() => eye.toggle())());
  const follow = make("select", { title: "follow a body", ariaLabel: "follow a body" }, make("option", { value: 0, textContent: "stand still" }));
  scene.bodies.forEach((body, k) => follow.append(make("option", { value: k + 1, textContent: `follow ${body.name}` })));
  follow.addEventListener("change", () => eye.follow(Number(follow.value)));
  const view = section("view", true,
    make("div", { className: "row" }, ...looks, flat), follow,
    slider("see-through", { low: 0, high: 0.95, value: 0, step: 0.05 }, changed((share) => world.cast.fade(1 - share))),
    slider("section", { low: 0, high: 1, value: 0, step: 0.01 }, cut),
    layer("grid", "grid"), layer("ground", "bearings"), check("elements", true, changed((on) => { world.layers.elements.visible = on; show("element", on); })), layer("axes", "axes of joints"),
    check("joints", true, changed((on) => show("joint", on))),
    ...(scene.rigid.some(({ kind }) => kind === "collision")
      ? [check("collision shapes", false, changed((on) => { world.collisions = on; show("collision", on); }))]
      : []),
    ...(world.touching.most ? [layer("contacts", "contact forces (green: sticks, orange: slides)")] : []),
    check("names", false, changed((on) => { labels.box.hidden = !on; })),
    ...(world.traces.length ? [layer("traces", "paths")] : []),
    ...world.others.map(({ cast, name }) => check(name, true, changed((on) => { cast.group.visible = on; }))),
  );

  const arrows = world.arrows.length
    ? section("arrows", true, layer("arrows", "shown"),
      slider("length", { low: 0.1, high: 5, value: 1, step: 0.05 }, changed((scale) => { world.scale = scale; world.place(); })))
    : section("arrows", false);

  const pointer = make("div", { className: "row" });
  const modes = { look: "turn", measure: "measure", ...(scene.controls?.pull ? { pull: "pull" } : {}) };
  for (const [mode, text] of Object.entries(modes)) {
    const choice = button(text, `pointer: ${text}`, () => {
      pointing.mode = mode;
      pointing.picked = [];
      for (const other of pointer.children) other.classList.toggle("on", other === choice);
      changed(() => pointing.update())();
    });
    choice.classList.toggle("on", mode === "look");
    choice.dataset.mode = mode;
    pointer.append(choice);
  }

  const coordinates = (scene.controls?.coordinates ?? []).map((each) => {
    const row = slider(each.name, each, (value) => session.set(each.name, value));
    row.dataset.name = each.name;
    return row;
  });
  session.onvalues = (values) => coordinates.forEach((row, k) => { if (values?.[k] !== undefined) row.set(values[k]); });
  const inputs = (scene.controls?.inputs ?? []).map((each) => slider(each.name, each, (value) => session.set(each.name, value)));
  session.onset = (name, value) => (scene.controls?.inputs ?? []).forEach((each, k) => { if (each.name === name) inputs[k].set(value); });
  const numbers = (scene.controls?.parameters ?? []).map((each) => slider(each.name, each, (value) => session.set(each.name, value)));
  const told = make("div", { className: "facts", textContent: scene.controls?.facts ?? "" });
  session.onfacts = (text) => { told.textContent = text; };
  const facts = scene.controls?.facts !== undefined
    ? section("mechanism", true, told, button("equilibrium", "go downhill to where nothing moves", () => session.rest()))
    : section("mechanism", false);
  const back = coordinates.length ? [button("back to the start", "as the system was given", () => session.reset())] : [];

  const tracks = (scene.tracks ?? []).map((track) => {
    const on = track.shown ?? false;
    if (on) plots.choose(track.name, true);
    return check(`${track.name} [${track.unit || "–"}]`, on, (value) => { plots.choose(track.name, value); settle(); });
  });

  const bodies = scene.bodies.map((body) => {
    const row = check(body.name, true, changed((on) => {
      if (on) world.cast.hidden.delete(body.name);
      else world.cast.hidden.add(body.name);
      world.place();
    }));
    row.prepend(make("i", { style: `background:${body.color}` }));
    return row;
  });

  const shapes = make("select", { title: "mode", ariaLabel: "mode" });
  (scene.cycles ?? []).forEach(({ name }, k) => shapes.append(make("option", { value: k, textContent: name })));
  shapes.addEventListener("change", () => turn(Number(shapes.value)));
  const cycles = scene.cycles ? section("modes", true, shapes) : section("modes", false);

  const found = make("div", { className: "panel" },
    cycles, view, section("pointer", true, pointer), facts, section("inputs", true, ...inputs), section("parameters", true, ...numbers),
    section("coordinates", coordinates.length <= 12, ...coordinates, ...back), arrows,
    section("plots", tracks.length <= 12, ...tracks), section("bodies", bodies.length <= 14, ...bodies));
  found.choose = (k) => { shapes.value = k; };
  return found;
}
