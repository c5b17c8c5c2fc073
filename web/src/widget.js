// The scene in a notebook: messages go through the kernel's own channel.

import { mount } from "./main.js";

function buffer(view) {
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
}

export default {
  render({ model, el }) {
    const box = document.createElement("div");
    box.style.height = `${model.get("height")}px`;
    el.append(box);
    let waiting = null;
    let take = null;
    const ask = (message) => new Promise((resolve) => {
      waiting = resolve;
      model.send(message);
    });
    const listen = (_, buffers) => {
      if (!buffers?.length) return;
      const bytes = buffer(buffers[0]);
      if (waiting) {
        waiting(bytes);
        waiting = null;
      } else take?.(bytes);
    };
    model.on("msg:custom", listen);
    const stream = (each) => {
      take = each;
      return () => { take = null; };
    };
    let shown = mount(box, buffer(model.get("scene")), { ask, stream });
    const renew = () => {
      shown?.destroy();
      shown = mount(box, buffer(model.get("scene")), { ask, stream });
    };
    model.on("change:scene", renew);
    return () => {
      model.off("msg:custom", listen);
      model.off("change:scene", renew);
      shown?.destroy();
    };
  },
};
