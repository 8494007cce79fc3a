// Runs before the first paint, so that a chosen theme never flashes. A page opened from a file may be
// denied storage: then the system's theme stands.
(() => {
  "use strict";
  try {
    const theme = window.localStorage.getItem("powercut-theme");
    if (theme === "light" || theme === "dark") {
      document.documentElement.dataset.theme = theme;
    }
  } catch {
    // No storage: nothing was remembered.
  }
})();
