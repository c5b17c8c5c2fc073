// Talking to Python: pull, set, live. `ask` sends a message and resolves to the bytes of an answer.

import { unpack } from "./bundle.js";

export class Session {
  constructor(ask) {
    this.ask = ask;
    this.busy = false;
    this.waiting = [];
    this.onposes = () => {};
    this.onvalues = () => {};
    this.onsay = () => {};
    this.onfacts = () => {};
    this.onscene = () => {};
    this.onset = () => {};
    this.onsettled = () => {};
  }

  get there() {
    return Boolean(this.ask);
  }

  pull(frame, local, target) {
    this.#send({ kind: "pull", frame, local: local.toArray(), target: target.toArray() });
  }

  release() {
    this.#send({ kind: "release" });
  }

  set(name, value) {
    this.onset(name, value);
    this.#send({ kind: "set", name, value });
  }

  reset() {
    this.#send({ kind: "reset" });
  }

  rest() {
    this.#send({ kind: "rest" });
  }

  // one question at a time; of those of a kind that wait only the last is asked
  async #send(message) {
    if (!this.ask) return;
    if (this.busy) {
      const last = this.waiting.at(-1);
      if (last && last.kind === message.kind && last.name === message.name) this.waiting.pop();
      this.waiting.push(message);
      return;
    }
    this.busy = true;
    try {
      this.take(await this.ask(message));
      if (message.kind === "rest" || message.kind === "reset") this.onsettled();
    } catch (error) {
      this.onsay(`Python does not answer: ${error.message}`);
    }
    this.busy = false;
    if (this.waiting.length) this.#send(this.waiting.shift());
  }

  take(bytes) {
    const answer = unpack(bytes);
    if (answer.say !== undefined) this.onsay(answer.say);
    if (answer.scene) this.onscene(answer.scene);
    if (answer.facts !== undefined) this.onfacts(answer.facts);
    if (answer.poses) this.onposes(answer);
    if (answer.values) this.onvalues(answer.values);
  }
}
