//! Examples as pieces of bytes, from which another process of the same program rebuilds them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Examples, Features, Input, Scale, Splits, Windows};
use crate::files::digest::Kept;

/// What is known of examples besides their numbers.
#[derive(Serialize, Deserialize)]
struct ExamplesHeader {
    input: Input,
    classes: usize,
    label_names: Option<Vec<String>>,
    owner_names: Option<Vec<String>>,
    has_owners: bool,
    stored: Stored,
}

/// How their features are stored.
#[derive(Serialize, Deserialize)]
enum Stored {
    Bytes(Vec<Scale>),
    Numbers,
    Tokens,
}

impl Splits {
    /// Hands the examples to `send` in pieces, from which [`Splits::from_pieces`] rebuilds these splits. The text of
    /// windows is sent once.
    pub fn to_pieces(&self, mut send: impl FnMut(&[u8])) {
        let all = [
            Some(&self.train),
            Some(&self.test),
            self.validation.as_ref(),
        ];
        let all: Vec<&Examples> = all.into_iter().flatten().map(AsRef::as_ref).collect();
        let headers: Vec<ExamplesHeader> = all.iter().map(|examples| examples.header()).collect();
        send(&serde_json::to_vec(&headers).expect("headers have text keys"));
        if let Features::Tokens(windows) = self.train.features() {
            send(bytemuck::cast_slice(windows.text()));
        }
        for examples in all {
            examples.send_values(&mut send);
        }
    }

    /// The splits whose pieces `receive` gives, in their order.
    ///
    /// # Panics
    /// If they are not the pieces of splits.
    pub fn from_pieces(mut receive: impl FnMut() -> Vec<u8>) -> Self {
        let headers: Vec<ExamplesHeader> =
            serde_json::from_slice(&receive()).expect("the first piece has the headers");
        let is_text = |header: &ExamplesHeader| matches!(header.stored, Stored::Tokens);
        let text = match headers.iter().any(is_text) {
            true => numbers(receive()),
            false => Vec::new(),
        };
        let text = Arc::new(text);
        let examples = |header| Arc::new(Examples::of_pieces(header, &text, &mut receive));
        let mut all = headers.into_iter().map(examples);
        let mut next = || all.next();
        Self {
            train: next().expect("there are training examples"),
            test: next().expect("there are test examples"),
            validation: next(),
        }
    }
}

impl Examples {
    /// Hands the examples to `send` in a few pieces of bytes. [`Examples::from_pieces`] rebuilds them without names and
    /// text; an [`ExamplesBuilder`](crate::ExamplesBuilder) adds these at the end.
    pub fn to_pieces(&self, mut send: impl FnMut(&[u8])) {
        let header = ExamplesHeader {
            label_names: None,
            owner_names: None,
            ..self.header()
        };
        send(&serde_json::to_vec(&header).expect("headers have text keys"));
        self.send_values(&mut send);
    }

    /// The examples whose pieces `receive` gives, in their order.
    ///
    /// # Panics
    /// If they are not the pieces of examples.
    pub fn from_pieces(mut receive: impl FnMut() -> Vec<u8>) -> Self {
        let header = serde_json::from_slice(&receive()).expect("the first piece has the header");
        Self::of_pieces(header, &Arc::default(), &mut receive)
    }

    fn send_values(&self, send: &mut impl FnMut(&[u8])) {
        send(match self.features() {
            Features::Bytes { values, .. } => values,
            Features::Numbers(values) => bytemuck::cast_slice(values),
            Features::Tokens(windows) => bytemuck::cast_slice(&windows.starts),
        });
        send(bytemuck::cast_slice(&self.labels));
        if let Some(owners) = &self.owners {
            send(bytemuck::cast_slice(owners));
        }
    }

    fn header(&self) -> ExamplesHeader {
        ExamplesHeader {
            input: self.input,
            classes: self.classes,
            label_names: self.label_names.as_deref().cloned(),
            owner_names: self.owner_names.as_deref().cloned(),
            has_owners: self.owners.is_some(),
            stored: match &self.features {
                Features::Bytes { scales, .. } => Stored::Bytes(scales.clone()),
                Features::Numbers(_) => Stored::Numbers,
                Features::Tokens(_) => Stored::Tokens,
            },
        }
    }

