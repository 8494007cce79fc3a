// A balance, and a file with the next changes. A restart applies the changes, and removes their file.
const fs = require("node:fs");
const { mended, enter, sync, save, acknowledge } = require("./common");

function load() {
  const { balance, applied } = JSON.parse(fs.readFileSync("balance.json", "utf8"));
  const redo = fs.existsSync("redo.json") ? JSON.parse(fs.readFileSync("redo.json", "utf8")) : null;
  const isNew = redo !== null && !(mended && redo.number === applied);
  return isNew
    ? { balance: redo.changes.reduce((sum, change) => sum + change, balance), applied: redo.number }
    : { balance, applied };
}

const verb = enter();
if (verb === "setup") save("balance.json", JSON.stringify({ balance: 100, applied: 0 }));
if (verb === "run") {
  save("redo.json", JSON.stringify({ number: 1, changes: [5, -20] }));
  acknowledge("changes");
}
if (verb === "check") {
  save("balance.json", JSON.stringify(load()));
  if (fs.existsSync("redo.json")) fs.unlinkSync("redo.json");
  sync(".");
}
if (verb === "dump") console.log(load().balance);
