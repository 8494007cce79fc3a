//! Letters move from the folder `inbox` to the folder `archive` by a hard link. The sync is one of the old folder alone.
mod common;

use common::{acknowledge, enter, mended, require, sync_folder};
use std::fs;
use std::io::Result;
use std::path::Path;

fn archive(name: &str) -> Result<()> {
    fs::hard_link(format!("inbox/{name}"), format!("archive/{name}"))?;
    if mended() {
        sync_folder("archive")?;
    }
    fs::remove_file(format!("inbox/{name}"))?;
    sync_folder("inbox")?;
    acknowledge(name);
    Ok(())
}

fn main() -> Result<()> {
    let verb = enter()?;
    if verb == "setup" {
        fs::create_dir("inbox")?;
        fs::create_dir("archive")?;
    }
    for name in ["bill", "card"] {
        let archived = Path::new("archive").join(name).exists();
        match verb.as_str() {
            "setup" => fs::write(format!("inbox/{name}"), name)?,
            "run" => archive(name)?,
            "check" => require(archived || Path::new("inbox").join(name).exists(), "a letter is lost")?,
            _ => println!("{name} {archived}"),
        }
    }
    Ok(())
}
