//! Chunks of 1,200 bytes behind a head of four bytes and a sum: a chunk has three sectors.
mod common;

use common::{acknowledge, enter, mended, sum_of};
use std::fs::{self, OpenOptions};
use std::io::{Result, Write};

const CHUNK: usize = 1200;

fn add(letter: u8) -> Result<()> {
    let chunk = vec![letter; CHUNK];
    let mut file = OpenOptions::new().append(true).create(true).open("chunks")?;
    file.write_all(&[&sum_of(&chunk).to_le_bytes()[..], &chunk].concat())?;
    file.sync_data()?;
    acknowledge(std::str::from_utf8(&[letter]).unwrap());
    Ok(())
}

fn load() -> Result<Vec<Vec<u8>>> {
    let mut chunks = Vec::new();
    for record in fs::read("chunks")?.chunks_exact(4 + CHUNK) {
        if mended() && sum_of(&record[4..]).to_le_bytes() != record[..4] {
            break;
        }
        chunks.push(record[4..].to_vec());
    }
    Ok(chunks)
}

fn main() -> Result<()> {
    match enter()?.as_str() {
        "setup" => add(b'a')?,
        "run" => {
            add(b'b')?;
            add(b'c')?;
        }
        "check" => {
            let size = (load()?.len() * (4 + CHUNK)) as u64;
            OpenOptions::new().write(true).open("chunks")?.set_len(size)?;
        }
        _ => {
            for chunk in load()? {
                println!("{} {:08x}", chunk[0], sum_of(&chunk));
            }
        }
    }
    Ok(())
}
