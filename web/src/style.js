export const STYLE = `
:host { all: initial; display: block; color-scheme: light dark;
  --ink: #222; --soft: #555; --paper: #fbfbfa; --raised: #ffffffee; --control: #fff; --hover: #f0f0ec; --chosen: #dfeaf3;
  --line: #d5d5d0; --accent: #0072b2; }
@media (prefers-color-scheme: dark) {
  :host { --ink: #e8e8e4; --soft: #b4b4ae; --paper: #1c1d1f; --raised: #26282bee; --control: #2d2f33; --hover: #3a3d42;
    --chosen: #17405c; --line: #44474c; --accent: #56b4e9; }
}
* { box-sizing: border-box; }
.viewer { outline: none; position: relative; display: flex; flex-direction: column; width: 100%; height: 100%; overflow: hidden;
  font: 13px/1.35 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
.stage { position: relative; flex: 1; min-height: 0; }
.stage canvas.scene { position: absolute; inset: 0; width: 100%; height: 100%; display: block; touch-action: none; outline: none; }
.stage.beside canvas.scene { width: calc(100% - 282px); }
.stage.beside .labels { right: 282px; }
.labels { position: absolute; inset: 0; pointer-events: none; overflow: hidden; }
.labels span { position: absolute; white-space: nowrap; font-size: 11px; text-shadow: 0 0 3px var(--paper), 0 0 3px var(--paper); }
.labels .joint { color: var(--soft); font-style: italic; }
.title { position: absolute; left: 10px; top: 8px; font-weight: 600; pointer-events: none; }
.say { position: absolute; left: 10px; top: 28px; max-width: 60%; color: var(--soft); pointer-events: none; }
.scale { position: absolute; left: 10px; bottom: 10px; width: 200px; font-size: 11px; pointer-events: none; }
.scale[hidden], .help[hidden] { display: none; }
.gradient { height: 10px; border-radius: 2px; margin: 2px 0; }
.ends { display: flex; justify-content: space-between; font-variant-numeric: tabular-nums; }
.help { position: absolute; left: 10px; top: 50px; background: var(--raised); border: 1px solid var(--line); border-radius: 6px;
  padding: 8px 14px; display: grid; grid-template-columns: auto 1fr; gap: 2px 14px; }
.help b { font-weight: 600; }
.facts { color: var(--ink); font-variant-numeric: tabular-nums; padding: 2px 0; white-space: pre-line; }
.menu { position: absolute; right: 8px; top: 8px; }
.panel { position: absolute; right: 8px; top: 42px; width: 264px; max-height: calc(100% - 50px); overflow-y: auto;
  background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: 4px 10px 8px; }
.panel[hidden], details[hidden], .bar[hidden] { display: none; }
summary { cursor: pointer; font-weight: 600; padding: 4px 0; }
.row { display: flex; flex-wrap: wrap; gap: 4px; padding: 2px 0; }
button, select { font: inherit; color: inherit; background: var(--control); border: 1px solid var(--line); border-radius: 4px; padding: 2px 8px; cursor: pointer; }
button:hover, select:hover { background: var(--hover); }
button.on { background: var(--chosen); border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.check { display: flex; align-items: center; gap: 6px; padding: 1px 0; overflow-wrap: anywhere; }
.check i { width: 10px; height: 10px; border-radius: 2px; flex: none; }
.slider { display: grid; grid-template-columns: 88px 1fr 54px; gap: 6px; align-items: center; padding: 1px 0; }
.slider span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.slider output { text-align: right; font-variant-numeric: tabular-nums; }
input[type=range] { width: 100%; accent-color: var(--accent); }
.bar { display: flex; align-items: center; gap: 8px; padding: 6px 10px; border-top: 1px solid var(--line); }
.bar .track { flex: 1; position: relative; display: flex; }
.marks { position: absolute; left: 8px; right: 8px; top: -5px; height: 6px; pointer-events: none; }
.marks i { position: absolute; width: 2px; height: 6px; margin-left: -1px; background: #d62728; }
.bar button { min-width: 34px; flex: none; }
.clock { min-width: 84px; text-align: right; font-variant-numeric: tabular-nums; }
.plots { max-height: 45%; overflow-y: auto; border-top: 1px solid var(--line); }
.plots:empty { display: none; }
.plot { display: block; width: 100%; height: 130px; cursor: crosshair; touch-action: none; }
@media (pointer: coarse) {
  .viewer button, .viewer select { min-width: 44px; min-height: 44px; }
  summary, .check, .slider, .bar .track { min-height: 44px; align-items: center; }
  input[type=range] { height: 44px; }
}
`;
