//! What the system is asked for: files without a name, and their pages in memory.

#[cfg(target_os = "linux")]
pub(crate) use linux::memory_of_machine;
#[cfg(target_os = "linux")]
pub(super) use linux::{become_large_page, create, give_back, map, number, open, unmap};
#[cfg(not(target_os = "linux"))]
pub(crate) use none::memory_of_machine;
#[cfg(not(target_os = "linux"))]
pub(super) use none::{become_large_page, create, give_back, map, number, open, unmap};

/// Bytes of a large page.
pub(super) const LARGE_PAGE: usize = 2 << 20;

#[cfg(target_os = "linux")]
mod linux {
    use super::LARGE_PAGE;
    use std::ffi::{c_int, c_uint};
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::os::unix::fs::OpenOptionsExt;
    use std::ptr::{NonNull, null_mut};

    /// `MADV_COLLAPSE`, which not every C library names.
    const COLLAPSE: c_int = 25;

    /// A file in memory of `bytes` bytes, none of which takes room yet.
    pub(crate) fn create(bytes: usize) -> io::Result<File> {
        if is_limited() {
            return Err(io::Error::other(
                "this process may not ask for as much as is mapped",
            ));
        }
        // A kernel may insist on memory that cannot become a program; an older one knows nothing of that.
        let file = named(libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL);
        let file = file.or_else(|_| named(libc::MFD_CLOEXEC))?;
        file.set_len(bytes as u64)?;
        Ok(file)
    }

    fn named(flags: c_uint) -> io::Result<File> {
        // SAFETY: the name is a string that ends in zero.
        let file = unsafe { libc::memfd_create(c"meshfold".as_ptr(), flags) };
        match file < 0 {
            true => Err(io::Error::last_os_error()),
            // SAFETY: nobody else has this descriptor.
            false => Ok(unsafe { File::from_raw_fd(file) }),
        }
    }

    /// Whether the address space of this process or the length of its files has a limit.
    fn is_limited() -> bool {
        [libc::RLIMIT_AS, libc::RLIMIT_FSIZE]
            .into_iter()
            .any(|what| {
                let mut limit = libc::rlimit {
                    rlim_cur: 0,
                    rlim_max: 0,
                };
                // SAFETY: `limit` is there to be written.
                let told = unsafe { libc::getrlimit(what, &raw mut limit) };
                told != 0 || limit.rlim_cur != libc::RLIM_INFINITY
            })
    }

    /// Bytes of memory of this machine; 0 if the system does not say.
    pub(crate) fn memory_of_machine() -> usize {
        // SAFETY: these calls only return numbers.
        let told = unsafe {
            [
                libc::sysconf(libc::_SC_PHYS_PAGES),
                libc::sysconf(libc::_SC_PAGESIZE),
            ]
        };
        let [pages, bytes] = told.map(|told| usize::try_from(told).unwrap_or(0));
        pages.saturating_mul(bytes)
    }

    /// File `file` of process `process`.
    pub(crate) fn open(process: u32, file: u64) -> io::Result<File> {
        let path = format!("/proc/{process}/fd/{file}");
        // Whatever else it may be, opening it does not wait.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(path)
    }

    pub(crate) fn number(file: &File) -> u64 {
        file.as_raw_fd() as u64
    }

    /// Maps `bytes` bytes of `file`, where large pages may begin.
    pub(crate) fn map(file: &File, bytes: usize) -> io::Result<NonNull<u8>> {
        let anywhere = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let room = bytes.saturating_add(2 * LARGE_PAGE);
        // SAFETY: the system finds a place where nothing is yet.
        let room_at = unsafe { libc::mmap(null_mut(), room, libc::PROT_NONE, anywhere, -1, 0) };
        if room_at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let before = room_at.addr().next_multiple_of(LARGE_PAGE) - room_at.addr();
        let first = room_at.wrapping_byte_add(before);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let here = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: this takes the place of the room alone, which nobody uses; what is left of the room goes.
        let mapped = unsafe {
            let mapped = libc::mmap(first, bytes, access, here, file.as_raw_fd(), 0);
            let end = first.wrapping_byte_add(bytes.next_multiple_of(LARGE_PAGE));
            let after = (room_at.addr() + room).saturating_sub(end.addr());
            if before > 0 {
                libc::munmap(room_at, before);
            }
            if after > 0 {
                libc::munmap(end, after);
            }
            mapped
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(first.cast()).ok_or_else(|| io::Error::other("memory at address zero"))
    }

    /// Makes one large page of the small ones at `first`, which are mapped and of which one is in use. Returns whether the system has
    /// done so: it may have none, or be too old.
    pub(crate) fn become_large_page(first: NonNull<u8>) -> bool {
        // SAFETY: this changes nothing that the memory holds.
        unsafe { libc::madvise(first.as_ptr().cast(), LARGE_PAGE, COLLAPSE) == 0 }
    }

    /// # Safety
    /// [`map`] gave these, and nobody uses them any more.
    pub(crate) unsafe fn unmap(first: NonNull<u8>, bytes: usize) {
        let bytes = bytes.next_multiple_of(LARGE_PAGE);
        // SAFETY: the caller's promise.
        unsafe { libc::munmap(first.as_ptr().cast(), bytes) };
    }

    /// Leaves a hole in the file.
    pub(crate) fn give_back(file: &File, at: usize, bytes: usize) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (at, bytes) = (at as libc::off_t, bytes as libc::off_t);
        // SAFETY: the descriptor is open; who has floats there is the caller's to know.
        unsafe { libc::fallocate(file.as_raw_fd(), mode, at, bytes) };
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    use std::fs::File;
    use std::io;
    use std::ptr::NonNull;

    fn none<T>() -> io::Result<T> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn memory_of_machine() -> usize {
        0
    }

    pub(crate) fn create(_: usize) -> io::Result<File> {
        none()
    }

    pub(crate) fn open(_: u32, _: u64) -> io::Result<File> {
        none()
    }

    pub(crate) fn number(_: &File) -> u64 {
        0
    }

    pub(crate) fn map(_: &File, _: usize) -> io::Result<NonNull<u8>> {
        none()
    }

    pub(crate) fn become_large_page(_: NonNull<u8>) -> bool {
        false
    }

    pub(crate) unsafe fn unmap(_: NonNull<u8>, _: usize) {}

    pub(crate) fn give_back(_: &File, _: usize, _: usize) {}
}
