// Notes whose old file is removed before the new one gets its name, as a program does that was made for Windows.
const fs = require("node:fs");
const { mended, enter, sync, acknowledge, need } = require("./common");

function save(text) {
  fs.writeFileSync("notes.new", text);
  sync("notes.new");
  if (!mended && fs.existsSync("notes")) fs.unlinkSync("notes");
  fs.renameSync("notes.new", "notes");
  sync(".");
}

function load() {
  const text = fs.readFileSync("notes", "utf8");
  need(text.endsWith("\n"), "notes: torn");
  return text;
}

const verb = enter();
if (verb === "setup") save("one\n");
if (verb === "run") {
  save("one\ntwo\n");
  acknowledge("two");
  save("one\ntwo\nthree\n");
  acknowledge("three");
}
if (verb === "check") load();
if (verb === "dump") process.stdout.write(load());
