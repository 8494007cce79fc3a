// All texts of runs and findings, for the filter: headlines and stories at once, and what is packed piece by piece, with
// the page at work in between. Joined behind pieces.js.
(() => {
  "use strict";

  const { powercut } = window;
  const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: "\"", "#34": "\"", "#39": "'" };

  const plain = (markup) => markup
    .replace(/<[^>]*>/g, " ")
    .replace(/&([a-z]+|#\d+);/g, (all, name) => ENTITIES[name] ?? all)
    .toLowerCase();

  // Each word once: a word that is searched for is a part of one of them, since no word has a space.
  const distinct = (text) => [...new Set(text.split(/\s+/))].join("\n");

  // The text of a run or a finding beyond its headline; a run's is without those of its findings.
  async function deepText(id) {
    const packed = await powercut.packedText(id);
    if (packed) {
      return distinct(plain(packed));
    }
    const element = document.getElementById(id);
    const body = element?.querySelector(id.split("-").length === 2 ? ".run-details" : ".finding-body");
    return distinct((body?.textContent ?? "").toLowerCase());
  }

  // Adds `deep` to all runs and findings; `heard` is called a few times a second while that lasts.
  powercut.readAll = async (runs, heard) => {
    let last = performance.now();
    for (const run of runs) {
      for (const item of [run, ...run.findings]) {
        item.deep = await deepText(item.id);
        if (performance.now() - last > 200) {
          last = performance.now();
          heard();
          await new Promise((resolve) => {
            window.setTimeout(resolve);
          });
        }
      }
    }
    heard();
  };
})();
