"""HTML template of an animation: embedded frames and a small player, without external files.

The frames share one palette, so that a page is about a third as large as that of matplotlib's ``to_jshtml``; it also
has the name and unit of the parameter of the motion.
"""

__all__ = ["PAGE"]

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%TITLE%</title>
<style>
body { margin: 1rem; font: 14px/1.4 system-ui, sans-serif; color: #222; background: #fff; }
figure { margin: 0; max-width: %WIDTH%px; }
img { width: 100%; height: auto; display: block; }
.bar { display: flex; align-items: center; gap: .6rem; margin-top: .4rem; }
.bar input[type=range] { flex: 1; }
button, select { font: inherit; padding: .1rem .6rem; }
output { min-width: 7em; text-align: right; font-variant-numeric: tabular-nums; }
</style>
</head>
<body>
<figure>
<img id="frame" width="%WIDTH%" height="%HEIGHT%" alt="%TITLE%">
<div class="bar">
<button id="play" type="button" aria-label="play or pause">Pause</button>
<input id="slider" type="range" min="0" value="0" step="1" aria-label="time">
<select id="rate" aria-label="speed"><option value="0.25">¼×</option><option value="0.5">½×</option>
<option value="1" selected>1×</option><option value="2">2×</option></select>
<output id="time"></output>
</div>
<figcaption>%TITLE%. Space plays or pauses; arrow keys step.</figcaption>
</figure>
<script>
"use strict";
const fps = %FPS%, times = %TIMES%, frames = %FRAMES%;
const find = id => document.getElementById(id);
const image = find("frame"), slider = find("slider"), play = find("play"), rate = find("rate"), time = find("time");
slider.max = frames.length - 1;
let at = 0, running = true, last = null;
function show(k) {
  at = k;
  const n = Math.floor(k);
  image.src = "data:image/png;base64," + frames[n];
  slider.value = n;
  time.textContent = %NAME% + " = " + times[n].toFixed(3) + %UNIT%;
}
function toggle(on) { running = on; play.textContent = on ? "Pause" : "Play"; }
function step(by) { toggle(false); show((Math.floor(at) + by + frames.length) % frames.length); }
function tick(now) {
  if (running && last !== null) {
    const next = (at + (now - last) / 1000 * fps * rate.value) % frames.length;
    if (Math.floor(next) !== Math.floor(at)) show(next); else at = next;
  }
  last = now;
  requestAnimationFrame(tick);
}
play.onclick = () => toggle(!running);
slider.oninput = () => { toggle(false); show(Number(slider.value)); };
document.onkeydown = event => {
  if (event.target.tagName === "SELECT") return;
  if (event.key === " ") toggle(!running);
  else if (event.key === "ArrowRight") step(1);
  else if (event.key === "ArrowLeft") step(-1);
  else return;
  event.preventDefault();
};
show(0);
requestAnimationFrame(tick);
</script>
</body>
</html>
"""
