// The page's scripts are joined to one, in the order mount, finding, report. What comes into the page, at the start
// or later, is mounted: everyone who asked sees it once, to bring it to life.
(() => {
  "use strict";

  const setups = [];
  window.powercut = {
    onMount: (setup) => setups.push(setup),
    mount(root) {
      for (const setup of setups) {
        setup(root);
      }
    },
  };
})();
