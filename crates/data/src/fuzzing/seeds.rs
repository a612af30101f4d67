//! Files that the fuzz targets begin with: small ones that are right, of every kind that a parser reads.

use std::fs;
use std::io;
use std::path::Path;

use super::*;
use crate::files::packing;
use crate::formats::mat5::tests as mat5_file;
use crate::formats::npy::tests as npy_file;
use crate::formats::zip_member::tests as zip;

/// A parser and the files that it begins with.
type Target = (&'static str, fn(&[u8]) -> bool, Vec<Vec<u8>>);

fn targets() -> [Target; 15] {
    [
        ("idx", idx, idx_files()),
        ("cifar", cifar, vec![vec![3; 3073], vec![3; 2 * 3074]]),
        ("packed", packed, packed_files()),
        (
            "tar",
            tar,
            vec![tar_file(&["a"]), tar_file(&["b", "c/d", "a"])],
        ),
        ("npz", npz, npz_files()),
        ("npy", npy, npy_files()),
        ("csv", csv, texts(&CSV)),
        ("leaf", leaf, leaf_files()),
        ("leukemia", leukemia, texts(&LEUKEMIA)),
        ("leukemia_cache", leukemia_cache, vec![matrix_cache_file()]),
        ("mat5", mat5, mat5_files()),
        ("shakespeare", shakespeare, texts(&SHAKESPEARE)),
        ("reddit_dump", reddit_dump, texts(&REDDIT_DUMP)),
        ("reddit_leaf", reddit_leaf, texts(&REDDIT_LEAF)),
        ("reddit_cache", reddit_cache, vec![cache_file()]),
    ]
}

const CSV: [&str; 5] = [
    "length,kind,width\n1.5,b,2\n2.5,a,-4e-2\n",
    "\"a, b\",1,2,3\r\n\"c \"\"d\"\"\",4,5,6\r\n",
    "1,2\n3,4",
    "\u{feff}\"x\ny\",1,2\r\n\r\n\n\"z\",2,3",
    "a,1,red,NA\nb,2,blue,5\na,?,,6\n",
];

const LEUKEMIA: [&str; 3] = [
    "\"a\"\t\"b\"\t\"c\"\n\"g\"\t1\t2\t3\n\"h\"\t4\t5\t6e-1\n",
    "gene\ta\tb\r\ng\t-1.5\t2\r\n\nh\t4\t5\r\n",
    "\"GSE\"\t\"Condition\"\n\"a\"\t\"G\"\t\"CASE\"\n\"b\"\t\"G\"\t\"CONTROL\"\n",
];

const SHAKESPEARE: [&str; 3] = [
    "header\n\n\nTHE SONNETS\n\nby William Shakespeare\n\n  From\n\n\n\nA PLAY, IN BRIEF\n\n\nby William Shakespeare\n\n  \
     FIRST LORD. Who's  there?\n    Speak,\n    I say.\n  Page. It is\n    only\n    me.\n  first lord. Good.\n",
    "header\n\n\nSONNETS\n\nby William Shakespeare\n\n\n\n\nTHE COMEDY OF ERRORS\n\n\nby William Shakespeare\n\nACT I. Here\n\
     DUKE. Well\nwe\nare\n<<NOTICE>>\nAEGEON. Proceed,\nSolinus,\nto procure\nmy fall.\n",
    "First Citizen:\nBefore we\nspeak.\n\nAll:\nSpeak.\n\n\nFirst Citizen:\nYou  are\n",
];

const REDDIT_DUMP: [&str; 3] = [
    "{\"id\": \"c1\", \"author\": \"someone\", \"body\": \"I don't know, 1,000.50 at 10:30... \\\"so\\\"\\n\"}\n\
     {\"author\": \"AutoModerator\", \"body\": \"x\"}\n\n{\"author\": null}\n",
    "{\"author\": \"b\\u00e9\", \"body\": \"[see](http://a.b/c?d=e) www.x.org/y, /u/some-one and r/rust; e-mail\"}\n",
    "{\"author\": \"c\", \"body\": \"A &amp; B &lt;3 &#39;x&#x27; &nbsp; &quot; caf\\u00e9 \\ud83d\\ude00 &unknown;\"}",
];

const REDDIT_LEAF: [&str; 2] = [
    "{\"users\": [\"7\", \"8\"], \"num_samples\": [2, 0], \"user_data\": {\"7\": {\"y\": [{\"target_tokens\": [[\"x\"]]}], \
     \"x\": [[[\"<BOS>\", \"so\", \"it\"], [\"goes\", \"<EOS>\", \"<PAD>\"]], \"plain  text\"]}, \"8\": {\"x\": []}}}",
    "{\"users\": [], \"num_samples\": [], \"user_data\": {}, \"a\": [true, false, null, -1.5e3, \"\\u00e9\"]}",
];

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn idx_files() -> Vec<Vec<u8>> {
    vec![
        vec![0, 0, 8, 1, 0, 0, 0, 2, 7, 9],
        [
            &[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2],
            &[1; 4][..],
        ]
        .concat(),
        vec![0, 0, 12, 2, 0, 0, 0, 1, 0, 0, 0, 1, 255, 0, 0, 1],
    ]
}

/// Of each format two streams in a row, and a long one of few bytes.
fn packed_files() -> Vec<Vec<u8>> {
    let formats = [Packing::Gzip, Packing::Bzip2, Packing::Xz, Packing::Zstd];
    let with_choice = |(choice, packing): (u8, &Packing)| {
        let long: Vec<u8> = (0..6000_u32).map(|place| (place % 251 / 7) as u8).collect();
        [
            packing::tests::twice(*packing),
            packing::tests::stream(*packing, &long),
        ]
        .map(|stream| [&[choice], stream.as_slice()].concat())
    };
    (0..).zip(&formats).flat_map(with_choice).collect()
}

fn tar_file(names: &[&str]) -> Vec<u8> {
    let mut builder = ::tar::Builder::new(Vec::new());
    for name in names {
        let mut header = ::tar::Header::new_ustar();
        header.set_size(name.len() as u64);
        builder
            .append_data(&mut header, name, name.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap()
}

fn npy_files() -> Vec<Vec<u8>> {
    let file = |descr, shape, bytes| {
        let dictionary =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        npy_file::file(&dictionary, &vec![1; bytes])
    };
    let mut second = file("<f8", "(1,)", 8);
    second.splice(6..10, [2, 0, second[8], second[9], 0, 0]);
    vec![
        file("|u1", "(3,)", 3),
        file("<f4", "(2, 3)", 24),
        file(">i2", "(2, 1, 2)", 8),
        file("<i8", "()", 8),
        second,
    ]
}

/// An archive whose only entry is deflated, one whose array is stored, and one with sizes of 64 bits.
fn npz_files() -> Vec<Vec<u8>> {
    let arrays = npy_files();
    let plain = zip::archive(&[("x.npy", &arrays[1])]);
    let stored = zip::archive(&[("y.npy", &arrays[0]), ("x.npy", &arrays[1])]);
    let mut wide = plain.clone();
    let list = wide
        .windows(4)
        .position(|bytes| bytes == b"PK\x01\x02")
        .unwrap();
    let sizes = [20..24, 24..28].map(|field| {
        let field = list + field.start..list + field.end;
        let size = wide[field.clone()].to_vec();
        wide[field].fill(0xff);
        size
    });
    let [packed, unpacked] = sizes;
    let extra = [&[1, 0, 16, 0], &unpacked[..], &[0; 4], &packed, &[0; 4]].concat();
    wide[list + 30] = extra.len() as u8;
    let end = wide.len() - 22;
    wide[end + 12] += extra.len() as u8;
    wide.splice(end..end, extra);
    vec![plain, stored, wide]
}

fn leaf_files() -> Vec<Vec<u8>> {
    let image = |pixel: &str| format!("[{}]", vec![pixel; 784].join(","));
    let user = |images: &[&str], labels: &str| {
        let images: Vec<String> = images.iter().map(|pixel| image(pixel)).collect();
        format!("{{\"y\": {labels}, \"x\": [{}]}}", images.join(", "))
    };
    let one = user(&["0"], "[61]");
    let two = user(&["1", "0.5"], "[0, 3]");
    let empty = "{\"x\": [], \"y\": []}";
    [
        format!("{{\"users\": [\"a\"], \"num_samples\": [0], \"user_data\": {{\"a\": {empty}}}}}"),
        format!("{{\"users\": [\"a\"], \"num_samples\": [1], \"user_data\": {{\"a\": {one}}}}}"),
        format!(
            "{{\"users\": [\"\", \"a\"], \"num_samples\": [1, 2], \"user_data\": {{\"\": {one}, \"a\": {two}}}, \"h\": [{{}}]}}"
        ),
    ]
    .map(String::into_bytes)
    .into()
}

fn mat5_files() -> Vec<Vec<u8>> {
    let doubles = mat5_file::matrix(9, &mat5_file::doubles());
    let bytes = mat5_file::matrix(1, &[1, 255, 127]);
    vec![
        mat5_file::file(&[mat5_file::zlib(&doubles), doubles.clone()]),
        mat5_file::file(&[mat5_file::element(1, &[7; 9]), bytes]),
        mat5_file::big_endian(),
    ]
}

/// Two samples of three genes.
fn matrix_cache_file() -> Vec<u8> {
    let counts = [2_u64, 3, 4].map(u64::to_le_bytes).concat();
    let values = [1.5_f32, 2.0, -3.0, 4.0, 5.0, 6.5].map(f32::to_le_bytes);
    [&counts, &b"a\nb\n"[..], &values.concat()].concat()
}

/// Two comments to train with and one to test with, the key and the sum left to the target.
fn cache_file() -> Vec<u8> {
    let counts: [u64; 5] = [3, 2, 1, 1, 9];
    let mut file: Vec<u8> = counts
        .iter()
        .flat_map(|count| count.to_le_bytes())
        .collect();
    for (tokens, numbers) in [(&[4_u16, 5, 8][..], &[2_u32, 1, 0, 7][..]), (&[6], &[1, 7])] {
        file.extend(tokens.iter().flat_map(|token| token.to_le_bytes()));
        file.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
    file
}

/// Writes the seeds of every target into a folder of its name in `corpus`; how many they are.
///
/// # Errors
/// Those of the system.
pub fn write(corpus: &Path) -> io::Result<usize> {
    let mut count = 0;
    for (name, _, seeds) in targets() {
        let folder = corpus.join(name);
        fs::create_dir_all(&folder)?;
        for (index, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{index}")), seed)?;
            count += 1;
        }
    }
    Ok(count)
}

#[test]
fn every_fuzz_target_has_seeds_and_its_parser_reads_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    let mut known = targets().map(|(name, ..)| format!("{name}.rs"));
    known.sort_unstable();
    assert_eq!(names, known);
    for (name, parser, seeds) in targets() {
        assert!(!seeds.is_empty(), "{name}");
        for (index, seed) in seeds.iter().enumerate() {
            assert!(parser(seed), "seed {index} of {name}");
        }
    }
}

#[test]
fn seeds_that_are_cut_or_damaged_are_answered() {
    for (_, parser, seeds) in targets() {
        for seed in seeds {
            // Of long files some bytes: they repeat themselves.
            for place in (0..seed.len()).step_by(1 + seed.len() / 100) {
                parser(&seed[..place]);
                for damage in [0x01, 0x80, 0xff] {
                    let mut damaged = seed.clone();
                    damaged[place] ^= damage;
                    parser(&damaged);
                }
            }
        }
    }
}

#[test]
fn every_seed_is_written_below_the_name_of_its_target() {
    let corpus = tempfile::tempdir().unwrap();
    let written = write(corpus.path()).unwrap();
    let seeds = targets().map(|(_, _, seeds)| seeds.len());
    assert_eq!(written, seeds.iter().sum::<usize>());
    let (_, parser, _) = targets()[0];
    assert!(parser(&fs::read(corpus.path().join("idx/seed-0")).unwrap()));
}
