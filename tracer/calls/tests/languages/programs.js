// Small programs of Node's standard library, whose calls the tracer must record exactly (cases.toml). The first argument
// names the program; each works in the folder of the process and writes sectors of one letter.
"use strict";
const { execFileSync, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const { once } = require("node:events");
const { pipeline } = require("node:stream/promises");
const { Worker, isMainThread, workerData } = require("node:worker_threads");

const SECTOR = 512;
const sectors = (letters) => Buffer.concat([...letters].map((letter) => Buffer.alloc(SECTOR, letter)));

const programs = {
  save() {
    const file = fs.openSync("t", "wx");
    fs.writeSync(file, sectors("X"));
    fs.fsyncSync(file);
    fs.renameSync("t", "a");
    const folder = fs.openSync(".");
    fs.fsyncSync(folder);
  },

  whole() {
    fs.writeFileSync("a", sectors("X"));
    fs.writeFileSync("a", sectors("YZ"));
    fs.appendFileSync("a", sectors("A"));
  },

  // All calls are made by the threads of a pool.
  async promises() {
    const file = await fs.promises.open("a", "w+");
    await file.write(sectors("B"), 0, SECTOR, SECTOR);
    await file.writev([sectors("A"), sectors("C")], 0);
    await file.datasync();
    await file.truncate(SECTOR);
    await file.sync();
    await file.close();
    await fs.promises.appendFile("a", sectors("D"));
    await fs.promises.rename("a", "b");
  },

  async streams() {
    const out = fs.createWriteStream("a", { flags: "ax" });
    out.cork();
    out.write(sectors("A"));
    out.write(sectors("B"));
    out.uncork();
    out.end(sectors("C"));
    await once(out, "close");
    await pipeline(fs.createReadStream("a"), fs.createWriteStream("b"));
  },

  // The request to share blocks is refused, and a copy of bytes follows.
  copies() {
    fs.writeFileSync("a", sectors("XYZ"));
    fs.copyFileSync("a", "b");
    fs.copyFileSync("a", "c", fs.constants.COPYFILE_FICLONE);
  },

  async workers() {
    for (const letter of "ABC") await once(new Worker(__filename, { workerData: letter }), "exit");
  },

  child() {
    const file = fs.openSync("a", "w");
    spawnSync("sh", ["-c", "printf X"], { stdio: ["ignore", file, "inherit"] });
    fs.writeSync(file, execFileSync("sh", ["-c", "printf YZ; : > b"]));
  },

  // The threads of the pool save files at the same time.
  async crowd() {
    const saved = async (letter) => {
      const file = await fs.promises.open("t" + letter, "wx");
      await file.writeFile(sectors(letter));
      await file.sync();
      await file.close();
      await fs.promises.rename("t" + letter, letter);
    };
    await Promise.all([..."ABCDEFGH"].map(saved));
  },

  folders() {
    fs.mkdirSync("d/e", { recursive: true });
    fs.writeFileSync("d/e/x", "");
    fs.linkSync("d/e/x", "h");
    fs.symlinkSync("d", "l");
    fs.rmSync("d", { recursive: true });
  },
};

if (isMainThread) {
  programs[process.argv[2]]();
} else {
  const file = fs.openSync("a", "a");
  fs.writeSync(file, sectors(workerData));
  fs.fdatasyncSync(file);
}
