//! Tests of conversions: small archives in the layout of NIST's, and what LEAF's steps with Pillow make of them
//! (`tests/fixtures/femnist/make.py`).

use super::*;
use crate::datasets::Dataset;
use crate::formats::npz::in_array;
use crate::formats::zip_member::tests::archive;
use crate::{DatasetSummary, Examples, Femnist, Input};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/femnist")
        .join(name)
}

fn fixtures(seed: u64) -> FemnistArchives {
    FemnistArchives {
        by_class: fixture("by_class.zip"),
        by_write: fixture("by_write.zip"),
        seed,
    }
}

fn convert(archives: &FemnistArchives, folder: &Path) -> Result<FemnistConversion, DataError> {
    archives.convert(&DataFolder::new(folder), &mut |progress| {
        assert!((0.0..=1.0).contains(&progress.share));
    })
}

/// Writer, class and pixels of an image.
type Image = (u32, u16, Vec<u8>);

fn images(examples: &Examples) -> Vec<Image> {
    let pixels = examples.bytes().unwrap().chunks_exact(784);
    let owners = examples.owners().unwrap();
    let tagged = owners.iter().zip(examples.labels()).zip(pixels);
    let image = |((owner, label), pixels): ((&u32, &u16), &[u8])| (*owner, *label, pixels.to_vec());
    tagged.map(image).collect()
}

/// The array `name` of what LEAF makes of the archives.
fn expected(name: &str) -> Vec<u32> {
    in_array("femnist", &fixture("expected.npz"), name, |mut array| {
        let mut numbers = Vec::new();
        let count = array.header().elements();
        array.each(count, |number| {
            numbers.push(number as u32);
            Ok(())
        })?;
        Ok(numbers)
    })
    .unwrap()
}

#[test]
fn images_classes_and_writers_are_those_of_leaf_with_pillow() {
    let folder = tempfile::tempdir().unwrap();
    let made = convert(&fixtures(0), folder.path()).unwrap();
    let found = [made.train, made.test, made.writers, made.classes];
    assert_eq!(found, [74, 11, 6, 9]);
    let rest = [made.unlabelled, made.lone, made.ambiguous];
    assert_eq!(rest, [2, 1, 2]);
    let splits = Femnist::default()
        .load(&DataFolder::new(folder.path()))
        .unwrap();
    let mut found = [images(&splits.train), images(&splits.test)].concat();
    let pixels: Vec<u8> = expected("x").into_iter().map(|pixel| pixel as u8).collect();
    let tags = expected("client").into_iter().zip(expected("y"));
    let rows = tags.zip(pixels.chunks_exact(784));
    let mut needed: Vec<Image> = rows
        .map(|((owner, label), pixels)| (owner, label as u16, pixels.to_vec()))
        .collect();
    found.sort();
    needed.sort();
    assert_eq!(found, needed);
}

#[test]
fn every_writer_has_nine_images_of_ten_for_training_and_one_at_least_for_either() {
    assert_eq!([2, 3, 9, 10, 11, 226].map(training), [1, 2, 8, 9, 9, 203]);
    let folder = tempfile::tempdir().unwrap();
    convert(&fixtures(0), folder.path()).unwrap();
    let splits = Femnist::default()
        .load(&DataFolder::new(folder.path()))
        .unwrap();
    let sizes = |examples: &Examples| {
        let owners = examples.owners().unwrap();
        assert!(owners.is_sorted());
        let runs = owners.chunk_by(|a, b| a == b);
        runs.map(<[u32]>::len).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&splits.train), [12, 7, 18, 9, 1, 27]);
    assert_eq!(sizes(&splits.test), [2, 1, 2, 2, 1, 3]);
}

#[test]
fn the_first_writers_alone_are_read() {
    let folder = tempfile::tempdir().unwrap();
    convert(&fixtures(0), folder.path()).unwrap();
    let data = DataFolder::new(folder.path());
    let of = |writers| Femnist { writers }.load(&data).unwrap();
    let (all, first) = (of(None), of(Some(2)));
    for (all, first) in [(all.train, first.train), (all.test, first.test)] {
        let all = images(&all).into_iter().filter(|image| image.0 < 2);
        assert_eq!(images(&first), all.collect::<Vec<_>>());
    }
    let summary = Femnist::default().summary(&data).unwrap();
    assert_eq!(
        summary.input(),
        Input::Numbers(crate::datasets::femnist::SHAPE)
    );
}

