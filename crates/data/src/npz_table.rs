//! `npz`: any arrays of features and labels that NumPy saved.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::npy::{self, Header, Kind};
use crate::table::{self, MOST_NUMBERS, Standard};
use crate::{DataError, DataFolder, Examples, Outline, Scale, Shape, Splits, zip_member};

const NAME: &str = "npz";
/// Bytes of one unpacked array.
const MOST_BYTES: u64 = 1 << 36;

/// Settings of arrays: `x` `[M, ..]` holds the features and `y` `[M]` or `[M, 1]` the labels.
///
/// `x` is `[M, D]`, `[M, height, width]` or `[M, channels, height, width]`, of integers or of floating-point numbers of 4
/// or 8 bytes. Bytes without a sign (`uint8`) are pixels: a model sees `byte / 255`, unless they are standardised. Labels
/// are whole numbers from 0; there is one class more than the largest. The owners are the numbers in the client's array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NpzTable {
    /// Name of the file inside the data folder.
    pub file: String,
    /// The array of features.
    #[serde(default = "x")]
    pub x: String,
    /// The array of labels.
    #[serde(default = "y")]
    pub y: String,
    /// The array `[M]` that says whose an example is, if there is one.
    #[serde(default)]
    pub client: Option<String>,
    /// Whether every feature gets mean 0 and deviation 1 over the training examples.
    #[serde(default)]
    pub standardise: bool,
    /// What tests.
    #[serde(default)]
    pub test: NpzTest,
    /// Seed of the share that is held out.
    #[serde(default)]
    pub seed: u64,
}

/// Where the test examples of arrays are from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NpzTest {
    /// Other arrays of the same file.
    Arrays(NpzArrays),
    /// The arrays of the same names of another file.
    File(String),
    /// This share of the examples, drawn at random.
    Share(f64),
}

/// The names of the arrays of one split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NpzArrays {
    /// The array of features.
    pub x: String,
    /// The array of labels.
    pub y: String,
    /// The array that says whose an example is.
    #[serde(default)]
    pub client: Option<String>,
}

impl Default for NpzTest {
    fn default() -> Self {
        Self::Share(0.2)
    }
}

fn x() -> String {
    "x".into()
}

fn y() -> String {
    "y".into()
}

impl NpzTable {
    pub(crate) fn validate(&self) -> Result<(), DataError> {
        match &self.test {
            NpzTest::Share(share) => table::check_share(NAME, *share),
            NpzTest::Arrays(arrays) if arrays.client.is_some() != self.client.is_some() => {
                let said = |client: &Option<String>| client.clone().unwrap_or("absent".into());
                Err(DataError::Setting {
                    dataset: NAME,
                    setting: "test.arrays.client",
                    found: said(&arrays.client),
                    needed: "an array if `client` is one, and none if not".into(),
                })
            }
            NpzTest::Arrays(_) | NpzTest::File(_) => Ok(()),
        }
    }

    pub(crate) fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let path = table::inside(NAME, "file", &self.file, folder)?;
        let names = NpzArrays {
            x: self.x.clone(),
            y: self.y.clone(),
            client: self.client.clone(),
        };
        let mut arrays = read(&path, &names)?;
        let count = arrays.labels.len();
        let (train, test) = match &self.test {
            NpzTest::Share(share) => table::drawn(NAME, count, *share, self.seed)?,
            other => {
                let (path, names) = match other {
                    NpzTest::File(file) => {
                        (table::inside(NAME, "test.file", file, folder)?, &names)
                    }
                    NpzTest::Arrays(test) => (path, test),
                    NpzTest::Share(_) => unreachable!("a share is drawn above"),
                };
                let more = read(&path, names)?;
                let reason = "the features of the test examples are of another shape or kind";
                arrays = arrays
                    .followed_by(more)
                    .ok_or_else(|| Fault::at(0_u64, reason).of(NAME, &path))?;
                let all = arrays.labels.len() as u32;
                ((0..count as u32).collect(), (count as u32..all).collect())
            }
        };
        let (test, train) = self.examples(arrays, &train)?.parted(&test);
        Ok(Splits {
            train: Arc::new(train),
            test: Arc::new(test),
        })
    }

    pub(crate) fn outline(&self, folder: &DataFolder) -> Result<Outline, DataError> {
        Ok(Outline::of(&self.load(folder)?))
    }

    /// The array as it lies in the file, which numbers are made of, and half of it before it last grew; labels of eight
    /// bytes.
    pub(crate) fn reading_bytes(&self, outline: &Outline) -> usize {
        outline.feature_bytes() * 3 / 2 + 8 * (outline.train() + outline.test())
    }

    fn examples(&self, arrays: Arrays, train: &[u32]) -> Result<Examples, DataError> {
        let Arrays {
            features,
            shape,
            labels,
            clients,
        } = arrays;
        let classes = usize::from(labels.iter().max().copied().unwrap_or_default()) + 1;
        let examples = match features {
            Values::Bytes(bytes) if !self.standardise => {
                Examples::new(bytes, labels, shape, classes, Scale::UNIT)?
            }
            values => {
                let mut numbers = match values {
                    Values::Bytes(bytes) => bytes.into_iter().map(f32::from).collect(),
                    Values::Numbers(numbers) => numbers,
                };
                if self.standardise {
                    let width = shape.features();
                    Standard::of(&numbers, width, train).apply(&mut numbers);
                }
                Examples::numbers(numbers, labels, shape, classes)?
            }
        };
        Ok(match clients {
            Some(clients) => examples.with_owners(clients),
            None => examples,
        })
    }
}

