//! Takes the documentation of the compiled classes out of their type stub, so that `help()` and editors show the same text. For a method
//! it becomes a file `Class.method`, for a class a file `Class`.

use std::path::Path;
use std::{env, fs};

const STUB: &str = "python/meshfold/_meshfold.pyi";

fn main() {
    println!("cargo::rerun-if-changed={STUB}");
    println!("cargo::rerun-if-changed=build.rs");
    let stub = fs::read_to_string(STUB).expect("the stub is part of the package");
    let folder = env::var("OUT_DIR").expect("cargo names a folder");
    for (name, text) in documentation(&stub) {
        fs::write(Path::new(&folder).join(name), text).expect("the folder can be written to");
    }
}

/// The names of classes and of their methods, each with its documentation.
fn documentation(stub: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (mut class, mut name) = (String::new(), String::new());
    let mut lines = stub.lines();
    while let Some(line) = lines.next() {
        let word = |after: &str| after.split([':', '(']).next().unwrap_or("").to_owned();
        if let Some(after) = line.strip_prefix("class ") {
            class = word(after);
            name.clone_from(&class);
        } else if let Some(after) = line.strip_prefix("    def ") {
            name = format!("{class}.{}", word(after));
        } else if let Some(first) = line.trim_start().strip_prefix("\"\"\"") {
            let indent = line.len() - line.trim_start().len();
            let text = text(first, indent, &mut lines);
            // The first is that of the stub itself.
            if !name.is_empty() {
                found.push((name.clone(), text));
            }
        }
    }
    found
}

/// A docstring that begins with `first`, whose other lines come next, without their `indent`.
fn text<'a>(first: &'a str, indent: usize, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut text = Vec::new();
    let mut line = first;
    loop {
        if let Some(last) = line.strip_suffix("\"\"\"") {
            text.push(last);
            return text.join("\n").trim_end().to_owned();
        }
        text.push(line);
        let next = lines.next().expect("a docstring ends");
        line = next.get(indent..).unwrap_or("");
    }
}
