//! A table of lines through a BufWriter, whose buffer reaches the file after the sync.
mod common;

use common::{acknowledge, enter, mended, require, sync_folder};
use std::fs::{self, File};
use std::io::{BufWriter, Result, Write};

fn save(rows: &[&str]) -> Result<()> {
    let mut writer = BufWriter::new(File::create("table.new")?);
    writeln!(writer, "{}", rows.len())?;
    for row in rows {
        writeln!(writer, "{row}")?;
    }
    if mended() {
        writer.flush()?;
    }
    writer.get_ref().sync_all()?;
    drop(writer); // writes what is left
    fs::rename("table.new", "table")?;
    sync_folder(".")
}

fn load() -> Result<String> {
    let text = fs::read_to_string("table")?;
    let (count, rows) = text.split_once('\n').unwrap_or(("", ""));
    require(count.parse() == Ok(rows.lines().count()), "table: rows are missing")?;
    Ok(rows.to_string())
}

fn main() -> Result<()> {
    match enter()?.as_str() {
        "setup" => save(&["one"])?,
        "run" => {
            save(&["one", "two"])?;
            acknowledge("two");
            save(&["one", "two", "three"])?;
            acknowledge("three");
        }
        "check" => drop(load()?),
        _ => print!("{}", load()?),
    }
    Ok(())
}
