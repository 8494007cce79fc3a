// The definition of a word, where it is pointed at or reached by keyboard. The page has it as the word's title, which
// shows without scripts too, but neither to a keyboard nor to a finger. Joined behind mount.js.
(() => {
  "use strict";

  const { powercut } = window;
  const tip = document.createElement("p");
  tip.className = "tip";
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);

  function show(event) {
    const word = event.target.closest?.(".term") ?? event.target.querySelector?.(":scope.sort > .term");
    if (!word) {
      return;
    }
    tip.textContent = word.dataset.says;
    tip.hidden = false;
    word.setAttribute("aria-describedby", "tip");
    const box = word.getBoundingClientRect();
    const left = Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 12);
    const below = box.bottom + 6;
    const fits = below + tip.offsetHeight < document.documentElement.clientHeight;
    tip.style.left = `${Math.max(12, left) + window.scrollX}px`;
    tip.style.top = `${(fits ? below : box.top - tip.offsetHeight - 6) + window.scrollY}px`;
  }

  function hide(event) {
    event.target.closest?.(".term")?.removeAttribute("aria-describedby");
    tip.hidden = true;
  }

  powercut.onMount((root) => {
    for (const word of root.querySelectorAll(".term[title]")) {
      word.dataset.says = word.title;
      word.removeAttribute("title"); // or the browser shows it as well
    }
  });
  document.addEventListener("pointerover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("pointerout", hide);
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      tip.hidden = true;
    }
  });
})();
