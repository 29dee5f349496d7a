//! Pages that were built anew make a new binary.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A debug build reads the pages when they are asked for.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo:rerun-if-changed=../../web/dist");
    }
}
