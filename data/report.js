(function () {
  "use strict";
  const samples = document.getElementById("samples");
  if (!samples) return;
  const data = JSON.parse(samples.textContent);
  const picture = document.querySelector("svg.timeline"), at = document.getElementById("at");
  const left = 70, right = 20, width = 960;
  const gib = (n) => (n / 2 ** 30).toFixed(2) + " GiB";
  let shown = data.peak;
  function show(i) {
    shown = Math.max(0, Math.min(data.samples.length - 1, i));
    const [event, phase, layer, module, live, parts] = data.samples[shown];
    const held = parts.map((n, c) => [n, data.categories[c]]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]);
    at.textContent = `event ${event}, ${data.phases[phase]}${layer >= 0 ? ", layer " + layer : ""}${module ? ", " + module : ""}: ${gib(live)} = ` +
      held.map(([n, name]) => `${name} ${gib(n)}`).join(" + ");
  }
  picture.addEventListener("mousemove", (e) => {
    const box = picture.getBoundingClientRect();
    const event = ((e.clientX - box.left) / box.width * width - left) / (width - left - right) * data.events;
    show(data.samples.findIndex((s) => s[0] >= event));
  });
  picture.setAttribute("tabindex", "0");
  picture.addEventListener("keydown", (e) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20}[e.key];
    if (step) { show(shown + step); e.preventDefault(); }
    if (e.key === "Home") show(data.peak);
  });
  show(data.peak);
})();
