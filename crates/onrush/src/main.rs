//! The `onrush` program: a server, a demo, an audit and benchmarks.

mod cli;

// Many small allocations come and go on all threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // A connection's buffers are mostly untouched. Huge pages would make all of each resident: 20
    // KiB for an open stream instead of 12. Where the system knows no such switch, memory is the
    // only price.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    cli::run()
}
