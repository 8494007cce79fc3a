//! Settings by the crate atomic-write-file: `settings setup|run|check|dump FOLDER`.
//!
//! `run` saves twice, and prints `saved COLOUR` when the crate has committed. `check` is the restart.

use atomic_write_file::AtomicWriteFile;
use std::io::{Error, Result, Write};

fn save(path: &str, colour: &str) -> Result<()> {
    let mut file = AtomicWriteFile::open(path)?;
    writeln!(file, "colour = {colour}")?;
    file.commit()
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let path = format!("{}/settings", words[2]);
    match words[1].as_str() {
        "setup" => save(&path, "red")?,
        "run" => {
            for colour in ["blue", "green"] {
                save(&path, colour)?;
                println!("saved {colour}");
            }
        }
        verb => {
            let settings = std::fs::read_to_string(&path)?;
            if !settings.starts_with("colour = ") || !settings.ends_with('\n') {
                return Err(Error::other("the settings are damaged"));
            }
            if verb == "dump" {
                print!("{settings}");
            }
        }
    }
    Ok(())
}
