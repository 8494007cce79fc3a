// What is shown, and the address that says so: #q=level&verdict=inconsistent&scheme=level&new=1&at=run-3; a plain
// #run-3 is a link. What fits is decided by data, so that a run or a finding need not be in the page for it; what comes into
// the page later is hidden where it does not fit.
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

  const words = (state) => state.q.toLowerCase().split(/\s+/).filter(Boolean);
  let runs; // the data of all runs, once something is chosen
  let loading = null; // that data on its way: once, or two choices would search in two copies of it
  let reading = false;

  // Everything that the data says of runs and findings is at hand; details follow, for words.
  async function withData(state) {
    loading ??= powercut.filterData();
    runs = await loading;
    if (words(state).length > 0 && !reading) {
      reading = true;
      powercut.readAll(runs, () => apply(readHash())).then(() => {
        for (const run of runs) {
          run.read = true;
        }
        apply(readHash());
      });
    }
  }

  // What of the runs is shown: ids of runs, findings and bugs.
  function chosen(state) {
    const asked = words(state);
    const fields = Object.entries(state.chosen).filter(([name]) => ofRun.has(name));
    const { invariant } = state.chosen;
    const fits = (...texts) => asked.every((word) => texts.some((text) => text?.includes(word)));
    const shown = { runs: new Set(), findings: new Set(), bugs: new Set() };
    for (const run of runs) {
      const fitting = (state.verdict === "all" || state.verdict === run.verdict)
        && fields.every(([name, value]) => run[name] === value);
      if (!fitting) {
        continue;
      }
      const whole = fits(run.text);
      for (const finding of run.findings) {
        // A word may fit the run and another one the finding: "shrink torn-value".
        if ((whole || fits(run.text, finding.text, finding.deep))
          && (!invariant || finding.invariant === invariant) && (!state.new || finding.new)) {
          shown.runs.add(run.id);
          shown.findings.add(finding.id);
          shown.bugs.add(finding.bug);
        }
      }
      if ((whole || fits(run.text, run.deep)) && !invariant && !state.new) {
        shown.runs.add(run.id);
      }
    }
    return shown;
  }

  const isFiltered = (state) => words(state).length > 0 || state.verdict !== "all"
    || Object.keys(state.chosen).length > 0 || state.new;
  let shown = null; // null: everything
  const hide = (element, set, id) => {
    element.hidden = set !== undefined && !set.has(id);
  };

  // Shows what is chosen in a part of the page; also of one that comes into the page later.
  function hideIn(part) {
    for (const element of all("details.run", part)) {
      hide(element, shown?.runs, element.id);
    }
    for (const element of all("details.finding", part)) {
      hide(element, shown?.findings, element.id);
    }
    for (const element of all(".bug, .more-bugs", part)) {
      const inside = all("details.finding", element);
      element.hidden = inside.length > 0 && inside.every((finding) => finding.hidden);
    }
  }

  function hideInOverview() {
    for (const row of all("#bugs tbody tr")) {
      hide(row, shown?.bugs, row.id);
    }
    const bugs = byId("bugs-title");
    if (bugs) {
      bugs.dataset.all ??= bugs.textContent;
      bugs.textContent = shown ? `${shown.bugs.size} of ${bugs.dataset.all}` : bugs.dataset.all;
    }
    for (const tile of all("#matrix [data-run]")) {
      hide(tile, shown?.runs, tile.dataset.run);
    }
    for (const row of all("#matrix tbody tr")) {
      row.hidden = all("[data-run]", row).every((tile) => tile.hidden);
    }
    for (const section of all("section.scheme")) {
      const mine = new Set((runs ?? []).filter((run) => run.scheme === section.dataset.scheme).map((run) => run.id));
      section.hidden = shown !== null && ![...mine].some((id) => shown.runs.has(id));
    }
    powercut.nameTargets();
    powercut.cutBugs(shown !== null);
  }

  const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  // The form is busy until no choice waits to be applied, and all details are searched.
  let applying = 0;
  async function apply(state) {
    const filtered = isFiltered(state);
    byId("clear").hidden = !filtered;
    if (!filtered && !runs) {
      return; // The page as it came shows everything.
    }
    applying += 1;
    form.setAttribute("aria-busy", "true");
    try {
      await show(state, filtered);
    } finally {
      applying -= 1;
      form.setAttribute("aria-busy", String(applying > 0 || searching(readHash())));
    }
  }

  const searching = (state) => words(state).length > 0 && !runs.every((run) => run.read);

  async function show(state, filtered) {
    await withData(state);
    if (JSON.stringify(state) !== JSON.stringify(readHash())) {
      return; // Another choice was made in the meantime.
    }
    shown = filtered ? chosen(state) : null;
    hideInOverview();
    hideIn(document);
    const still = searching(state) ? "; details are still being searched" : "";
    byId("shown").textContent = filtered
      ? `${shown.runs.size} of ${many(runs.length, "run")} shown, with ${many(shown.findings.size, "finding")}${still}` : "";
    byId("none-shown").hidden = !filtered || shown.runs.size > 0 || runs.length === 0;
  }
  powercut.onMount((part) => {
    if (shown) {
      hideIn(part);
    }
  });

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
