// A log that is rotated: it is compressed into "log.1.gz", and then removed. Its lines end with ".".
const fs = require("node:fs");
const zlib = require("node:zlib");
const { mended, enter, sync, acknowledge } = require("./common");

function add(text) {
  fs.appendFileSync("log", text + ".\n");
  sync("log");
  sync(".");
  acknowledge(text);
}

function rotate() {
  fs.writeFileSync("log.1.gz", zlib.gzipSync(fs.readFileSync("log")));
  if (mended) {
    sync("log.1.gz");
    sync(".");
  }
  fs.unlinkSync("log");
  acknowledge("rotated");
}

const lines = (text) => text.split(/(?<=\n)/).filter((line) => line.endsWith(".\n"));
const current = () => (fs.existsSync("log") ? lines(fs.readFileSync("log", "latin1")) : []);

// The lines of the compressed log. It does not count where the log is still there: the rotation had not ended.
function compressed() {
  if (fs.existsSync("log") || !fs.existsSync("log.1.gz")) return [];
  return lines(zlib.gunzipSync(fs.readFileSync("log.1.gz")).toString("latin1"));
}

const verb = enter();
if (verb === "setup") {
  add("boot");
  add("login");
}
if (verb === "run") {
  add("logout");
  rotate();
}
if (verb === "check") compressed();
if (verb === "dump") process.stdout.write([...compressed(), ...current()].join(""));
