//! Makes the program smaller by the linker, where it can.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_CFG_UNIX").is_some() {
        for argument in [ONE_COPY, PACKED_RELOCATIONS]
            .into_iter()
            .filter(|argument| serves(argument))
        {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// Has the linker keep one copy of functions whose instructions are the same.
const ONE_COPY: &str = "-Wl,--icf=all";

/// Has the linker note the addresses that change as the program is loaded in two bits each, not in 24 bytes.
const PACKED_RELOCATIONS: &str = "-Wl,-z,pack-relative-relocs";

/// Whether a program that is linked with `argument` runs, tried with the smallest one. Linkers and loaders of some systems take it.
fn serves(argument: &str) -> bool {
    try_out(argument).is_some_and(|ran| ran)
}

fn try_out(argument: &str) -> Option<bool> {
    let folder = env::var_os("OUT_DIR")?;
    let source = Path::new(&folder).join("smallest.rs");
    fs::write(&source, "fn main() {}").ok()?;
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let mut compiler = Command::new(env::var_os("RUSTC")?);
    compiler.args(["--target", &env::var("TARGET").ok()?]);
    compiler.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg(format!("-Clinker={linker}"));
    }
    let argument = format!("-Clink-arg={argument}");
    compiler.arg(argument).arg(source).current_dir(&folder);
    let linked = compiler.output().ok()?.status.success();
    Some(
        linked
            && Command::new(Path::new(&folder).join("smallest"))
                .status()
                .ok()?
                .success(),
    )
}