/// The arrays of one split.
struct Arrays {
    features: Values,
    shape: Shape,
    labels: Vec<u16>,
    clients: Option<Vec<u32>>,
}

enum Values {
    Bytes(Vec<u8>),
    Numbers(Vec<f32>),
}

impl Arrays {
    /// These, then the `others`, if they are of one kind and shape.
    fn followed_by(self, others: Self) -> Option<Self> {
        let features = match (self.features, others.features) {
            (Values::Bytes(first), Values::Bytes(second)) => {
                Values::Bytes([first, second].concat())
            }
            (Values::Numbers(first), Values::Numbers(second)) => {
                Values::Numbers([first, second].concat())
            }
            _ => return None,
        };
        let clients = self.clients.zip(others.clients);
        (self.shape == others.shape).then_some(Self {
            features,
            shape: self.shape,
            labels: [self.labels, others.labels].concat(),
            clients: clients.map(|(first, second)| [first, second].concat()),
        })
    }
}

fn read(path: &Path, names: &NpzArrays) -> Result<Arrays, DataError> {
    let file = File::open(path).map_err(DataError::io("read", path))?;
    let mut file = BufReader::new(file);
    let mut array = |name: &str| {
        let entry = format!("{name}.npy");
        let content = zip_member::read(&mut file, &entry, MOST_BYTES);
        content.map_err(|fault| fault.of(NAME, path))
    };
    let (x, y) = (array(&names.x)?, array(&names.y)?);
    let client = names.client.as_deref().map(&mut array).transpose()?;
    let within = |name: &str| {
        let entry = path.join(format!("{name}.npy"));
        move |fault: Fault| fault.of(NAME, entry)
    };
    let (features, shape, count) = features(x).map_err(within(&names.x))?;
    let labels = whole(&y, count, u16::MAX - 1).map_err(within(&names.y))?;
    let clients = client.zip(names.client.as_deref());
    let clients = clients.map(|(array, name)| whole(&array, count, u32::MAX).map_err(within(name)));
    Ok(Arrays {
        features,
        shape,
        labels,
        clients: clients.transpose()?,
    })
}

/// The features in the array `file`, the shape of an example, and how many there are.
fn features(file: Vec<u8>) -> Result<(Values, Shape, usize), Fault> {
    let header = npy::parse(&file)?;
    let (shape, count) = example_shape(&header).map_err(|reason| Fault::at(0_u64, reason))?;
    if header.kind == Kind::Unsigned(1) {
        let mut bytes = file;
        bytes.drain(..header.length);
        return Ok((Values::Bytes(bytes), shape, count));
    }
    let mut numbers = Vec::with_capacity(header.elements());
    for (index, value) in header.numbers(&file).enumerate() {
        let number = value as f32;
        if !number.is_finite() {
            let offset = header.length + index * header.kind.size();
            return Err(Fault::at(
                offset,
                format!("feature {value} is no finite number"),
            ));
        }
        numbers.push(number);
    }
    Ok((Values::Numbers(numbers), shape, count))
}

/// The shape of one example in an array of them, and how many there are.
fn example_shape(header: &Header) -> Result<(Shape, usize), String> {
    let (count, shape) = match header.shape[..] {
        [count, width] => (count, Shape::flat(width)),
        [count, height, width] => {
            let channels = 1;
            (
                count,
                Shape {
                    channels,
                    height,
                    width,
                },
            )
        }
        [count, channels, height, width] => (
            count,
            Shape {
                channels,
                height,
                width,
            },
        ),
        _ => {
            let found = &header.shape;
            return Err(format!(
                "features of shape {found:?} found, 2 to 4 dimensions needed"
            ));
        }
    };
    let elements = header.elements();
    if elements == 0 || elements > MOST_NUMBERS || count > u32::MAX as usize {
        let found = &header.shape;
        return Err(format!(
            "shape {found:?} found, 1 to {MOST_NUMBERS} numbers needed"
        ));
    }
    Ok((shape, count))
}

