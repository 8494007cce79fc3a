//! Keys in a file that each save writes anew, as `fs::write` does: it begins with O_TRUNC.
mod common;

use common::{acknowledge, enter, mended, require, sync_folder};
use std::fs::{self, File};
use std::io::Result;

fn save(keys: &[&str]) -> Result<()> {
    let path = if mended() { "keys.tmp" } else { "keys" };
    fs::write(path, keys.join("\n") + "\nend\n")?;
    File::open(path)?.sync_all()?;
    if mended() {
        fs::rename("keys.tmp", "keys")?;
    }
    sync_folder(".")
}

fn load() -> Result<String> {
    let text = fs::read_to_string("keys")?;
    require(text.ends_with("\nend\n"), "keys: torn")?;
    Ok(text)
}

fn main() -> Result<()> {
    match enter()?.as_str() {
        "setup" => save(&["front door"])?,
        "run" => {
            save(&["front door", "cellar"])?;
            acknowledge("cellar");
            save(&["cellar"])?;
            acknowledge("front door");
        }
        "check" => drop(load()?),
        _ => print!("{}", load()?),
    }
    Ok(())
}
