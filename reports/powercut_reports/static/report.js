// What the page does beyond text and <details>: filter, links that open what they lead to, copy, theme,
// printing; what a finding does is in finding.js. The page is complete without any of it; controls that need this file
// are hidden until it runs. Strings of the target only ever go through textContent and properties.
(() => {
  "use strict";

  const { powercut } = window;
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const data = JSON.parse(byId("powercut-data").textContent);

  // ---- state in the address: #q=level&verdict=inconsistent&at=run-3; a plain #run-3 is a link ----

  const verdicts = all("#filters input[name=verdict]");
  const input = byId("filter");

  function readHash() {
    const hash = window.location.hash.slice(1);
    if (!hash.includes("=")) {
      return { q: "", verdict: "all", at: hash };
    }
    const fields = new URLSearchParams(hash);
    const verdict = fields.get("verdict") ?? "all";
    const known = verdicts.some((option) => option.value === verdict);
    return { q: fields.get("q") ?? "", verdict: known ? verdict : "all", at: fields.get("at") ?? "" };
  }

  function writeHash(state) {
    const fields = new URLSearchParams();
    if (state.q) {
      fields.set("q", state.q);
    }
    if (state.verdict !== "all") {
      fields.set("verdict", state.verdict);
    }
    const filtered = fields.size > 0;
    if (filtered && state.at) {
      fields.set("at", state.at);
    }
    return `#${filtered ? fields : state.at}`;
  }

  // ---- filter ----

  const fold = (parts) => parts.filter(Boolean).join("\n").toLowerCase();
  const runs = data.runs.map((run, index) => ({
    element: byId(`run-${index + 1}`),
    cell: document.querySelector(`#matrix [data-run="run-${index + 1}"]`),
    verdict: run.verdict,
    text: fold([`${run.target}:${run.variant}`, run.scenario, run.model, run.strategy]),
    findings: run.findings.map((finding, n) => ({
      element: byId(`run-${index + 1}-${n + 1}`),
      text: fold([
        finding.invariant,
        finding.operation,
        finding.query,
        finding.message,
        finding.store_site,
        finding.lost_site,
        finding.fingerprint,
      ]),
    })),
  }));

  function applyFilter(state) {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (text) => words.every((word) => text.includes(word));
    let shown = 0;
    for (const run of runs) {
      const whole = fits(run.text);
      let anyFinding = false;
      for (const finding of run.findings) {
        // A word may fit the run and another one the finding: "shrink torn-value".
        const visible = whole || fits(`${run.text}\n${finding.text}`);
        finding.element.hidden = !visible;
        anyFinding ||= visible;
      }
      const visible = (state.verdict === "all" || state.verdict === run.verdict) && (whole || anyFinding);
      run.element.hidden = !visible;
      run.cell.hidden = !visible;
      shown += visible ? 1 : 0;
    }
    for (const row of all("#matrix tbody tr")) {
      const cells = all("[data-run]", row);
      row.hidden = cells.every((cell) => cell.hidden);
    }
    for (const target of all("#matrix .target")) {
      target.hidden = all("tbody tr", target).every((row) => row.hidden);
    }
    const filtered = words.length > 0 || state.verdict !== "all";
    byId("shown").textContent = filtered ? `${shown} of ${runs.length} runs shown` : "";
    byId("none-shown").hidden = shown > 0 || runs.length === 0;
  }

  // ---- links ----

  function reveal(id) {
    const target = id && byId(id);
    if (!target) {
      return;
    }
    for (let element = target; element; element = element.parentElement) {
      if (element instanceof HTMLDetailsElement) {
        element.open = true;
      }
    }
    target.scrollIntoView();
    const focusable = target.querySelector(":scope > summary");
    focusable?.focus({ preventScroll: true });
  }

  function show(state) {
    input.value = state.q;
    for (const option of verdicts) {
      option.checked = option.value === state.verdict;
    }
    applyFilter(state);
    reveal(state.at);
  }

  function filterChanged() {
    const verdict = verdicts.find((option) => option.checked)?.value ?? "all";
    const state = { q: input.value.trim(), verdict, at: "" };
    window.history.replaceState(null, "", writeHash(state));
    applyFilter(state);
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    event.preventDefault();
    const state = { ...readHash(), at: link.getAttribute("href").slice(1) };
    window.history.pushState(null, "", writeHash(state));
    reveal(state.at);
  });
  window.addEventListener("hashchange", () => show(readHash()));
  window.addEventListener("popstate", () => show(readHash()));

  byId("filters").hidden = false;
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", filterChanged);
  for (const option of verdicts) {
    option.addEventListener("change", filterChanged);
  }
  byId("reset").addEventListener("click", () => {
    window.history.replaceState(null, "", "#");
    show(readHash());
    input.focus();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape" && event.target === input && input.value) {
      input.value = "";
      filterChanged();
    }
  });

  // ---- copy ----

  let toastTimer = 0;
  function toast(text) {
    byId("toast").textContent = text;
    window.clearTimeout(toastTimer);
    toastTimer = window.setTimeout(() => {
      byId("toast").textContent = "";
    }, 2500);
  }

  async function copy(source) {
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      // No permission, or no clipboard for pages from a file: leave the text selected for Ctrl-C.
      window.getSelection().selectAllChildren(source);
      toast("Selected. Press Ctrl+C to copy.");
      return;
    }
    toast("Command copied.");
  }

  powercut.onMount((root) => {
    for (const button of all(".copy", root)) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button.parentElement.querySelector("code")));
    }
  });

  // ---- theme: system, light, dark ----

  const themes = ["system", "light", "dark"];
  const root = document.documentElement;
  const themeButton = byId("theme");

  function setTheme(theme) {
    if (theme === "system") {
      delete root.dataset.theme;
    } else {
      root.dataset.theme = theme;
    }
    byId("theme-name").textContent = theme;
    try {
      window.localStorage.setItem("powercut-theme", theme);
    } catch {
      // No storage: the choice lasts as long as the page.
    }
  }

  themeButton.hidden = false;
  byId("theme-name").textContent = root.dataset.theme ?? "system";
  themeButton.addEventListener("click", () => {
    const now = themes.indexOf(root.dataset.theme ?? "system");
    setTheme(themes[(now + 1) % themes.length]);
  });

  // ---- data and printing ----

  const download = byId("download");
  download.hidden = false;
  download.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = "powercut.json";
    link.click();
    URL.revokeObjectURL(url);
  });

  let openedForPrint = [];
  window.addEventListener("beforeprint", () => {
    openedForPrint = all(".run:not([open]), .finding:not([open])");
    for (const details of openedForPrint) {
      details.open = true;
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of openedForPrint) {
      details.open = false;
    }
  });

  powercut.mount(document);
  show(readHash());
  // The browser's own jump to the fragment comes after this script and takes the focus: give it back.
  window.addEventListener("load", () => {
    window.requestAnimationFrame(() => reveal(readHash().at));
  });
})();
