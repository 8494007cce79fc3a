// What a finding does. Its details come into the page when it is opened, so everything is set up for the part of
// the page that is mounted, never for the document at large. Joined behind mount.js.
(() => {
  "use strict";

  const { powercut } = window;
  const all = (selector, root) => [...root.querySelectorAll(selector)];

  // Marks of the chart: one tab stop a track, arrow keys within it. A mark that is reached or pressed is the step shown.
  function markUp(film, showAt) {
    const chart = film.querySelector(".chart");
    if (!chart) {
      return; // The steps of recovery have no chart.
    }
    const jump = (event) => {
      const mark = event.target.closest?.(".mark");
      if (mark) {
        showAt(Number(mark.dataset.x));
      }
    };
    chart.addEventListener("click", jump);
    chart.addEventListener("focusin", jump);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const mark = event.target.closest?.(".mark");
      if (!step || !mark) {
        return;
      }
      event.stopPropagation();
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

  // The film strip. Its steps are the rows of the table, which stays the truth: this moves through them.
  const BEAT = 1100; // milliseconds a step, while it plays
  function filmStrip(film) {
    const rows = all(".film-table tbody tr", film);
    const tracks = all(".film-table thead code", film).map((label) => label.textContent);
    const figures = all(".film-sources figure", film);
    const slider = film.querySelector("input[type=range]");
    const play = film.querySelector("[data-go=play]");
    const playhead = film.querySelector(".playhead");
    const svg = film.querySelector(".timeline");
    const shown = { at: 0, timer: 0 };
    const part = (name) => film.querySelector(name);

    function stop() {
      window.clearInterval(shown.timer);
      shown.timer = 0;
      play.textContent = "▶ Play";
      play.setAttribute("aria-label", "Play");
    }

    function lineStates(row) {
      return all(".state", row).map((cell, track) => {
        const item = document.createElement("li");
        item.className = cell.className;
        const label = document.createElement("code");
        label.textContent = tracks[track];
        item.append(label, ` ${cell.textContent}`);
        return item;
      });
    }

    function show(index) {
      shown.at = Math.max(0, Math.min(rows.length - 1, index));
      const row = rows[shown.at];
      slider.value = String(shown.at + 1);
      slider.setAttribute("aria-valuetext", row.cells[1].textContent);
      part(".film-count").textContent = `${shown.at + 1} of ${rows.length}`;
      part(".film-step").textContent = row.cells[1].textContent;
      part(".film-step").className = `film-step ${row.className}`;
      part(".film-site").textContent = row.cells[2].textContent;
      part(".film-lines")?.replaceChildren(...lineStates(row));
      const value = part(".film-value");
      if (value) {
        value.textContent = row.querySelector(".value").textContent;
      }
      const figure = figures[Number(row.dataset.source)];
      part(".film-source").replaceChildren(...(figure ? [figure.querySelector("pre").cloneNode(true)] : []));
      for (const other of rows) {
        other.toggleAttribute("aria-current", other === row);
      }
      if (svg) {
        showInChart(row.dataset.x);
      }
      for (const [name, end] of [["first", 0], ["back", 0], ["on", rows.length - 1], ["last", rows.length - 1]]) {
        part(`[data-go=${name}]`).setAttribute("aria-disabled", String(shown.at === end));
      }
    }

    function showInChart(x) {
      playhead.setAttribute("visibility", "visible");
      playhead.setAttribute("transform", `translate(${x} 0)`);
      keepInSight(Number(x));
      for (const mark of all(".mark", svg)) {
        mark.classList.toggle("now", mark.dataset.x === x);
      }
    }

    function keepInSight(x) {
      const chart = part(".chart");
      if (x < chart.scrollLeft + 110 || x > chart.scrollLeft + chart.clientWidth - 40) {
        chart.scrollLeft = x - chart.clientWidth / 2;
      }
    }

    function toggle() {
      if (shown.timer) {
        stop();
        return;
      }
      if (shown.at === rows.length - 1) {
        show(0);
      }
      play.textContent = "❚❚ Pause";
      play.setAttribute("aria-label", "Pause");
      shown.timer = window.setInterval(() => {
        show(shown.at + 1);
        if (shown.at === rows.length - 1) {
          stop();
        }
      }, BEAT);
    }

    const moves = {
      first: () => show(0),
      back: () => show(shown.at - 1),
      on: () => show(shown.at + 1),
      last: () => show(rows.length - 1),
    };
    film.addEventListener("click", (event) => {
      const go = event.target.closest?.("[data-go]")?.dataset.go;
      if (go === "play") {
        toggle();
      } else if (go) {
        stop();
        moves[go]();
      }
    });
    slider.addEventListener("input", () => {
      stop();
      show(Number(slider.value) - 1);
    });
    film.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: moves.back, ArrowRight: moves.on, Home: moves.first, End: moves.last }[event.key];
      const typing = event.target.matches("input, .scroll, pre") || event.ctrlKey || event.metaKey || event.altKey;
      if (move && !typing) {
        event.preventDefault();
        stop();
        move();
      }
    });
    markUp(film, (x) => {
      const index = rows.findIndex((row) => Number(row.dataset.x) === x);
      if (index >= 0) {
        stop();
        show(index);
      }
    });

    // Whoever asks for less motion steps by hand.
    play.hidden = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    film.querySelector(".chart-text").open = false;
    for (const control of all(".film-bar, .film-now", film)) {
      control.hidden = false;
    }
    show(Number(film.dataset.start));
  }

  powercut.onMount((root) => {
    for (const film of all(".film", root)) {
      filmStrip(film);
    }
  });
})();
