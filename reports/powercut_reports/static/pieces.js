// Details that are packed in the page (pack.py says how): taken apart when they are asked for. Joined behind mount.js.
// The text of a piece is markup that our templates made and escaped, as all other markup of the page; parsed by
// DOMParser, it runs no script, and the page's policy admits none.
(() => {
  "use strict";

  const { powercut } = window;
  const data = JSON.parse(document.getElementById("powercut-data").textContent);

  const bytesOf = (base64) => Uint8Array.from(window.atob(base64), (character) => character.charCodeAt(0));

  async function inflateBytes(parts, format) {
    const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream(format));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  const textOf = (bytes) => new TextDecoder().decode(bytes);
  const inflate = async (base64) => textOf(await inflateBytes([bytesOf(base64)], "deflate"));

  // A stored block: its header says that another block follows, then the length twice, then the bytes as they are.
  function storedBlock(bytes) {
    const { length } = bytes;
    const low = (number) => [number & 255, number >> 8];
    return [new Uint8Array([0, ...low(length), ...low(~length & 65535)]), bytes];
  }

  // What all pieces need, taken apart for the first of them.
  let common;
  async function inflateCommon() {
    const [shared, dictionary] = await Promise.all([data.shared, data.dictionary].map(inflate));
    return { table: shared.split("\n"), dictionary: new TextEncoder().encode(dictionary) };
  }

  async function piece(index) {
    common ??= inflateCommon();
    const { table, dictionary } = await common;
    const whole = await inflateBytes([...storedBlock(dictionary), bytesOf(data.pieces[index])], "deflate-raw");
    const rows = textOf(whole.subarray(dictionary.length)).split("\n");
    return rows.flatMap((row) => {
      if (row.startsWith("=")) {
        return row.slice(1);
      }
      const [start, count] = row.split("+").map(Number);
      return table.slice(start, start + count);
    }).join("\n");
  }

  // Puts the piece in place of its stand-in and mounts it; done when it is in the page. Asking twice does no harm.
  const filling = new WeakMap();
  async function put(standIn) {
    const page = new DOMParser().parseFromString(await piece(Number(standIn.dataset.piece)), "text/html");
    const whole = document.createElement("div");
    whole.className = "piece";
    whole.append(...page.body.childNodes);
    standIn.replaceWith(whole);
    powercut.mount(whole);
  }

  function fillOne(standIn) {
    if (!filling.has(standIn)) {
      filling.set(standIn, put(standIn));
    }
    return filling.get(standIn);
  }

  // Those of the whole page, and what they have within them: for print.
  powercut.fillAll = async () => {
    while (standIns(document).length > 0) {
      await Promise.all(standIns(document).map(fillOne));
    }
  };

  // What lies open and far below comes when it is scrolled near.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      near.unobserve(entry.target);
      fillOne(entry.target);
    }
  }, { rootMargin: "300px" });
  powercut.onMount((root) => {
    for (const standIn of root.querySelectorAll("[data-near]")) {
      near.observe(standIn);
    }
  });

  const standIns = (root) => [...root.querySelectorAll("[data-piece]")];
  powercut.fill = (root) => Promise.all(standIns(root).map(fillOne));
  // Those that stand right in these details, not those of details within, which may stay closed.
  powercut.fillOpen = (details) => Promise.all(
    standIns(details).filter((standIn) => standIn.closest("details") === details).map(fillOne),
  );

  // The stand-in of a piece, once those that it lies in are in the page; null where the piece is in the page already.
  async function standInOf(index) {
    const outer = data.parents?.[index];
    if (outer !== undefined) {
      await open(outer);
    }
    return document.querySelector(`[data-piece="${index}"]`);
  }

  async function open(index) {
    const standIn = await standInOf(index);
    if (standIn) {
      await fillOne(standIn);
    }
  }

  // Brings the element with this id into the page, where it is packed; null where the report has none. A name that
  // stays, as finding-7f3a, leads to the place of today.
  powercut.find = async (id) => {
    const place = data.names?.[id] ?? id;
    // An id within a finding's details: run-4-1-frame-3 is in run-4-1.
    const owner = /^run-\d+(-\d+)?/.exec(place)?.[0] ?? place;
    if (!document.getElementById(owner) && data.places?.[owner] !== undefined) {
      await open(data.places[owner]);
    }
    if (!document.getElementById(id) && owner !== place && document.getElementById(owner)) {
      await powercut.fill(document.getElementById(owner));
    }
    return document.getElementById(id) ?? document.getElementById(place) ?? document.getElementById(owner);
  };

  powercut.report = async () => JSON.parse(await inflate(data.report));
  powercut.filterData = async () => JSON.parse(await inflate(data.filter));
  // The markup of what else there is of a run or a finding; empty where the page has it as it is.
  powercut.packedText = async (id) => (data.details?.[id] === undefined ? "" : piece(data.details[id]));

  // `toggle` does not bubble, but it can be caught on its way down.
  document.addEventListener("toggle", (event) => {
    if (event.target.open) {
      powercut.fillOpen(event.target);
    }
  }, true);
})();
