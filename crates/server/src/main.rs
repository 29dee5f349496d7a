//! The `onrush` program: a server, a demo, an audit and benchmarks.

mod cli;

// Many small allocations come and go on all threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::run()
}
