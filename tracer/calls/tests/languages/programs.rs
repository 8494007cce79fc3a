// Small programs of Rust's standard library, whose calls the tracer must record exactly (cases.toml). The first
// argument names the program; each works in the folder of the process and writes sectors of one letter.
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, IoSlice, Result, Seek, SeekFrom, Write};
use std::os::unix::fs::{symlink, FileExt, OpenOptionsExt};
use std::os::unix::io::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

const SECTOR: usize = 512;
const O_DSYNC: i32 = 0o10000;

extern "C" {
    fn mmap(at: *mut u8, size: usize, protection: i32, flags: i32, fd: i32, offset: i64)
        -> *mut u8;
    fn msync(at: *mut u8, size: usize, flags: i32) -> i32;
    fn munmap(at: *mut u8, size: usize) -> i32;
}

fn sectors(letters: &str) -> Vec<u8> {
    letters
        .bytes()
        .flat_map(|letter| [letter; SECTOR])
        .collect()
}

fn save() -> Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open("t")?;
    file.write_all(&sectors("X"))?;
    file.sync_all()?;
    fs::rename("t", "a")?;
    File::open(".")?.sync_all()
}

fn whole() -> Result<()> {
    fs::write("a", sectors("X"))?;
    fs::write("a", sectors("YZ"))
}

fn appends() -> Result<()> {
    let mut log = OpenOptions::new().append(true).create(true).open("a")?;
    log.write_all(&sectors("A"))?;
    log.sync_data()?;
    let mut other = OpenOptions::new()
        .write(true)
        .custom_flags(O_DSYNC)
        .open("a")?;
    other.write_all_at(&sectors("C"), 2 * SECTOR as u64)?;
    log.write_all(&sectors("D"))?;
    other.seek(SeekFrom::Start(SECTOR as u64))?;
    other.write_all(&sectors("B"))?;
    log.set_len(3 * SECTOR as u64)
}

fn buffers() -> Result<()> {
    let mut file = File::create("a")?;
    let (first, second) = (sectors("A"), sectors("B"));
    file.write_vectored(&[IoSlice::new(&first), IoSlice::new(&second)])?;
    let mut buffered = BufWriter::new(file);
    for _ in 0..4 {
        buffered.write_all(&[b'C'; SECTOR / 4])?;
    }
    buffered.flush()
}

// By copy_file_range; fs::copy sets the mode of the new file as well.
fn copies() -> Result<()> {
    fs::write("a", sectors("XYZ"))?;
    fs::copy("a", "b")?;
    Ok(())
}

fn threads() -> Result<()> {
    let file = File::create("a")?;
    let (told, turn) = channel();
    thread::scope(|scope| {
        for (number, letter) in ["A", "B", "C", "D"].into_iter().enumerate() {
            let (file, told) = (&file, told.clone());
            scope.spawn(move || {
                file.write_all_at(&sectors(letter), (number * SECTOR) as u64)
                    .unwrap();
                file.sync_data().unwrap();
                told.send(()).unwrap();
            });
            turn.recv().unwrap();
        }
    });
    Ok(())
}

fn child() -> Result<()> {
    let mut file = File::create("a")?;
    let output = Stdio::from(file.try_clone()?);
    Command::new("sh")
        .args(["-c", "printf X"])
        .stdout(output)
        .status()?;
    file.write_all(
        &Command::new("sh")
            .args(["-c", "printf YZ; : > b"])
            .output()?
            .stdout,
    )
}

fn mapping() -> Result<()> {
    const READ_WRITE: i32 = 3;
    const SHARED: i32 = 1;
    const SYNC: i32 = 4;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open("a")?;
    file.set_len(2 * SECTOR as u64)?;
    unsafe {
        let at = mmap(
            std::ptr::null_mut(),
            2 * SECTOR,
            READ_WRITE,
            SHARED,
            file.as_raw_fd(),
            0,
        );
        at.write_bytes(b'X', SECTOR);
        assert_eq!(msync(at, 2 * SECTOR, SYNC), 0);
        at.add(SECTOR).write_bytes(b'Y', SECTOR);
        assert_eq!(munmap(at, 2 * SECTOR), 0);
    }
    Ok(())
}

fn folders() -> Result<()> {
    fs::create_dir_all("d/e")?;
    File::create("d/e/x")?;
    fs::hard_link("d/e/x", "h")?;
    symlink("d", "l")?;
    File::create("l/y")?;
    fs::remove_file("l/y")?;
    fs::remove_dir_all("d")
}

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("save") => save(),
        Some("whole") => whole(),
        Some("appends") => appends(),
        Some("buffers") => buffers(),
        Some("copies") => copies(),
        Some("threads") => threads(),
        Some("child") => child(),
        Some("mapping") => mapping(),
        Some("folders") => folders(),
        _ => std::process::exit(64),
    }
}
