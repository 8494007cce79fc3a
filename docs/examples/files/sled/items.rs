//! Items in sled: `items setup|run|check|dump FOLDER [COUNT]`.
//!
//! `run` inserts COUNT items, and prints `stored N` when sled has flushed each. `check` is the restart: it opens the
//! database and reads all items.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let db = sled::Config::new()
        .path(format!("{}/db", words[2]))
        .flush_every_ms(None)
        .cache_capacity(1 << 20)
        .segment_size(1 << 12)
        .open()?;
    let count = words.get(3).map_or(3, |count| count.parse().unwrap_or(3));
    match words[1].as_str() {
        "setup" => {
            db.insert("first", "one".as_bytes())?;
            db.flush()?;
        }
        "run" => {
            for number in 0..count {
                db.insert(format!("key {number}"), "value".as_bytes())?;
                db.flush()?;
                println!("stored {number}");
            }
        }
        verb => {
            for item in db.iter() {
                let (key, value) = item?;
                if verb == "dump" {
                    println!("{} {}", String::from_utf8_lossy(&key), String::from_utf8_lossy(&value));
                }
            }
        }
    }
    Ok(())
}
