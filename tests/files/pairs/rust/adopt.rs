//! A document with a file beside it for the next version. A restart takes such a file for the next version.
mod common;

use common::{acknowledge, enter, mended, require, sync_folder};
use std::fs::{self, File};
use std::io::{Result, Write};
use std::path::Path;

fn save(text: &str) -> Result<()> {
    let mut file = File::create("document.next")?;
    for line in text.lines() {
        writeln!(file, "{line}")?;
    }
    writeln!(file, "end")?;
    file.sync_all()?;
    fs::rename("document.next", "document")?;
    sync_folder(".")
}

fn is_whole(path: &str) -> Result<bool> {
    Ok(fs::read(path)?.ends_with(b"\nend\n"))
}

fn main() -> Result<()> {
    match enter()?.as_str() {
        "setup" => save("chapter 1")?,
        "run" => {
            save("chapter 1\nchapter 2")?;
            acknowledge("chapter 2");
            save("chapter 1\nchapter 2\nchapter 3")?;
            acknowledge("chapter 3");
        }
        "check" => {
            if Path::new("document.next").exists() {
                if !mended() || is_whole("document.next")? {
                    fs::rename("document.next", "document")?;
                } else {
                    fs::remove_file("document.next")?;
                }
            }
            require(is_whole("document")?, "document: torn")?;
        }
        _ => print!("{}", String::from_utf8_lossy(&fs::read("document")?)),
    }
    Ok(())
}
