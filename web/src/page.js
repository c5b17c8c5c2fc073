// A page of its own: the scene stands in it, or comes from the server that serves the page.

import { mount } from "./main.js";

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function answered(response) {
  if (!response.ok) throw new Error((await response.text()) || response.statusText);
  return response.arrayBuffer();
}

// frames of a live run, each with its length before it
function listen(token) {
  return (take) => {
    const stop = new AbortController();
    (async () => {
      const response = await fetch(`stream?token=${token}`, { signal: stop.signal });
      const reader = response.body.getReader();
      let rest = new Uint8Array(0);
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const joined = new Uint8Array(rest.length + value.length);
        joined.set(rest);
        joined.set(value, rest.length);
        rest = joined;
        while (rest.length >= 4) {
          const size = new DataView(rest.buffer, rest.byteOffset).getUint32(0, true);
          if (rest.length < 4 + size) break;
          take(rest.slice(4, 4 + size).buffer);
          rest = rest.slice(4 + size);
        }
      }
    })().catch(() => {});
    return () => stop.abort();
  };
}

async function start() {
  const element = document.getElementById("viewer");
  const inside = document.getElementById("scene");
  if (inside) {
    window.viewer = mount(element, await inflated(inside.textContent.trim()));
    return;
  }
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const ask = async (message) => answered(await fetch(`ask?token=${token}`, { method: "POST", body: JSON.stringify(message) }));
  const bytes = await answered(await fetch(`scene?token=${token}`));
  window.viewer = mount(element, bytes, { ask, stream: element.dataset.live ? listen(token) : undefined });
}

// keys act at once on a page of its own; within another page they wait for a click
start().then(() => { if (window.top === window) window.viewer?.focus(); }).catch((error) => {
  document.getElementById("viewer").textContent = `The scene cannot be shown: ${error.message}`;
});
