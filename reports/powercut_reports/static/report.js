// What the page does beyond text and <details>: links that open what they lead to, copy, theme, printing. Filters are
// in filter.js, packed details in pieces.js, what a finding does in finding.js. Everything that the page says at once
// is complete without any of it; controls that need scripts are hidden until they run. Strings of the target only ever
// go through textContent and properties.
(() => {
  "use strict";

  const { powercut } = window;
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // ---- links ----

  // A link that leads nowhere says so: silence would look as if the finding was the page that is shown.
  function tellStale(id) {
    const what = id.startsWith("finding-") ? `finding ${id.slice(8)}` : `place "${id}"`;
    byId("notice").textContent = `This report has no ${what}. A finding gets another name when its code is edited, and `
      + "goes when it is mended. Look for it among the bugs below, or run powercut again.";
    byId("notice").hidden = false;
    byId("notice").scrollIntoView({ block: "center" });
    byId("notice").focus({ preventScroll: true });
  }

  // Opens whatever the id is in, fills in packed details on the way, and goes there.
  async function reveal(id) {
    byId("notice").hidden = true;
    if (!id) {
      return;
    }
    const target = await powercut.find(id);
    if (!target) {
      tellStale(id);
      return;
    }
    if (target.id.startsWith("bug-")) {
      powercut.cutBugs?.(true); // all of them are shown: this one may be far down
    }
    const opened = [];
    for (let element = target; element; element = element.parentElement) {
      if (element instanceof HTMLDetailsElement) {
        element.open = true;
        opened.push(element);
      }
    }
    await Promise.all(opened.map((details) => powercut.fillOpen(details)));
    target.scrollIntoView();
    // Runs that come into sight on the way turn out higher or lower than was guessed: go there once more.
    window.requestAnimationFrame(() => window.requestAnimationFrame(() => target.scrollIntoView()));
    const focusable = target.closest("summary") ?? target.querySelector(":scope > summary");
    focusable?.focus({ preventScroll: true });
  }

  function show() {
    powercut.showFilters?.();
    return reveal(powercut.readAt());
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    event.preventDefault();
    const at = link.getAttribute("href").slice(1);
    window.history.pushState(null, "", powercut.addressOf(at));
    reveal(at);
  });
  window.addEventListener("hashchange", show);
  window.addEventListener("popstate", show);

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
    toast(source.closest("pre") ? "Copied." : "Command copied.");
  }

  powercut.onMount((root) => {
    for (const button of all(".copy", root)) {
      button.hidden = false;
    }
  });
  // One listener for all: a report may have a thousand of these buttons, and more come when findings are opened.
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".copy");
    if (button) {
      copy(button.parentElement.querySelector("code, pre"));
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
  if (download) {
    download.hidden = false;
    download.addEventListener("click", async () => {
      const text = JSON.stringify(await powercut.report(), null, 2);
      const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      const link = document.createElement("a");
      link.href = url;
      link.download = "powercut.json";
      link.click();
      URL.revokeObjectURL(url);
    });
  }

  // The browser's own Print shows the details that were opened before, since packed ones cannot be there in time, and of
  // a single run what two pages can hold; the button waits for all of them.
  const printAll = byId("print-all");
  if (printAll) {
    printAll.hidden = false;
    printAll.addEventListener("click", async () => {
      await powercut.fillAll();
      document.body.classList.remove("one");
      window.print();
    });
  }
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
  for (const details of all("details[open]")) {
    powercut.fillOpen(details);
  }
  show();
  // The browser's own jump to the fragment comes after this script and takes the focus: give it back.
  window.addEventListener("load", () => {
    window.requestAnimationFrame(() => reveal(powercut.readAt()));
  });
})();