/// The whole numbers from 0 to `most` in the array `file` of `count` elements.
fn whole<T>(file: &[u8], count: usize, most: T) -> Result<Vec<T>, Fault>
where
    T: TryFrom<u64> + Into<f64> + Copy,
{
    let header = npy::parse(file)?;
    if !matches!(header.shape[..], [found] | [found, 1] if found == count) {
        let found = &header.shape;
        return Err(Fault::at(
            0_u64,
            format!("shape {found:?} found, [{count}] needed"),
        ));
    }
    let most: f64 = most.into();
    let number = |(index, value): (usize, f64)| {
        let fits = value.fract() == 0.0 && (0.0..=most).contains(&value);
        let number = fits.then(|| T::try_from(value as u64).ok()).flatten();
        number.ok_or_else(|| {
            let offset = header.length + index * header.kind.size();
            Fault::at(
                offset,
                format!("{value} found, a whole number from 0 to {most} needed"),
            )
        })
    };
    header.numbers(file).enumerate().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zip_member::tests::archive;

    fn array(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
        let dictionary =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((dictionary.len() as u16).to_le_bytes());
        bytes.extend(dictionary.as_bytes());
        bytes.extend(elements);
        bytes
    }

    fn load(json: &str, entries: &[(&str, &[u8])]) -> Result<Splits, DataError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.npz"), archive(entries)).unwrap();
        let settings: NpzTable = serde_json::from_str(json).unwrap();
        settings.load(&DataFolder::new(folder.path()))
    }

    #[test]
    fn pixels_labels_and_clients_are_read() {
        let pixels = array("|u1", "(4, 2, 3)", &(0..24).collect::<Vec<u8>>());
        let labels: Vec<u8> = [3_i64, 0, 1, 1]
            .iter()
            .flat_map(|l| l.to_le_bytes())
            .collect();
        let labels = array("<i8", "(4,)", &labels);
        let clients = array("|u1", "(4,)", &[9, 9, 4, 4]);
        let entries = [
            ("x.npy", &pixels[..]),
            ("y.npy", &labels),
            ("who.npy", &clients),
        ];
        let json = r#"{"file": "a.npz", "client": "who",
            "test": {"arrays": {"x": "x", "y": "y", "client": "who"}}}"#;
        let splits = load(json, &entries).unwrap();
        let train = &splits.train;
        assert_eq!((train.classes(), train.width(), train.len()), (4, 6, 4));
        assert_eq!(train.labels(), [3, 0, 1, 1]);
        assert_eq!(train.owners(), Some([9, 9, 4, 4].as_slice()));
        assert_eq!(train.row(3)[5], 23.0 / 255.0);
        assert_eq!(splits.test, splits.train);
        let share = r#"{"file": "a.npz", "test": {"share": 0.25}, "standardise": true}"#;
        let splits = load(share, &entries).unwrap();
        assert_eq!((splits.train.len(), splits.test.len()), (3, 1));
        assert!(splits.train.bytes().is_none());
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused_with_their_names() {
        let numbers: Vec<u8> = [1.0_f32, f32::NAN]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect();
        let x = array("<f4", "(2, 1)", &numbers);
        let y = array("|u1", "(2,)", &[0, 1]);
        let json = r#"{"file": "a.npz"}"#;
        let refusal = |x: &[u8], y: &[u8]| {
            load(json, &[("x.npy", x), ("y.npy", y)])
                .unwrap_err()
                .to_string()
        };
        let nan = refusal(&x, &y);
        assert!(
            nan.contains("x.npy: at byte") && nan.contains("NaN is no finite"),
            "{nan}"
        );
        let x = array("|u1", "(2, 1)", &[0, 1]);
        let three = refusal(&x, &array("|u1", "(3,)", &[0; 3]));
        assert!(three.contains("shape [3] found, [2] needed"), "{three}");
        let half = array(
            "<f4",
            "(2,)",
            &[0.5_f32, 1.0].map(f32::to_le_bytes).concat(),
        );
        assert!(refusal(&x, &half).contains("0.5 found, a whole number"));
        let flat = array("|u1", "(2,)", &[0, 1]);
        assert!(refusal(&flat, &y).contains("2 to 4 dimensions"));
        let absent = load(r#"{"file": "a.npz", "y": "t"}"#, &[("x.npy", &x)]).unwrap_err();
        assert!(
            absent.to_string().contains("no entry t.npy among x.npy"),
            "{absent}"
        );
    }
}
