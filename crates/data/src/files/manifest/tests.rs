//! Tests of manifests.

use super::*;
use std::path::Component;

#[test]
fn every_embedded_manifest_parses_and_is_complete() {
    for (source, manifest) in SOURCES.iter().zip(manifests()) {
        assert_eq!(&toml::from_str::<Manifest>(source).unwrap(), manifest);
        let files = manifest.files.iter();
        let archives = manifest.archives.iter();
        let urls = files.clone().map(|file| &file.urls);
        for url in urls
            .chain(archives.clone().map(|archive| &archive.urls))
            .flatten()
        {
            assert!(url.starts_with("https://"), "{url}");
        }
        let by_hand = files.clone().any(ManifestFile::is_by_hand) || files.len() == 0;
        assert_eq!(by_hand, manifest.by_hand.is_some(), "{}", manifest.name);
        let known = files
            .clone()
            .flat_map(|file| [&file.sha256, &file.decompressed_sha256]);
        let known = known
            .chain(archives.map(|archive| &archive.sha256))
            .flatten();
        let copies = files.flat_map(|file| &file.copies).map(|copy| &copy.sha256);
        for sum in known.chain(copies) {
            assert_eq!(sum.len(), 64);
            assert!(sum.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        }
    }
}

#[test]
fn what_a_manifest_refers_to_is_there() {
    for manifest in manifests() {
        assert_eq!(manifest.with_needed().count(), 1 + manifest.needs.len());
        for file in &manifest.files {
            assert_eq!(manifest.archive_of(file).is_some(), file.member.is_some());
            let packed = Packing::of(Path::new(&file.name)) != Packing::Plain;
            assert_eq!(packed, file.decompressed_bytes.is_some(), "{}", file.name);
        }
    }
}

#[test]
fn no_manifest_leaves_its_folder() {
    for manifest in manifests() {
        let files = manifest.files.iter().map(|file| &file.name);
        let archives = manifest.archives.iter().map(|archive| &archive.name);
        for name in files.chain(archives).chain([&manifest.folder]) {
            let mut parts = Path::new(name).components();
            assert!(!name.is_empty() && !name.contains('\\'), "{name}");
            assert!(
                parts.all(|part| matches!(part, Component::Normal(_))),
                "{name}"
            );
        }
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let error = Manifest::by_name("fashion-mnist").unwrap_err().to_string();
    assert_eq!(
        error,
        "no dataset to fetch is called `fashion-mnist`, there are mnist, fashion_mnist, cifar10, cifar100, \
         qmnist, femnist, leukemia_a2, \
         shakespeare, reddit, cwru; \
         did you mean `fashion_mnist`?"
    );
    assert!(
        !Manifest::by_name("weather")
            .unwrap_err()
            .to_string()
            .contains("did you mean")
    );
}

#[test]
fn every_manifest_of_the_repository_is_embedded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets");
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().path());
    let mut there: Vec<String> = names
        .filter(|path| path.extension().is_some_and(|kind| kind == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    there.sort_unstable();
    let mut embedded: Vec<&str> = super::names().collect();
    embedded.sort_unstable();
    assert_eq!(there, embedded);
}
