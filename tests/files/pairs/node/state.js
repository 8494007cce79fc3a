// The state of a program as JSON, renamed over the old one.
const fs = require("node:fs");
const { mended, enter, sync, acknowledge } = require("./common");

function save(state) {
  fs.writeFileSync("state.json.tmp", JSON.stringify(state));
  if (mended) sync("state.json.tmp");
  fs.renameSync("state.json.tmp", "state.json");
  sync(".");
}

const load = () => JSON.parse(fs.readFileSync("state.json", "utf8"));

const verb = enter();
if (verb === "setup") save({ open: [] });
if (verb === "run") {
  save({ open: ["a.txt"] });
  acknowledge("a.txt");
  save({ open: ["a.txt", "b.txt"] });
  acknowledge("b.txt");
}
if (verb === "check") load();
if (verb === "dump") console.log(JSON.stringify(load()));
