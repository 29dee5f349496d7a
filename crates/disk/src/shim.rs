//! SQLite's own VFS with a listener in it: the one module that touches C.
//!
//! A file is opened by SQLite's VFS, and then its table of methods is replaced by a copy in which
//! writing, truncating, syncing and closing come here first. The file itself stays SQLite's: locks
//! and shared memory are the real ones.

use crate::pending::Step;
use crate::{Disk, Refusal};
use rusqlite::ffi;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

/// SQLite's own VFS. It is never changed and never freed.
struct Base(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite's VFS is made to be called by any thread, and nobody writes to the table.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

static BASE: OnceLock<Base> = OnceLock::new();

/// A file on a disk that is watched.
#[derive(Clone)]
struct Watched {
    disk: Arc<Disk>,
    path: PathBuf,
    /// The methods of SQLite's own VFS for it.
    methods: &'static ffi::sqlite3_io_methods,
    /// Its first sync is to make its name durable as well.
    is_new: bool,
}

/// The files that are open, by where SQLite keeps them.
static OPEN: Mutex<Option<HashMap<usize, Watched>>> = Mutex::new(None);

fn with_open<T>(what: impl FnOnce(&mut HashMap<usize, Watched>) -> T) -> T {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    what(open.get_or_insert_default())
}

fn watched(file: *mut ffi::sqlite3_file) -> Option<Watched> {
    with_open(|open| open.get(&file.addr()).cloned())
}

/// Makes this the VFS of all connections that name none; those to other directories are passed on.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: SQLite may be initialised any number of times, by any thread. The table it finds
        // is valid for good; the copy is leaked, so it is as well, and so is its name.
        unsafe {
            assert_eq!(ffi::sqlite3_initialize(), ffi::SQLITE_OK, "SQLite can be used");
            let base = ffi::sqlite3_vfs_find(std::ptr::null());
            let mut ours = *base.as_ref().expect("SQLite has a VFS");
            ours.pNext = std::ptr::null_mut();
            ours.zName = c"onrush-disk".as_ptr();
            ours.xOpen = Some(open);
            ours.xDelete = Some(delete);
            BASE.get_or_init(|| Base(base));
            let taken = ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 1);
            assert_eq!(taken, ffi::SQLITE_OK, "SQLite takes a VFS");
        }
    });
}

fn base() -> *mut ffi::sqlite3_vfs {
    BASE.get().expect("it was found before anything was opened").0
}