    fn of_pieces(
        header: ExamplesHeader,
        text: &Arc<Vec<u16>>,
        receive: &mut impl FnMut() -> Vec<u8>,
    ) -> Self {
        let features = receive();
        let features = match header.stored {
            Stored::Bytes(scales) => Features::Bytes {
                values: features,
                scales,
            },
            Stored::Numbers => Features::Numbers(numbers(features)),
            Stored::Tokens => Features::Tokens(Windows {
                text: text.clone(),
                starts: numbers(features),
                length: header.input.features(),
            }),
        };
        Self {
            features,
            labels: numbers(receive()),
            input: header.input,
            classes: header.classes,
            label_names: header.label_names.map(Arc::new),
            owners: header.has_owners.then(|| numbers(receive())),
            owner_names: header.owner_names.map(Arc::new),
            digest: Kept::default(),
        }
    }
}

/// `bytes` as numbers.
pub(super) fn numbers<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(bytes: Vec<u8>) -> Vec<T> {
    bytemuck::pod_collect_to_vec(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn sent_and_received(splits: &Splits) -> Splits {
        let mut pieces = Vec::new();
        splits.to_pieces(|piece| pieces.push(piece.to_vec()));
        let mut pieces = pieces.into_iter();
        let received = Splits::from_pieces(|| pieces.next().unwrap());
        assert_eq!(pieces.next(), None, "every piece is asked for");
        received
    }

    fn expect_same(splits: &Splits) -> Splits {
        let received = sent_and_received(splits);
        assert_eq!(received.train, splits.train);
        assert_eq!(received.test, splits.test);
        assert_eq!(received.validation, splits.validation);
        assert_eq!(received.train.digest(), splits.train.digest());
        received
    }

    #[test]
    fn bytes_with_names_and_owners_arrive_as_they_were() {
        let shape = Shape::flat(2);
        let of = |bytes: Vec<u8>, labels: Vec<u16>| {
            Examples::new(
                bytes,
                labels,
                shape,
                2,
                Scale::standardising(0.1307, 0.3081),
            )
            .unwrap()
        };
        let names = Arc::new(vec!["ann".to_owned(), "ben".to_owned()]);
        let train = of(vec![1, 2, 3, 255, 0, 7], vec![0, 1, 1])
            .with_label_names(&["no", "yes"])
            .with_owners(vec![1, 0, 1])
            .with_owner_names(names);
        expect_same(&Splits {
            train: Arc::new(train),
            test: Arc::new(of(vec![9, 8], vec![1])),
            validation: Some(Arc::new(of(Vec::new(), Vec::new()))),
        });
    }

    #[test]
    fn gathered_examples_of_other_processes_have_names_and_text_again() {
        let text = Arc::new(vec![0, 1, 2, 1, 0, 2, 2]);
        let names = Arc::new(vec!["ann".to_owned(), "ben".to_owned()]);
        let train = Examples::windows(text, vec![0, 4, 1], 2, 3).unwrap();
        let train = train
            .with_label_names(&["a", "b", "c"])
            .with_owners(vec![1, 0, 1])
            .with_owner_names(names);
        let mut builder = crate::ExamplesBuilder::of(3);
        train.each_piece(4, &mut |piece| {
            let mut sent = Vec::new();
            piece.to_pieces(|bytes| sent.push(bytes.to_vec()));
            let mut sent = sent.into_iter();
            builder.push(&Examples::from_pieces(|| sent.next().unwrap()));
        });
        let received = builder.finish(&train.selected(&[]));
        assert_eq!(received, train);
        assert_eq!(received.owner_names(), train.owner_names());
    }

    #[test]
    fn numbers_arrive_with_their_bits() {
        let of = |numbers: Vec<f32>| {
            let labels = vec![0; numbers.len()];
            Arc::new(Examples::numbers(numbers, labels, Shape::flat(1), 1).unwrap())
        };
        expect_same(&Splits {
            train: of(vec![0.1, -0.0, f32::MIN_POSITIVE / 2.0]),
            test: of(vec![1e30]),
            validation: None,
        });
    }

    #[test]
    fn windows_go_on_to_share_one_text() {
        let text = Arc::new(vec![0, 1, 2, 1, 0, 2, 2]);
        let of = |starts| Arc::new(Examples::windows(text.clone(), starts, 2, 3).unwrap());
        let received = expect_same(&Splits {
            train: of(vec![0, 4]),
            test: of(vec![2]),
            validation: None,
        });
        let windows = received.windows().unwrap();
        assert_eq!(windows.starts(), [0, 4, 2]);
        match received.test.features() {
            Features::Tokens(of_test) => assert!(Arc::ptr_eq(windows.text(), of_test.text())),
            other => panic!("{other:?}"),
        }
    }
}
