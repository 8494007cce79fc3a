//! The state of a program, written beside the old one and renamed over it.
mod common;

use common::{acknowledge, enter, mended, require, sync_folder};
use std::fs::{self, File};
use std::io::{Result, Write};

fn save(text: &str) -> Result<()> {
    let mut file = File::create("state.tmp")?;
    file.write_all(text.as_bytes())?;
    if mended() {
        file.sync_all()?;
    }
    fs::rename("state.tmp", "state")?;
    sync_folder(".")
}

fn load() -> Result<String> {
    let text = fs::read_to_string("state")?;
    require(text.starts_with("level ") && text.ends_with('\n'), "state: damaged")?;
    Ok(text)
}

fn main() -> Result<()> {
    match enter()?.as_str() {
        "setup" => save("level 1\n")?,
        "run" => {
            save("level 2\n")?;
            acknowledge("2");
            save("level 3\n")?;
            acknowledge("3");
        }
        "check" => drop(load()?),
        _ => print!("{}", load()?),
    }
    Ok(())
}
