// Blobs in files of their own, and an index that names them.
const fs = require("node:fs");
const { mended, enter, save, acknowledge } = require("./common");

function commit(name, text, names) {
  if (mended) save(`blob-${name}`, text);
  save("index.json", JSON.stringify(names));
  if (!mended) save(`blob-${name}`, text);
}

function load() {
  const names = JSON.parse(fs.readFileSync("index.json", "utf8"));
  return names.map((name) => [name, fs.readFileSync(`blob-${name}`, "utf8")]);
}

const verb = enter();
if (verb === "setup") commit("a", "first", ["a"]);
if (verb === "run") {
  commit("b", "second", ["a", "b"]);
  acknowledge("b");
  commit("c", "third", ["a", "b", "c"]);
  acknowledge("c");
}
if (verb === "check") load();
if (verb === "dump") for (const [name, text] of load()) console.log(name, text);
