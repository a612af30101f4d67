//! Tests of arrays.

use super::*;

/// A file of version 1 with this dictionary and these elements.
pub(crate) fn file(dictionary: &str, elements: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((dictionary.len() as u16).to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.extend(elements);
    bytes
}

fn values(descr: &str, elements: &[u8], count: usize) -> Vec<f64> {
    let dictionary =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}   \n");
    let file = file(&dictionary, elements);
    let mut array = parse(&file).unwrap();
    assert_eq!(
        (array.header.shape.as_slice(), array.header.elements()),
        ([count].as_slice(), count)
    );
    let mut values = Vec::new();
    let see = |value| {
        values.push(value);
        Ok(())
    };
    array.each(count, see).unwrap();
    values
}

fn parse(file: &[u8]) -> Result<NpyArray<&[u8]>, Fault> {
    NpyArray::begin(file, file.len() as u64)
}

#[test]
fn elements_are_read_on_and_faults_lie_at_theirs() {
    let count = 3 * PIECE;
    let elements: Vec<u8> = (0..count).map(|index| (index % 251) as u8).collect();
    let dictionary = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({count},)}}");
    let file = file(&dictionary, &elements);
    let mut array = parse(&file).unwrap();
    let mut bytes = vec![9];
    array.append(PIECE + 5, &mut bytes).unwrap();
    assert_eq!(bytes[1..], elements[..PIECE + 5]);
    let length = array.header().length;
    let odd = |value| match value == f64::from(elements[2 * PIECE]) {
        true => Err("odd".into()),
        false => Ok(()),
    };
    array.each(3, |_| Ok(())).unwrap();
    let fault = array.each(count - PIECE - 8, odd).unwrap_err();
    let first = (PIECE + 8..).find(|at| elements[*at] == elements[2 * PIECE]);
    assert_eq!(
        (fault.offset, fault.reason.as_str()),
        (
            (length + first.unwrap()) as u64,
            format!("element {}: odd", first.unwrap()).as_str()
        )
    );
    // A content that ends before the announced size is seen in the piece that it ends in.
    let cut = &file[..file.len() - 1];
    let mut array = NpyArray::begin(cut, file.len() as u64).unwrap();
    let fault = array.each(count, |_| Ok(())).unwrap_err();
    let last = (length + count - PIECE) as u64;
    assert_eq!(
        (fault.offset, fault.reason.as_str()),
        (last, "failed to fill whole buffer")
    );
}

#[test]
fn an_element_is_called_by_its_number_and_its_index() {
    let dictionary = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 4)}";
    let file = file(dictionary, &(0..24).collect::<Vec<u8>>());
    let mut array = parse(&file).unwrap();
    let odd = |value| match value {
        17.0 => Err("odd".into()),
        _ => Ok(()),
    };
    let fault = array.each(24, odd).unwrap_err();
    let told = "element 17, at [1, 1, 1] of shape [2, 3, 4]: odd";
    assert_eq!(fault.reason, told);
}

#[test]
fn every_kind_of_number_is_read() {
    assert_eq!(values("|u1", &[0, 255], 2), [0.0, 255.0]);
    assert_eq!(values("|i1", &[0, 255], 2), [0.0, -1.0]);
    assert_eq!(values("<i4", &(-7_i32).to_le_bytes(), 1), [-7.0]);
    assert_eq!(values(">i2", &258_i16.to_be_bytes(), 1), [258.0]);
    assert_eq!(values("<i8", &i64::MIN.to_le_bytes(), 1), [i64::MIN as f64]);
    assert_eq!(values("<f4", &1.5_f32.to_le_bytes(), 1), [1.5]);
    assert_eq!(values(">f8", &(-2.5_f64).to_be_bytes(), 1), [-2.5]);
}

#[test]
fn lying_headers_are_refused() {
    let refusal = |dictionary: &str, bytes: usize| {
        let parsed = parse(&file(dictionary, &vec![0; bytes])).err();
        parsed.expect("refused").reason
    };
    let of = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}");
    let sound = file(&of("(2, 3)"), &[0; 24]);
    assert_eq!(parse(&sound).unwrap().header().shape, [2, 3]);
    assert!(refusal(&of("(2, 3)"), 23).starts_with("the file ends here"));
    assert!(refusal(&of("(2, 3)"), 25).starts_with("content goes on"));
    let huge = format!("({0}, {0}, {0})", u64::MAX / 2);
    assert!(refusal(&of(&huge), 4).contains("overflows"));
    assert!(refusal(&of("(2, -3)"), 24).contains("a size `-3`"));
    assert!(refusal(&of("(2, 3)").replace("<f4", "|O"), 24).contains("elements `|O`"));
    assert!(refusal(&of("(2, 3)").replace("False", "True"), 24).contains("Fortran"));
    assert!(refusal("{'descr': '<f4'}", 0).contains("without shape"));
    assert!(refusal("{'descr': {'a': 1}}", 0).contains("without quotation marks"));
    assert_eq!(parse(b"\x93NUMPY\x01\x00\xff").err().unwrap().offset, 9);
    let other = parse(b"PK").err().unwrap();
    assert!(other.reason.starts_with("no npy array"), "{}", other.reason);
}
