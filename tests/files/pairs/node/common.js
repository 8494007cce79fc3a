// The small programs share this. Each takes the words setup, run, check or dump, and a folder.
const fs = require("node:fs");

// The twin runs with this variable.
const mended = process.env.MENDED !== undefined;

// Enters the folder, which setup makes, and returns the first word.
function enter() {
  const [verb, folder] = process.argv.slice(2);
  if (verb === "setup") fs.mkdirSync(folder, { recursive: true });
  process.chdir(folder);
  return verb;
}

function sync(path) {
  const fd = fs.openSync(path, "r");
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}

// Writes a file as it should be: beside the old one, synced, renamed over it, and the folder synced.
function save(path, text) {
  fs.writeFileSync(path + ".tmp", text);
  sync(path + ".tmp");
  fs.renameSync(path + ".tmp", path);
  sync(".");
}

// The operation is promised to the user.
function acknowledge(what) {
  fs.writeSync(1, `done ${what}\n`);
}

function need(holds, what) {
  if (!holds) throw new Error(what);
}

module.exports = { mended, enter, sync, save, acknowledge, need };
