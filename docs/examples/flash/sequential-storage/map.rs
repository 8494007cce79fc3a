//! A map of sequential-storage, on a flash whose driver is in C (sequential_target.c). Each call makes the map anew, on
//! the stack: nothing is cached from call to call.

use core::ffi::c_void;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};
use sequential_storage::Error;

const PAGE: usize = 128;
const WORD: usize = 4;
const PAGES: usize = 3;
const SIZE: usize = 8; // bytes of a key, and of a value

unsafe extern "C" {
    fn flash_read(context: *mut c_void, at: u64, out: *mut u8, size: usize) -> i32;
    fn flash_prog(context: *mut c_void, at: u64, data: *const u8, size: usize) -> i32;
    fn flash_erase(context: *mut c_void, at: u64, size: usize) -> i32;
}

#[derive(Debug)]
struct Refused;

impl NorFlashError for Refused {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

struct Flash(*mut c_void);

fn result(status: i32) -> Result<(), Refused> {
    if status == 0 { Ok(()) } else { Err(Refused) }
}

impl ErrorType for Flash {
    type Error = Refused;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Refused> {
        result(unsafe { flash_read(self.0, offset.into(), bytes.as_mut_ptr(), bytes.len()) })
    }

    fn capacity(&self) -> usize {
        PAGE * PAGES
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Refused> {
        result(unsafe { flash_erase(self.0, from.into(), (to - from) as usize) })
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Refused> {
        result(unsafe { flash_prog(self.0, offset.into(), bytes.as_ptr(), bytes.len()) })
    }
}

// A removed item has its checksum programmed again, with zeroes.
impl MultiwriteNorFlash for Flash {}

type Key = [u8; SIZE];
type Map = MapStorage<Key, Flash, Cache<Uncached, Uncached, Uncached, Key>>;

fn map(context: *mut c_void) -> Map {
    Map::new(Flash(context), const { MapConfig::new(0..(PAGE * PAGES) as u32) }, Cache::new_uncached())
}

/// Nothing in this program waits.
fn done<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!(),
    }
}

const DONE: i32 = 0;
const ABSENT: i32 = 1;
const FULL: i32 = 2;

fn status<T>(result: Result<T, Error<Refused>>) -> i32 {
    match result {
        Ok(_) => DONE,
        Err(Error::FullStorage) => FULL,
        Err(_) => -1,
    }
}

fn key(bytes: *const u8) -> Key {
    unsafe { *bytes.cast::<Key>() }
}

#[unsafe(no_mangle)]
pub extern "C" fn map_format(context: *mut c_void) -> i32 {
    status(done(map(context).erase_all()))
}

#[unsafe(no_mangle)]
pub extern "C" fn map_fetch(context: *mut c_void, of: *const u8, out: *mut u8) -> i32 {
    let mut buffer = [0; 64];
    match done(map(context).fetch_item::<[u8; SIZE]>(&mut buffer, &key(of))) {
        Ok(Some(value)) => {
            unsafe { *out.cast::<[u8; SIZE]>() = value };
            DONE
        }
        Ok(None) => ABSENT,
        Err(_) => -1,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn map_store(context: *mut c_void, of: *const u8, value: *const u8) -> i32 {
    status(done(map(context).store_item(&mut [0; 64], &key(of), &key(value))))
}

#[unsafe(no_mangle)]
pub extern "C" fn map_remove(context: *mut c_void, of: *const u8) -> i32 {
    status(done(map(context).remove_item(&mut [0; 64], &key(of))))
}
