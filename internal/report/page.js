"use strict";
// Shows the figures under the pointer, or with the arrow keys on a focused chart. The page is complete without it.
for (const fig of document.querySelectorAll("figure[data-cursor]")) {
  const points = JSON.parse(fig.dataset.cursor), out = fig.querySelector(".readout");
  if (!points.length) continue;
  let at = -1;
  const show = (i) => {
    at = Math.max(0, Math.min(points.length - 1, i));
    out.textContent = points[at][1];
    for (const svg of fig.querySelectorAll("svg.chart")) {
      const l = +svg.dataset.left, r = +svg.dataset.right, x = l + points[at][0] * (r - l), c = svg.querySelector(".cursor");
      c.setAttribute("x1", x);
      c.setAttribute("x2", x);
      c.classList.add("on");
    }
  };
  const hide = () => {
    at = -1;
    out.textContent = "";
    for (const c of fig.querySelectorAll(".cursor")) c.classList.remove("on");
  };
  for (const svg of fig.querySelectorAll("svg.chart")) {
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", (e) => {
      const box = svg.getBoundingClientRect(), l = +svg.dataset.left, r = +svg.dataset.right;
      const share = ((e.clientX - box.left) / box.width * +svg.dataset.width - l) / (r - l);
      let best = 0;
      points.forEach((p, i) => { if (Math.abs(p[0] - share) < Math.abs(points[best][0] - share)) best = i; });
      show(best);
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (e) => {
      if (e.key === "ArrowRight") show(at + 1);
      else if (e.key === "ArrowLeft") show(at < 0 ? points.length - 1 : at - 1);
      else if (e.key === "Escape") hide();
      else return;
      e.preventDefault();
    });
  }
}
