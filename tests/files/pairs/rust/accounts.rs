//! Accounts in a table, and a log before it. The sync is one of the table, where the log has changed.
mod common;

use common::{acknowledge, enter, mended, sum_of};
use std::fs::{self, File, OpenOptions};
use std::io::{Result, Write};

struct Accounts {
    table: File,
    log: File,
}

impl Accounts {
    fn pay(&mut self, who: &str, amount: u32) -> Result<()> {
        let line = format!("{who} {amount}");
        self.log.write_all(format!("{:08x} {line}\n", sum_of(line.as_bytes())).as_bytes())?;
        if mended() {
            self.log.sync_data()?;
        } else {
            self.table.sync_data()?;
        }
        acknowledge(who);
        Ok(())
    }
}

fn open() -> Result<Accounts> {
    let opened = |path| OpenOptions::new().append(true).create(true).open(path);
    Ok(Accounts { table: opened("table")?, log: opened("log")? })
}

/// The whole lines of the log.
fn load() -> Result<Vec<String>> {
    let log = fs::read("log")?;
    let lines = log.split_inclusive(|byte| *byte == b'\n').map(String::from_utf8_lossy);
    let whole = |line: &String| match line.strip_suffix('\n').and_then(|line| line.split_once(' ')) {
        Some((sum, text)) => sum == format!("{:08x}", sum_of(text.as_bytes())),
        None => false,
    };
    Ok(lines.map(|line| line.into_owned()).take_while(whole).collect())
}

fn main() -> Result<()> {
    match enter()?.as_str() {
        "setup" => open()?.pay("ada", 1)?,
        "run" => {
            let mut accounts = open()?;
            accounts.pay("bob", 2)?;
            accounts.pay("eve", 3)?;
        }
        "check" => {
            let size: usize = load()?.iter().map(String::len).sum();
            open()?.log.set_len(size as u64)?;
        }
        _ => print!("{}", load()?.concat()),
    }
    Ok(())
}