#[test]
fn the_same_archives_and_seed_give_the_same_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = |seed| {
        let made = convert(&fixtures(seed), folder.path()).unwrap();
        fs::read(made.path).unwrap()
    };
    let first = file(0);
    assert_eq!(file(0), first);
    assert_ne!(file(1), first);
    let left = fs::read_dir(folder.path().join("femnist")).unwrap();
    assert_eq!(left.count(), 1);
}

#[test]
fn archives_that_are_not_nists_are_refused_and_leave_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let before = fs::read(convert(&fixtures(0), folder.path()).unwrap().path).unwrap();
    let good = fixtures(0);
    let refusal = |by_class: &Path, by_write: &Path| {
        let archives = FemnistArchives {
            by_class: by_class.into(),
            by_write: by_write.into(),
            seed: 0,
        };
        convert(&archives, folder.path()).unwrap_err().to_string()
    };
    let of_files = |name: &str, files: &[(&str, &[u8])]| {
        let path = folder.path().join(name);
        fs::write(&path, archive(files)).unwrap();
        path
    };
    let swapped = refusal(&good.by_write, &good.by_class);
    let told = "no images by_write/PART/WRITER/KIND/IMAGE.png but `by_class/`; is it the right";
    assert!(swapped.contains(told), "{swapped}");
    let twice = refusal(&good.by_write, &good.by_write);
    assert!(twice.contains("no images by_class/CLASS/"), "{twice}");
    let whole = fs::read(&good.by_write).unwrap();
    let cut = folder.path().join("cut.zip");
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let short = refusal(&good.by_class, &cut);
    assert!(short.contains("cut.zip: at byte "), "{short}");
    assert!(short.contains("one that is cut short"), "{short}");
    let text: (&str, &[u8]) = ("by_write/hsf_0/f0/c0/a.png", b"text");
    let texts = of_files("texts.zip", &[text]);
    let classes = of_files("classes.zip", &[("by_class/4a/hsf_0/a.png", b"text")]);
    let no_image = refusal(&classes, &texts);
    assert!(
        no_image.contains("texts.zip/by_write/hsf_0/f0/c0/a.png"),
        "{no_image}"
    );
    assert!(no_image.contains("no PNG image: "), "{no_image}");
    let apart = refusal(&good.by_class, &texts);
    assert!(apart.contains("of the 1 images of "), "{apart}");
    let long = of_files("long.zip", &[(text.0, &vec![0; 2 << 20])]);
    let bomb = refusal(&classes, &long);
    assert!(
        bomb.contains("unpacks to 2097152 bytes, at most 1048576"),
        "{bomb}"
    );
    let absent = refusal(Path::new("absent.zip"), &good.by_write);
    assert!(absent.starts_with("cannot read absent.zip: "), "{absent}");
    let after = fs::read(folder.path().join("femnist/femnist.npz")).unwrap();
    assert_eq!(after, before);
    let left = fs::read_dir(folder.path().join("femnist")).unwrap();
    assert_eq!(left.count(), 1);
}

#[test]
fn converted_images_come_in_pieces_and_are_summed_up_without_their_pixels() {
    let folder = tempfile::tempdir().unwrap();
    convert(&fixtures(0), folder.path()).unwrap();
    let data = DataFolder::new(folder.path());
    for settings in [Femnist::default(), Femnist { writers: Some(1) }] {
        let whole = settings.load(&data).unwrap();
        assert_eq!(settings.summary(&data).unwrap(), DatasetSummary::of(&whole));
        for (most, pieces) in [(1, whole.train.len()), (usize::MAX, 1)] {
            let mut seen = Vec::new();
            let left = settings.load_in_pieces(&data, most, &mut |piece| seen.push(piece.clone()));
            let left = left.unwrap();
            assert_eq!(seen.len(), pieces);
            let mut builder = crate::ExamplesBuilder::of(whole.train.len());
            seen.iter().for_each(|piece| builder.push(piece));
            assert_eq!(builder.finish(&left.train), *whole.train);
            assert_eq!(left.test, whole.test);
        }
    }
}

#[test]
fn damage_of_a_converted_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = convert(&fixtures(0), folder.path()).unwrap().path;
    let whole = fs::read(&path).unwrap();
    let mut bent = whole.clone();
    let place = whole.len() / 2;
    bent[place] ^= 0x41;
    fs::write(&path, bent).unwrap();
    let data = DataFolder::new(folder.path());
    let refusal = Femnist::default().load(&data).unwrap_err().to_string();
    assert!(
        refusal.contains("femnist.npz/x_train.npy: at byte "),
        "{refusal}"
    );
}
