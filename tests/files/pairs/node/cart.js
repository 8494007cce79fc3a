// A cart, written beside the old one. The descriptor that is synced is the folder's.
const fs = require("node:fs");
const { mended, enter, sync, acknowledge, need } = require("./common");

function save(items) {
  const folder = fs.openSync(".", "r");
  const file = fs.openSync("cart.part", "w");
  fs.writeSync(file, items.join("\n") + "\nend\n");
  fs.fsyncSync(mended ? file : folder);
  fs.closeSync(file);
  fs.closeSync(folder);
  fs.renameSync("cart.part", "cart");
  sync(".");
}

function load() {
  const text = fs.readFileSync("cart", "utf8");
  need(text.endsWith("\nend\n"), "cart: torn");
  return text;
}

const verb = enter();
if (verb === "setup") save(["milk"]);
if (verb === "run") {
  save(["milk", "rice"]);
  acknowledge("rice");
  save(["rice"]);
  acknowledge("no milk");
}
if (verb === "check") load();
if (verb === "dump") process.stdout.write(load());
