//! LEAF's json of images: `{"users": [..], "num_samples": [..], "user_data": {user: {"x": [[..]], "y": [..]}}}`.
//!
//! Files are read as a stream. Besides the images, one row of pixels is held.

use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{CLASSES, SHAPE};
use crate::files::fault::Fault;
use crate::formats::leaf_json::{self, ByUser, File, Lists};

/// Bytes that a name or a number may have.
const LONGEST: usize = 1 << 16;

/// Images with their classes and writers.
#[derive(Default)]
pub(crate) struct Written {
    /// `[M, 784]`.
    pub(crate) pixels: Vec<u8>,
    /// `[M]`.
    pub(crate) labels: Vec<u16>,
    /// `[M]`.
    pub(crate) owners: Vec<u32>,
}

/// The number of a writer, or nothing for one who is passed over.
pub(crate) type Numbering<'a> = dyn FnMut(&str) -> Option<u32> + 'a;

/// Adds the images of the file `content` to `written`, up to `most` in all.
///
/// # Errors
/// A [`Fault`] where the json ends or stops being what LEAF writes.
pub(crate) fn read(
    content: impl Read,
    written: Written,
    most: usize,
    numbering: &mut Numbering<'_>,
) -> Result<Written, Fault> {
    let mut reader = Reader {
        written,
        most,
        numbering,
    };
    leaf_json::parse(content, LONGEST, File(&mut reader))?;
    Ok(reader.written)
}

/// The users of the file `content`, with the number of images announced for each, if these lists precede the images, as
/// LEAF writes them; otherwise nobody. Nothing is checked.
pub(crate) fn announced(content: impl Read) -> Vec<(String, u64)> {
    let mut lists = Lists::default();
    // An error does not matter here: reading the images meets it again.
    let _ = leaf_json::parse(content, LONGEST, Heads(&mut lists));
    lists.announced()
}

/// The lists that stand before the images.
struct Heads<'l>(&'l mut Lists);

impl<'de> DeserializeSeed<'de> for Heads<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Heads<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with users and num_samples")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "user_data" => return Err(A::Error::custom("the images follow")),
                key if self.0.take(key, &mut map)? => {}
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Reader<'a, 'b> {
    written: Written,
    most: usize,
    numbering: &'a mut Numbering<'b>,
}

impl ByUser for Reader<'_, '_> {
    const THINGS: &'static str = "images";

    fn fits(found: u64, announced: u64) -> bool {
        found == announced
    }

    fn read<'de, M: MapAccess<'de>>(&mut self, user: &str, map: &mut M) -> Result<u64, M::Error> {
        let owner = (self.numbering)(user);
        map.next_value_seed(Images {
            reader: self,
            owner,
        })
    }
}

/// Reads the images of one user, and returns their number.
struct Images<'r, 'a, 'b> {
    reader: &'r mut Reader<'a, 'b>,
    owner: Option<u32>,
}

impl<'de> DeserializeSeed<'de> for Images<'_, '_, '_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<u64, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Images<'_, '_, '_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with x and y")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        let written = &mut self.reader.written;
        let room = self.reader.most.saturating_sub(written.labels.len());
        let before = written.pixels.len();
        let (mut images, mut labels) = (None, None::<Vec<Class>>);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "x" if images.is_none() => {
                    let pixels = &mut written.pixels;
                    images = Some(map.next_value_seed(Rows { pixels, room })?);
                }
                "y" if labels.is_none() => labels = Some(map.next_value_seed(Labels { room })?),
                "x" | "y" => return Err(A::Error::custom(format!("`{key}` stands there twice"))),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let images = images.ok_or_else(|| A::Error::missing_field("x"))?;
        let labels = labels.ok_or_else(|| A::Error::missing_field("y"))?;
        if images != labels.len() {
            let found = labels.len();
            return Err(A::Error::custom(format!(
                "{images} images but {found} labels"
            )));
        }
        match self.owner {
            Some(owner) => {
                written.labels.extend(labels.iter().map(|class| class.0));
                written.owners.resize(written.labels.len(), owner);
            }
            None => written.pixels.truncate(before),
        }
        Ok(images as u64)
    }
}

/// One class.
struct Class(u16);

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        match u16::deserialize(json)? {
            class if usize::from(class) < CLASSES => Ok(Self(class)),
            class => {
                let reason = format!("label {class} found, below {CLASSES} needed");
                Err(D::Error::custom(reason))
            }
        }
    }
}

/// Reads the list of classes of one user.
struct Labels {
    room: usize,
}

impl<'de> DeserializeSeed<'de> for Labels {
    type Value = Vec<Class>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Labels {
    type Value = Vec<Class>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of labels")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut labels = Vec::new();
        while let Some(label) = list.next_element()? {
            if labels.len() == self.room {
                return Err(A::Error::custom("more images than there may be"));
            }
            labels.push(label);
        }
        Ok(labels)
    }
}

/// Reads the list of images of one user, and returns their number.
struct Rows<'p> {
    pixels: &'p mut Vec<u8>,
    room: usize,
}

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<usize, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of images")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
        let mut images = 0;
        while list.next_element_seed(Row(&mut *self.pixels))?.is_some() {
            if images == self.room {
                return Err(A::Error::custom("more images than there may be"));
            }
            images += 1;
        }
        Ok(images)
    }
}

