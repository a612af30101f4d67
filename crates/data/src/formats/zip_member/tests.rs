//! Tests of archives.

use super::*;
use crate::formats::zip_list::{ENTRY, u32_at};
use std::io::{Cursor, Write};

const END: [u8; 4] = *b"PK\x05\x06";

/// A zip archive of `entries`; the first is deflated, the others are stored.
pub(crate) fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for (index, (name, content)) in entries.iter().enumerate() {
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), Default::default());
        deflate.write_all(content).unwrap();
        let (method, packed) = match index {
            0 => (8_u16, deflate.finish().unwrap()),
            _ => (0, content.to_vec()),
        };
        let mut sum = Crc::new();
        sum.update(content);
        let mut common = vec![20, 0, 0, 0];
        common.extend(method.to_le_bytes());
        common.extend([0; 4]);
        for value in [sum.sum(), packed.len() as u32, content.len() as u32] {
            common.extend(value.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0; 2]);
        list.extend(ENTRY);
        list.extend([20, 0]);
        list.extend(&common);
        list.extend([0; 10]);
        list.extend((bytes.len() as u32).to_le_bytes());
        list.extend(name.as_bytes());
        bytes.extend(LOCAL);
        bytes.extend(common);
        bytes.extend(name.as_bytes());
        bytes.extend(packed);
    }
    let place = bytes.len() as u32;
    bytes.extend(&list);
    bytes.extend(END);
    bytes.extend([0; 4]);
    for _ in 0..2 {
        bytes.extend((entries.len() as u16).to_le_bytes());
    }
    bytes.extend((list.len() as u32).to_le_bytes());
    bytes.extend(place.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

fn member(archive: &[u8], name: &str, limit: u64) -> Result<Vec<u8>, Fault> {
    let mut file = Cursor::new(archive);
    let mut member = open(&mut file, name, limit)?;
    let size = member.size() as usize;
    let mut content = Vec::new();
    let read = member.by_ref().take(size as u64).read_to_end(&mut content);
    read.map_err(|error| Fault::at(0_u64, error.to_string()))?;
    member.finish().map(|()| content)
}

const ENTRIES: [(&str, &[u8]); 2] = [("x.npy", &[7; 5000]), ("y.npy", b"labels")];

#[test]
fn deflated_and_stored_entries_come_back() {
    let archive = archive(&ENTRIES);
    assert_eq!(member(&archive, "x.npy", 5000).unwrap(), [7; 5000]);
    assert_eq!(member(&archive, "y.npy", 5000).unwrap(), b"labels");
}

#[test]
fn absent_overlong_and_broken_entries_are_refused() {
    let whole = archive(&ENTRIES);
    let absent = member(&whole, "z.npy", 9).unwrap_err().reason;
    assert_eq!(absent, "no entry `z.npy` among `x.npy`, `y.npy`");
    let long = member(&whole, "x.npy", 4999).unwrap_err().reason;
    assert_eq!(long, "x.npy unpacks to 5000 bytes, at most 4999 needed");
    for cut in 0..whole.len() {
        let fault = member(&whole[..cut], "y.npy", 9).unwrap_err();
        assert_eq!(fault.offset, cut as u64);
        assert_eq!(
            fault.reason,
            "no zip archive, or one that is cut short: it has no end record"
        );
    }
    for place in 0..whole.len() {
        let mut bent = whole.clone();
        bent[place] ^= 0x41;
        // Whatever is bent, nothing but the content itself comes back.
        if let Ok(found) = member(&bent, "y.npy", 9) {
            assert_eq!(found, b"labels", "{place}");
        }
    }
}

#[test]
fn a_bomb_stops_at_the_size_that_it_announces() {
    let mut bomb = archive(&[("x.npy", &vec![0; 10 << 20])]);
    let list = bomb.windows(4).position(|window| window == ENTRY).unwrap();
    let announcing = |bytes: u32, bomb: &mut [u8]| {
        bomb[list + 24..list + 28].copy_from_slice(&bytes.to_le_bytes());
        member(bomb, "x.npy", 1 << 30).unwrap_err().reason
    };
    let told = "x.npy unpacks to more than the 100 bytes announced";
    assert_eq!(announcing(100, &mut bomb), told);
    let told = "x.npy unpacks to 10485760 bytes, 10485761 are announced";
    assert_eq!(announcing((10 << 20) + 1, &mut bomb), told);
    bomb[list + 16] ^= 1;
    let told = "damaged x.npy: its checksum is not the one announced";
    assert_eq!(announcing(10 << 20, &mut bomb), told);
}

#[test]
fn names_that_lead_elsewhere_are_names_of_entries_and_no_paths() {
    let names = ["../x.npy", "/etc/passwd.npy", "a/../../x.npy"];
    let whole = archive(&names.map(|name| (name, name.as_bytes())));
    for name in names {
        assert_eq!(member(&whole, name, 99).unwrap(), name.as_bytes());
    }
    let absent = member(&whole, "x.npy", 99).unwrap_err().reason;
    assert!(absent.starts_with("no entry `x.npy` among"), "{absent}");
}

#[test]
fn sizes_that_the_archive_cannot_hold_are_not_believed() {
    for (index, name, most) in [(0, "x.npy", 1032), (1, "y.npy", 1)] {
        let mut lying = archive(&ENTRIES);
        let mut entries = lying.windows(4).enumerate().filter(|(_, w)| *w == ENTRY);
        let place = entries.nth(index).unwrap().0;
        let packed = u32_at(&lying, place + 20);
        lying[place + 24..place + 28].copy_from_slice(&(1_u32 << 31).to_le_bytes());
        let reason = member(&lying, name, 1 << 36).unwrap_err().reason;
        let needed = format!(
            "{name} announces 2147483648 bytes, the archive holds at most {}",
            most * packed
        );
        assert!(reason.starts_with(&needed), "{reason}");
        // Nor may it announce more packed bytes than there are.
        lying[place + 20..place + 24].copy_from_slice(&(1_u32 << 31).to_le_bytes());
        let reason = member(&lying, name, 1 << 36).unwrap_err().reason;
        assert!(reason.contains("the archive holds at most"), "{reason}");
    }
}
