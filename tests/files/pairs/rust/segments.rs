//! Segments of a log, and a file that counts them. A restart removes those beyond the count, all if it cannot be read.
mod common;

use common::{acknowledge, enter, mended, sum_of, sync_folder};
use std::fs::{self, File};
use std::io::{Result, Write};
use std::path::Path;

fn save(path: &str, text: &str) -> Result<()> {
    let mut file = File::create("segment.tmp")?;
    write!(file, "{:08x} {text}", sum_of(text.as_bytes()))?;
    file.sync_all()?;
    fs::rename("segment.tmp", path)?;
    sync_folder(".")
}

/// Writes the count anew, from its beginning.
fn count(text: &str) -> Result<()> {
    let mut file = File::create("count")?;
    file.write_all(format!("{:08x} {text}", sum_of(text.as_bytes())).as_bytes())?;
    file.sync_all()
}

/// The text of a file, if it is there and whole.
fn load(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let (sum, text) = text.split_once(' ')?;
    (sum == format!("{:08x}", sum_of(text.as_bytes()))).then(|| text.to_string())
}

fn main() -> Result<()> {
    let verb = enter()?;
    match verb.as_str() {
        "setup" => {
            save("segment.1", "one")?;
            count("1")?;
            sync_folder(".")?;
        }
        "run" => {
            for (number, text) in [(2, "two"), (3, "three")] {
                save(&format!("segment.{number}"), text)?;
                count(&number.to_string())?;
                acknowledge(text);
            }
        }
        _ => {
            let count: u32 = load("count").and_then(|text| text.parse().ok()).unwrap_or(0);
            for number in 1.. {
                let path = format!("segment.{number}");
                if !Path::new(&path).exists() {
                    break;
                }
                let is_known = number <= count || mended() && load(&path).is_some();
                if verb == "check" && !is_known {
                    fs::remove_file(&path)?;
                }
                if verb == "dump" {
                    println!("{}", load(&path).unwrap_or_default());
                }
            }
        }
    }
    Ok(())
}
