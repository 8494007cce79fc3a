// A list in a file that `writeFileSync` writes anew: it begins with O_TRUNC.
const fs = require("node:fs");
const { mended, enter, sync, acknowledge } = require("./common");

function save(items) {
  const path = mended ? "todo.json.tmp" : "todo.json";
  fs.writeFileSync(path, JSON.stringify(items));
  sync(path);
  if (mended) fs.renameSync(path, "todo.json");
  sync(".");
}

const load = () => JSON.parse(fs.readFileSync("todo.json", "utf8"));

const verb = enter();
if (verb === "setup") save(["shop"]);
if (verb === "run") {
  save(["shop", "cook"]);
  acknowledge("cook");
  save(["cook"]);
  acknowledge("shop");
}
if (verb === "check") load();
if (verb === "dump") console.log(JSON.stringify(load()));