/// # Safety
/// `name` is null or a string that ends with a zero byte.
unsafe fn path_of(name: *const c_char) -> Option<PathBuf> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller says so.
    let name = unsafe { CStr::from_ptr(name) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

fn code(refusal: Refusal, otherwise: c_int) -> c_int {
    match refusal {
        Refusal::Stopped => otherwise,
        Refusal::Full => ffi::SQLITE_FULL,
    }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite hands a file of the size that the table asks for, a name or null, and a place
    // for flags or null, as it would to its own VFS. Its methods are static or null.
    unsafe {
        let path = path_of(name);
        let disk = path.as_deref().and_then(Disk::of);
        let (Some(path), Some(disk)) = (path, disk) else {
            return own_open(name, file, flags, out);
        };
        let is_new = flags & ffi::SQLITE_OPEN_CREATE != 0 && !path.exists();
        if is_new && let Err(refusal) = disk.begin(&path, Step::Created) {
            (*file).pMethods = std::ptr::null();
            return code(refusal, ffi::SQLITE_CANTOPEN);
        }
        let outcome = own_open(name, file, flags, out);
        if outcome == ffi::SQLITE_OK
            && let Some(methods) = (*file).pMethods.as_ref()
        {
            (*file).pMethods = listening(methods);
            let it = Watched { disk, path, methods, is_new };
            with_open(|open| open.insert(file.addr(), it));
        }
        outcome
    }
}

/// # Safety
/// As for SQLite's own `xOpen`.
unsafe fn own_open(
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: the caller says so, and the table is SQLite's own.
    unsafe {
        let open = (*base()).xOpen.expect("every VFS opens files");
        open(base(), name, file, flags, out)
    }
}

/// The same methods with a listener; there is one copy of each table.
fn listening(methods: &'static ffi::sqlite3_io_methods) -> *const ffi::sqlite3_io_methods {
    static COPIES: Mutex<Option<HashMap<usize, &'static ffi::sqlite3_io_methods>>> =
        Mutex::new(None);
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = copies.get_or_insert_default();
    *known.entry(std::ptr::from_ref(methods).addr()).or_insert_with(|| {
        let mut copy = *methods;
        copy.xClose = Some(close);
        copy.xWrite = Some(write);
        copy.xTruncate = Some(truncate);
        copy.xSync = Some(sync);
        Box::leak(Box::new(copy))
    })
}

unsafe extern "C" fn delete(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    directory: c_int,
) -> c_int {
    // SAFETY: SQLite hands a name, as it would to its own VFS.
    unsafe {
        let own = (*base()).xDelete.expect("every VFS deletes files");
        let path = path_of(name);
        let Some((path, disk)) = path.and_then(|path| Disk::of(&path).map(|disk| (path, disk)))
        else {
            return own(base(), name, directory);
        };
        if let Ok(was) = std::fs::read(&path)
            && let Err(refusal) = disk.begin(&path, Step::Deleted { was })
        {
            return code(refusal, ffi::SQLITE_IOERR_DELETE);
        }
        let outcome = own(base(), name, directory);
        if directory != 0 {
            disk.sync_directory();
        }
        outcome
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let Some(it) = with_open(|open| open.remove(&file.addr())) else { return ffi::SQLITE_MISUSE };
    // SAFETY: the file was opened by SQLite's own VFS with these methods.
    unsafe {
        (*file).pMethods = it.methods;
        it.methods.xClose.map_or(ffi::SQLITE_OK, |close| close(file))
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    amount: c_int,
    at: i64,
) -> c_int {
    let Some(it) = watched(file) else { return ffi::SQLITE_MISUSE };
    // SAFETY: SQLite hands a file that is open and so many bytes.
    unsafe {
        let size = usize::try_from(amount).unwrap_or_default();
        let slice = std::slice::from_raw_parts(bytes.cast::<u8>(), size);
        let Some(length) = length_of(file, &it) else { return ffi::SQLITE_IOERR_WRITE };
        let begins = u64::try_from(at).unwrap_or_default();
        let Some(was) = content(file, &it, begins, length.min(begins + size as u64)) else {
            return ffi::SQLITE_IOERR_WRITE;
        };
        let step = Step::Wrote { at: begins, was, length, bytes: slice.to_vec() };
        match it.disk.begin(&it.path, step) {
            Err(refusal) => code(refusal, ffi::SQLITE_IOERR_WRITE),
            Ok(()) => {
                let write = it.methods.xWrite.expect("every file can be written");
                write(file, bytes, amount, at)
            }
        }
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, to: i64) -> c_int {
    let Some(it) = watched(file) else { return ffi::SQLITE_MISUSE };
    // SAFETY: SQLite hands a file that is open.
    unsafe {
        let Some(length) = length_of(file, &it) else { return ffi::SQLITE_IOERR_TRUNCATE };
        let begins = u64::try_from(to).unwrap_or_default();
        let Some(was) = content(file, &it, begins, length) else {
            return ffi::SQLITE_IOERR_TRUNCATE;
        };
        match it.disk.begin(&it.path, Step::Truncated { to: begins, was }) {
            Err(refusal) => code(refusal, ffi::SQLITE_IOERR_TRUNCATE),
            Ok(()) => {
                let truncate = it.methods.xTruncate.expect("every file can be cut");
                truncate(file, to)
            }
        }
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    let Some(it) = watched(file) else { return ffi::SQLITE_MISUSE };
    let synced = it.disk.sync(&it.path, it.is_new);
    if synced.is_ok() {
        with_open(|open| open.get_mut(&file.addr()).map(|it| it.is_new = false));
    }
    // What is under it need not be durable: the disk that is simulated is all that matters.
    synced.map_or_else(|refusal| code(refusal, ffi::SQLITE_IOERR_FSYNC), |()| ffi::SQLITE_OK)
}

/// # Safety
/// The file is open, with these methods.
unsafe fn length_of(file: *mut ffi::sqlite3_file, it: &Watched) -> Option<u64> {
    let mut length = 0;
    let size = it.methods.xFileSize?;
    // SAFETY: the caller says so.
    let outcome = unsafe { size(file, &mut length) };
    (outcome == ffi::SQLITE_OK).then(|| u64::try_from(length).unwrap_or_default())
}

/// What is in the file from one place to another, which is at most its end. Opening it once more
/// would cost its locks when it is closed.
///
/// # Safety
/// The file is open, with these methods.
unsafe fn content(
    file: *mut ffi::sqlite3_file,
    it: &Watched,
    from: u64,
    to: u64,
) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(to.saturating_sub(from)).ok()?];
    if bytes.is_empty() {
        return Some(bytes);
    }
    let read = it.methods.xRead?;
    let amount = c_int::try_from(bytes.len()).ok()?;
    // SAFETY: the caller says so, and there is room for so many bytes.
    let outcome =
        unsafe { read(file, bytes.as_mut_ptr().cast(), amount, i64::try_from(from).ok()?) };
    (outcome == ffi::SQLITE_OK).then_some(bytes)
}

/// Whether a file is open on a disk that is watched.
pub(crate) fn is_open(dir: &Path) -> bool {
    with_open(|open| open.values().any(|it| it.path.parent() == Some(dir)))
}
