// What is shown, and the address that says so: #q=level&verdict=inconsistent&scheme=level&new=1&at=run-3; a plain
// #run-3 is a link. Filters read what the page shows at once, so packed details need not be opened for them.
(() => {
  "use strict";

  const { powercut } = window;
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const form = byId("filters");
  if (!form) {
    powercut.readAt = () => new URLSearchParams(window.location.hash.slice(1)).get("at") ?? window.location.hash.slice(1);
    powercut.addressOf = (at) => `#${at}`;
    return;
  }
  const input = byId("filter");
  const verdicts = all("input[name=verdict]", form);
  const selects = all("select", form);
  const onlyNew = form.querySelector("input[name=new]");
  const ofRun = new Set(["scheme", "variant", "model", "coverage"]);

  // ---- the address ----

  const empty = () => ({ q: "", verdict: "all", at: "", new: false, chosen: {} });

  function readHash() {
    const hash = window.location.hash.slice(1);
    const state = empty();
    if (!hash.includes("=")) {
      return { ...state, at: decodeURIComponent(hash) };
    }
    const fields = new URLSearchParams(hash);
    const verdict = fields.get("verdict") ?? "all";
    state.verdict = verdicts.some((option) => option.value === verdict) ? verdict : "all";
    state.q = fields.get("q") ?? "";
    state.at = fields.get("at") ?? "";
    state.new = Boolean(onlyNew) && fields.get("new") === "1";
    for (const select of selects) {
      const value = fields.get(select.name) ?? "";
      // A value that this report does not have fits no run; it is dropped, so that the page is not empty for a ghost.
      if (value && [...select.options].some((option) => option.value === value)) {
        state.chosen[select.name] = value;
      }
    }
    return state;
  }

  function writeHash(state) {
    const fields = new URLSearchParams();
    if (state.q) {
      fields.set("q", state.q);
    }
    if (state.verdict !== "all") {
      fields.set("verdict", state.verdict);
    }
    for (const [name, value] of Object.entries(state.chosen)) {
      fields.set(name, value);
    }
    if (state.new) {
      fields.set("new", "1");
    }
    const filtered = fields.size > 0;
    if (filtered && state.at) {
      fields.set("at", state.at);
    }
    return `#${filtered ? fields : state.at}`;
  }

  // ---- what fits ----

  const fold = (elements) => elements.map((element) => element?.textContent ?? "").join("\n").toLowerCase();
  let index;
  function indexed() {
    index ??= all("details.run").map((element) => ({
      element,
      tile: document.querySelector(`#matrix [data-run="${element.id}"]`),
      text: fold([element.querySelector("summary h3"), element.querySelector("summary .run-facts")]),
      findings: all("details.finding", element).map((finding) => ({
        element: finding,
        text: fold([
          finding.querySelector("summary"),
          finding.querySelector(".story"),
          finding.querySelector(".reproduce code"),
        ]),
      })),
    }));
    return index;
  }

  function apply(state) {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = Object.entries(state.chosen);
    const filtered = words.length > 0 || state.verdict !== "all" || chosen.length > 0 || state.new;
    byId("clear").hidden = !filtered;
    if (!filtered && !index) {
      return; // The page as it came shows everything.
    }
    const fits = (text) => words.every((word) => text.includes(word));
    const runFields = chosen.filter(([name]) => ofRun.has(name));
    const { invariant } = state.chosen;
    let shown = 0;
    let findings = 0;
    for (const run of indexed()) {
      const { dataset } = run.element;
      const fitting = (state.verdict === "all" || state.verdict === dataset.verdict)
        && runFields.every(([name, value]) => dataset[name] === value);
      const whole = fits(run.text);
      let anyFinding = false;
      for (const finding of run.findings) {
        const own = finding.element.dataset;
        // A word may fit the run and another one the finding: "shrink torn-value".
        const visible = fitting && (whole || fits(`${run.text}\n${finding.text}`))
          && (!invariant || own.invariant === invariant)
          && (!state.new || own.baseline === "new");
        finding.element.hidden = !visible;
        anyFinding ||= visible;
        findings += visible ? 1 : 0;
      }
      const visible = fitting && (anyFinding || (whole && !invariant && !state.new));
      run.element.hidden = !visible;
      if (run.tile) {
        run.tile.hidden = !visible;
      }
      shown += visible ? 1 : 0;
    }
    for (const part of all("#matrix tbody tr, #matrix tbody, section.scheme")) {
      const inside = all("[data-run], details.run", part);
      part.hidden = inside.every((element) => element.hidden);
    }
    const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
    byId("shown").textContent = filtered
      ? `${shown} of ${many(indexed().length, "run")} shown, with ${many(findings, "finding")}` : "";
    byId("none-shown").hidden = shown > 0 || indexed().length === 0;
  }

  function showState(state) {
    input.value = state.q;
    for (const option of verdicts) {
      option.checked = option.value === state.verdict;
    }
    for (const select of selects) {
      select.value = state.chosen[select.name] ?? "";
    }
    if (onlyNew) {
      onlyNew.checked = state.new;
    }
    apply(state);
  }

  // ---- changes: each choice is a step that Back undoes; words that are typed in one go are one step ----

  let typing = false;
  function changed(typed) {
    const state = empty();
    state.q = input.value.trim();
    state.verdict = verdicts.find((option) => option.checked)?.value ?? "all";
    state.new = Boolean(onlyNew?.checked);
    state.chosen = Object.fromEntries(selects.filter((s) => s.value).map((s) => [s.name, s.value]));
    const address = writeHash(state);
    if (typed && typing) {
      window.history.replaceState(null, "", address);
    } else {
      window.history.pushState(null, "", address);
    }
    typing = typed;
    apply(state);
  }

  function clear() {
    window.history.pushState(null, "", "#");
    showState(empty());
    input.focus();
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", () => changed(true));
  input.addEventListener("blur", () => {
    typing = false;
  });
  for (const control of [...verdicts, ...selects, ...(onlyNew ? [onlyNew] : [])]) {
    control.addEventListener("change", () => changed(false));
  }
  byId("clear").addEventListener("click", clear);
  byId("reset")?.addEventListener("click", clear);
  document.addEventListener("keydown", (event) => {
    const inField = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "/" && !inField && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape" && event.target === input && input.value) {
      input.value = "";
      changed(true);
    }
  });

  // ---- the matrix: the run that is pointed at, in words ----

  const pointed = byId("pointed");
  const say = (event) => {
    const tile = event.target.closest?.(".tile[data-run]");
    pointed.textContent = tile ? tile.getAttribute("aria-label") : "";
  };
  byId("matrix")?.addEventListener("pointerover", say);
  byId("matrix")?.addEventListener("focusin", say);

  powercut.readAt = () => readHash().at;
  powercut.addressOf = (at) => writeHash({ ...readHash(), at });
  powercut.showFilters = () => showState(readHash());
})();
