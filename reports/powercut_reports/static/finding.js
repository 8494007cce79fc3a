// What a finding does. Its details come into the page when it is opened, so everything is set up for the part of
// the page that is mounted, never for the document at large. Joined behind mount.js.
(() => {
  "use strict";

  const { powercut } = window;
  const all = (selector, root) => [...root.querySelectorAll(selector)];

  // Timelines: one tab stop a lane, arrow keys within it, the event in words below.
  powercut.onMount((root) => {
    for (const chart of all(".chart", root)) {
      const detail = chart.parentElement.querySelector(".chart-detail");
      const say = (event) => {
        const mark = event.target.closest?.(".mark, .segment");
        if (mark) {
          detail.textContent = mark.querySelector("title").textContent;
        }
      };
      detail.hidden = false;
      chart.addEventListener("pointerover", say);
      chart.addEventListener("focusin", say);
      chart.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        const mark = event.target.closest?.(".mark");
        if (!step || !mark) {
          return;
        }
        const marks = all(".mark", mark.parentElement);
        const next = marks[marks.indexOf(mark) + step];
        if (next) {
          event.preventDefault();
          mark.setAttribute("tabindex", "-1");
          next.setAttribute("tabindex", "0");
          next.focus();
        }
      });
    }
  });
})();
