//! Tests of the reader of MATLAB 5 files, and how other tests write one.

use super::*;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

pub(crate) fn element(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// An array `[3, 1]` called `x`, its name a short element, of numbers of type `kind`.
pub(crate) fn matrix(kind: u32, numbers: &[u8]) -> Vec<u8> {
    let flags = [6_u32.to_le_bytes(), [0; 4]].concat();
    let sizes = [3_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    let name = [(1 << 16 | 1_u32).to_le_bytes(), [b'x', 0, 0, 0]].concat();
    let parts = [
        element(6, &flags),
        element(5, &sizes),
        name,
        element(kind, numbers),
    ];
    element(MATRIX, &parts.concat())
}

pub(crate) fn doubles() -> Vec<u8> {
    [1.5_f64, -2.0, 4e9]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect()
}

pub(crate) fn zlib(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    let packed = encoder.finish().unwrap();
    [
        &COMPRESSED.to_le_bytes(),
        &(packed.len() as u32).to_le_bytes(),
        packed.as_slice(),
    ]
    .concat()
}

pub(crate) fn file(elements: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![b' '; 124];
    file.extend([0, 1, b'I', b'M']);
    file.extend(elements.concat());
    file
}

fn read(elements: &[Vec<u8>]) -> Found<Vec<MatArray>> {
    arrays(&file(elements), |name| name == "x")
}

fn refusal(elements: &[Vec<u8>]) -> (u64, String) {
    let fault = read(elements).unwrap_err();
    (fault.offset, fault.reason)
}

#[test]
fn arrays_are_read_plain_and_compressed() {
    let plain = matrix(9, &doubles());
    let both = read(&[zlib(&plain), plain.clone()]).unwrap();
    let x = MatArray {
        name: "x".into(),
        dimensions: vec![3, 1],
        values: vec![1.5, -2.0, 4e9],
    };
    assert_eq!(both, [x.clone(), x]);
    // MATLAB stores whole numbers in as few bytes as they need.
    assert_eq!(
        read(&[matrix(1, &[1, 255, 127])]).unwrap()[0].values,
        [1.0, -1.0, 127.0]
    );
    assert!(arrays(&file(&[plain]), |_| false).unwrap().is_empty());
}

/// A file whose numbers begin with their most significant byte, with an array `[1]` called `x`.
pub(crate) fn big_endian() -> Vec<u8> {
    let mut bytes = vec![b' '; 124];
    bytes.extend([1, 0, b'M', b'I']);
    let word = |number: u32| number.to_be_bytes().to_vec();
    let parts = [
        [word(6), word(8), word(6), word(0)].concat(),
        [word(5), word(8), word(1), word(1)].concat(),
        [word(1 << 16 | 1), vec![b'x', 0, 0, 0]].concat(),
        [word(9), word(8), 2.5_f64.to_be_bytes().to_vec()].concat(),
    ]
    .concat();
    bytes.extend([word(MATRIX), word(parts.len() as u32), parts].concat());
    bytes
}

#[test]
fn big_endian_files_are_read() {
    assert_eq!(arrays(&big_endian(), |_| true).unwrap()[0].values, [2.5]);
}

#[test]
fn every_cut_and_every_damaged_byte_is_an_error_or_harmless() {
    let whole = file(&[matrix(9, &doubles()), zlib(&matrix(9, &doubles()))]);
    for end in 0..whole.len() {
        // Cut between two elements, a file is shorter and sound.
        match arrays(&whole[..end], |_| true) {
            Ok(found) => assert!(found.len() < 2, "{end}"),
            Err(fault) => {
                assert!(fault.offset <= end as u64, "{end}: {}", fault.offset);
                let told = [
                    " bytes are left",
                    "end inside the tag",
                    "the file ends here",
                ];
                let tells = told.iter().any(|end| fault.reason.contains(end));
                assert!(tells, "{end}: {}", fault.reason);
            }
        }
        let mut damaged = whole.clone();
        damaged[end] ^= 0xff;
        arrays(&damaged, |_| true).ok();
    }
}

#[test]
fn lying_sizes_are_refused_where_they_stand() {
    let mut long = matrix(9, &doubles());
    long[4] = 0xff;
    long[5] = 0xff;
    assert_eq!(
        refusal(&[long]),
        (
            128,
            "an element of 65535 bytes where 72 bytes are left".into()
        )
    );
    let fewer = matrix(9, &doubles()[..16]);
    assert_eq!(
        refusal(&[fewer]),
        (176, "array x of [3, 1] has 2 numbers".into())
    );
    assert_eq!(
        refusal(&[zlib(&zlib(b"x"))]).1,
        "compressed data within compressed data"
    );
    assert_eq!(
        refusal(&[matrix(8, &doubles())]),
        (176, "numbers of type 8".into())
    );
}

#[test]
fn a_small_file_does_not_ask_for_much_memory() {
    // A tenth of a megabyte, packed; as numbers of eight bytes half as many again as there may be.
    let numbers = vec![0; MOST_NUMBERS * 3 / 4];
    let mut array = matrix(1, &numbers);
    let sizes = array
        .windows(8)
        .position(|bytes| bytes == [3, 0, 0, 0, 1, 0, 0, 0]);
    let sizes = sizes.unwrap();
    array[sizes..sizes + 4].copy_from_slice(&(numbers.len() as u32).to_le_bytes());
    let array = zlib(&array);
    assert_eq!(read(std::slice::from_ref(&array)).unwrap().len(), 1);
    let second = (HEADER + array.len()) as u64;
    assert_eq!(
        refusal(&[array.clone(), array]),
        (second, "more than 33554432 numbers".into())
    );
    // Whatever is not wanted is decompressed as well.
    let unwanted = zlib(&element(1, &vec![0; MOST_DECOMPRESSED as usize / 2]));
    let (offset, reason) = refusal(&[unwanted.clone(), unwanted.clone()]);
    assert_eq!(offset, (HEADER + unwanted.len()) as u64);
    assert_eq!(
        reason,
        "compressed data that unpack to more than 268435456 bytes"
    );
}

#[test]
fn other_files_are_refused_at_the_header() {
    let refusal = |bytes: &[u8]| arrays(bytes, |_| true).unwrap_err().reason;
    assert_eq!(
        refusal(b"short"),
        "the file ends here, inside its header of 128 bytes"
    );
    let mut newer = file(&[]);
    newer[125] = 2;
    assert_eq!(refusal(&newer), "version 2 found, 1 of MATLAB 5 needed");
    newer[126] = b'H';
    assert_eq!(
        refusal(&newer),
        "byte order \"HM\" found, \"IM\" or \"MI\" of MATLAB 5 needed"
    );
}
