//! Without a build script Cargo leaves build dependencies out.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