/// One image: as many numbers from 0 to 1 as it has pixels.
struct Row<'p>(&'p mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {} pixels", SHAPE.features())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let needed = SHAPE.features();
        let mut found = 0;
        while let Some(pixel) = list.next_element::<f32>()? {
            if !(0.0..=1.0).contains(&pixel) {
                return Err(A::Error::custom(format!(
                    "pixel {pixel} found, 0 to 1 needed"
                )));
            }
            if found == needed {
                return Err(A::Error::custom(format!(
                    "an image of more than {needed} pixels"
                )));
            }
            // LEAF divides bytes by 255: what comes back is the byte.
            self.0.push((pixel * 255.0).round() as u8);
            found += 1;
        }
        match found == needed {
            true => Ok(()),
            false => Err(A::Error::custom(format!(
                "an image of {found} pixels, {needed} needed"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(pixel: u8) -> String {
        let number = (f64::from(pixel) / 255.0).to_string();
        format!("[{}]", vec![number; SHAPE.features()].join(", "))
    }

    fn file(a: &str, b: &str) -> String {
        format!(
            "{{\"users\": [\"a\", \"b\"], \"num_samples\": [2, 1], \"user_data\": {{\"a\": {a}, \"b\": {b}}}, \
             \"hierarchies\": []}}"
        )
    }

    fn user(pixels: &[u8], labels: &str) -> String {
        let images: Vec<String> = pixels.iter().map(|pixel| image(*pixel)).collect();
        format!("{{\"y\": {labels}, \"x\": [{}]}}", images.join(", "))
    }

    fn parse(text: &str, most: usize) -> Result<Written, Fault> {
        let mut numbering = |user: &str| (user != "nobody").then(|| u32::from(user.as_bytes()[0]));
        read(text.as_bytes(), Written::default(), most, &mut numbering)
    }

    #[test]
    fn bytes_labels_and_writers_come_back() {
        let text = file(&user(&[0, 254], "[61, 3]"), &user(&[128], "[0]"));
        let written = parse(&text, 10).unwrap();
        assert_eq!(written.labels, [61, 3, 0]);
        assert_eq!(written.owners, [97, 97, 98]);
        let first = |image: usize| written.pixels[image * 784];
        assert_eq!([first(0), first(1), first(2)], [0, 254, 128]);
        let skipped = text.replace("\"a\"", "\"nobody\"");
        assert_eq!(parse(&skipped, 10).unwrap().labels, [0]);
    }

    #[test]
    fn what_is_announced_is_read_without_the_images() {
        let text = file(&user(&[0, 254], "[61, 3]"), &user(&[128], "[0]"));
        let both = [("a".to_owned(), 2), ("b".to_owned(), 1)];
        assert_eq!(announced(text.as_bytes()), both);
        let images = text.find("user_data").unwrap();
        assert_eq!(announced(&text.as_bytes()[..images + 20]), both);
        let later = text.replace("\"num_samples\": [2, 1], ", "");
        assert!(announced(later.as_bytes()).is_empty());
        assert!(announced(&b"[[["[..]).is_empty());
    }

    #[test]
    fn what_leaf_does_not_write_is_refused_where_it_stands() {
        let refusal = |text: &str| parse(text, 3).err().expect("refused").reason;
        let good = file(&user(&[0, 254], "[61, 3]"), &user(&[128], "[0]"));
        assert_eq!(parse(&good, 3).unwrap().labels, [61, 3, 0]);
        let many = parse(&good, 2).err().unwrap().reason;
        assert_eq!(many, "more images than there may be");
        let cut = parse(&good[..5000], 3).err().unwrap();
        assert_eq!(cut.offset, 5000);
        assert!(refusal(&good.replace("[61, 3]", "[62, 3]")).starts_with("label 62 found"));
        assert!(refusal(&good.replace("[61, 3]", "[61]")).starts_with("2 images but 1 labels"));
        assert!(refusal(&good.replace("[2, 1]", "[1, 2]")).starts_with("2 images of user a"));
        let twice = good.replace("[\"a\", \"b\"]", "[\"a\", \"a\"]");
        assert!(refusal(&twice.replace("[2, 1]", "[2, 2]")).starts_with("user a is listed twice"));
        assert!(refusal(&good.replacen("[0, 0, ", "[0, ", 1)).starts_with("an image of 783"));
        assert!(refusal(&good.replacen("[0, 0, ", "[1.5, 0, ", 1)).starts_with("pixel 1.5"));
        let listed = good.replace("\"hierarchies\"", "\"users\"");
        assert_eq!(refusal(&listed), "duplicate field `users`");
        assert_eq!(refusal(&format!("{good}x")), "trailing characters");
        let deep = refusal(&"[".repeat(100_000));
        assert!(deep.starts_with("another kind of value"), "{deep}");
    }

    #[test]
    fn names_and_spaces_without_end_are_refused_before_they_are_held() {
        let endless = |start: &'static str, byte: u8| {
            let content = start.as_bytes().chain(std::io::repeat(byte));
            let mut numbering = |_: &str| None;
            let fault = read(content, Written::default(), 1, &mut numbering)
                .err()
                .unwrap();
            (fault.offset, fault.reason)
        };
        let text = (65_548, "a text of more than 65536 bytes".to_owned());
        assert_eq!(endless("{\"users\":[\"", b'a'), text);
        assert_eq!(endless("{\"user_dat", b'a').1, text.1);
        let space = "a number or a space of more than 65536 bytes";
        assert_eq!(endless("", b' '), (65_537, space.to_owned()));
        assert_eq!(endless("{\"x\":", b'1').1, space);
        assert!(announced((&b"{\"users\":[\""[..]).chain(std::io::repeat(b'a'))).is_empty());
    }
}
