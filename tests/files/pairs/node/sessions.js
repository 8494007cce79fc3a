// Sessions, each a file of its own that is synced. A restart removes torn ones.
const fs = require("node:fs");
const { mended, enter, sync, acknowledge } = require("./common");

function start(name) {
  const file = fs.openSync(`session-${name}`, "wx");
  fs.writeSync(file, JSON.stringify({ name, cart: [] }));
  fs.fsyncSync(file);
  fs.closeSync(file);
  if (mended) sync(".");
  acknowledge(name);
}

function load(path) {
  try {
    return JSON.parse(fs.readFileSync(path, "utf8"));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}

const verb = enter();
if (verb === "setup") start("ada");
if (verb === "run") {
  start("bob");
  start("eve");
}
for (const path of fs.readdirSync(".").filter((name) => name.startsWith("session-"))) {
  const session = load(path);
  if (verb === "check" && session === null) fs.unlinkSync(path);
  if (verb === "dump" && session !== null) console.log(session.name);
}
