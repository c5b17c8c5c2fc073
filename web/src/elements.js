// Small pieces of the page.

export function make(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (name in found && name !== "list") found[name] = value;
    else found.setAttribute(name, value);
  }
  found.append(...children);
  return found;
}

export function button(text, title, onclick) {
  return make("button", { type: "button", textContent: text, title, ariaLabel: title, onclick });
}

export function check(text, checked, change) {
  const box = make("input", { type: "checkbox", checked, onchange: () => change(box.checked) });
  return make("label", { className: "check" }, box, text);
}

export function slider(text, { low, high, value, step }, input) {
  const shown = make("output", { textContent: figures(value) });
  const range = make("input", { type: "range", min: low, max: high, step: step ?? (high - low) / 500, value });
  range.addEventListener("input", () => {
    shown.textContent = figures(Number(range.value));
    input(Number(range.value));
  });
  const row = make("label", { className: "slider" }, make("span", { textContent: text, title: text }), range, shown);
  row.set = (number) => {
    range.value = number;
    shown.textContent = figures(number);
  };
  return row;
}

export function figures(number) {
  return Math.abs(number) >= 1e4 || (number !== 0 && Math.abs(number) < 1e-3) ? number.toExponential(2) : number.toPrecision(4);
}
