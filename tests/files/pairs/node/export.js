// An export by a stream, which keeps what was written until it is uncorked.
const fs = require("node:fs");
const { mended, enter, sync, acknowledge, need } = require("./common");

function save(rows, then) {
  const stream = fs.createWriteStream("export.new");
  stream.cork();
  stream.on("open", (fd) => {
    for (const row of rows) stream.write(row + "\n");
    stream.write("end\n");
    if (!mended) fs.fsyncSync(fd);
    stream.end();
  });
  stream.on("close", () => {
    if (mended) sync("export.new");
    fs.renameSync("export.new", "export");
    sync(".");
    then();
  });
}

function load() {
  const text = fs.readFileSync("export", "utf8");
  need(text.endsWith("\nend\n"), "export: torn");
  return text;
}

const verb = enter();
if (verb === "setup") save(["1,ada"], () => {});
if (verb === "run") {
  save(["1,ada", "2,bob"], () => {
    acknowledge("bob");
    save(["2,bob", "3,eve"], () => acknowledge("eve"));
  });
}
if (verb === "check") load();
if (verb === "dump") process.stdout.write(load());
