//! The fuzzer: libFuzzer with the target that `ONRUSH_FUZZ_TARGET` names. `scripts/fuzz.sh` builds
//! and runs it; its arguments are libFuzzer's.

#![no_main]
#![expect(unsafe_code, reason = "libFuzzer calls one function by its name")]

// It has `main`, and calls the function below.
use libfuzzer_sys as _;
use onrush_fuzz::{TARGETS, Target, find, quiet};
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    // libFuzzer saves the input and tells of it when the process ends like this.
    quiet::install(|| std::process::abort());
    let name = std::env::var("ONRUSH_FUZZ_TARGET").unwrap_or_default();
    find(&name).unwrap_or_else(|| {
        let names = TARGETS.map(|target| target.name).join(", ");
        eprintln!("ONRUSH_FUZZ_TARGET is {name:?}; use one of {names}.");
        std::process::exit(2);
    })
});

/// Hands one input to the target.
#[unsafe(no_mangle)]
#[expect(improper_ctypes_definitions, reason = "both sides are Rust")]
pub extern "C" fn rust_fuzzer_test_input(input: &[u8]) -> i32 {
    (TARGET.run)(input);
    0
}
