// What keys do; those of a run's inputs hold them at an end of their range while they are pressed.

import { make } from "./elements.js";

const ARROWS = [["ArrowLeft", "ArrowRight"], ["ArrowDown", "ArrowUp"]];
const LOOKS = ["front", "side", "top", "back", "space"];

export function keys({ page, player, eye, labels, world, unfold, session, redraw, cycle }) {
  const inputs = world.document.controls?.inputs ?? [];
  const held = new Map();
  inputs.forEach((input, k) => (input.keys ?? ARROWS[k] ?? []).forEach((key, end) => {
    held.set(key.toLowerCase(), { input, value: end ? input.high : input.low, key });
  }));
  const acts = {
    " ": [() => player.toggle(), "space", "play or pause"],
    ...(held.has("arrowleft") ? {} : {
      arrowleft: [() => player.step(-1), "← →", "a frame back, on"],
      arrowright: [() => player.step(1)],
      home: [() => player.go(player.motion.start), "Home End", "begin, end"],
      end: [() => player.go(player.motion.end)],
    }),
    "+": [() => player.faster(1), "+ −", "faster, slower"],
    "-": [() => player.faster(-1)],
    l: [() => player.again(), "l", "begin again at the end, or stop"],
    ...Object.fromEntries(LOOKS.map((name, k) => [String(k + 1), [() => eye.look(name), ...(k ? [] : ["1 … 5", LOOKS.join(", ")])]])),
    p: [() => eye.toggle(), "p", "perspective or parallel"],
    n: [() => { labels.box.hidden = !labels.box.hidden; }, "n", "names"],
    g: [() => { world.layers.grid.visible = !world.layers.grid.visible; }, "g", "grid"],
    ...(cycle ? { pagedown: [() => cycle(1), "Page ↓ ↑", "next mode, the one before"], pageup: [() => cycle(-1)] } : {}),
    m: [() => unfold(), "m", "panel"],
    "?": [() => { help.hidden = !help.hidden; }, "?", "these keys"],
  };
  const rows = [...Object.values(acts), ...Array.from(held.values(), ({ input, value, key }) => [null, key.replace("Arrow", ""), `${input.name} = ${value}, while it is held`])];
  const help = make("div", { className: "help", hidden: true }, ...rows.filter(([, name]) => name).flatMap(([, name, text]) => [make("b", { textContent: name }), make("span", { textContent: text })]));

  page.addEventListener("keydown", (event) => {
    const name = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const on = event.composedPath()[0].tagName;
    if (on === "SELECT" || (on === "BUTTON" && name === " ") || (on === "INPUT" && /^(arrow|home|end|page)/.test(name))) return;
    const hold = held.get(name);
    if (hold) {
      event.preventDefault();
      if (!event.repeat) session.set(hold.input.name, hold.value);
    } else if (acts[name]) {
      event.preventDefault();
      acts[name][0]();
      redraw();
    }
  });
  page.addEventListener("keyup", (event) => {
    const hold = held.get(event.key.toLowerCase());
    if (hold) session.set(hold.input.name, hold.input.value);
  });
  return help;
}
