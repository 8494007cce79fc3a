//! The small programs share this. Each takes the words setup, run, check or dump, and a folder.
#![allow(dead_code)]

use std::fs::{self, File};
use std::io::Result;

/// The twin runs with this variable.
pub fn mended() -> bool {
    std::env::var_os("MENDED").is_some()
}

/// Enters the folder, which setup makes, and returns the first word.
pub fn enter() -> Result<String> {
    let words: Vec<String> = std::env::args().collect();
    if words[1] == "setup" {
        fs::create_dir_all(&words[2])?;
    }
    std::env::set_current_dir(&words[2])?;
    Ok(words[1].clone())
}

pub fn sync_folder(path: &str) -> Result<()> {
    File::open(path)?.sync_all()
}

/// The operation is promised to the user.
pub fn acknowledge(what: &str) {
    println!("done {what}");
}

/// FNV-1a. Zeroes have a sum that is not zero.
pub fn sum_of(data: &[u8]) -> u32 {
    data.iter().fold(2166136261, |sum: u32, byte| (sum ^ u32::from(*byte)).wrapping_mul(16777619))
}

pub fn require(holds: bool, what: &str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(std::io::Error::other(what.to_string()))
    }
}
