//! Datasets that are there, missing or corrupt.

use std::fs;

use crate::sandbox::{Said, Sandbox, TINY, keys};

/// The partition of `tiny.yaml`, which small tables have too few rows for.
const SHARDS: &str = "{shards: {clients: 10, per_client: 2}}";

/// What planning says of the dataset `settings` in `sandbox`.
fn planned(sandbox: &Sandbox, settings: &str) -> Said {
    sandbox.meshfold(&["plan", "tiny.yaml", "--set", &format!("dataset={settings}")])
}

#[test]
fn datasets_are_listed_with_what_is_there_of_them() {
    let sandbox = Sandbox::new();
    sandbox.write("data/mnist/train-labels-idx1-ubyte", "not yet checked");
    let said = sandbox.says("data list --json").ended_with(0);
    let listed = said.json();
    let names: Vec<_> = listed
        .iter()
        .map(|dataset| dataset["name"].as_str().unwrap())
        .collect();
    let made_and_fetched = ["glyphs", "consensus", "mnist", "fashion_mnist", "cifar10"];
    assert_eq!(names[..5], made_and_fetched);
    for name in [
        "cifar100",
        "qmnist",
        "femnist",
        "leukemia_a2",
        "shakespeare",
        "reddit",
        "cwru",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    assert_eq!(
        (&listed[2]["files"], &listed[2]["files_present"]),
        (&4.into(), &1.into())
    );
    let table = sandbox.says("data list").ended_with(0).out;
    assert!(
        table.contains("1 of 4 files: meshfold data fetch mnist")
            && table.contains("MESHFOLD_DATA"),
        "{table}"
    );
}

#[test]
fn missing_files_are_named_with_where_they_were_looked_for_and_what_fetches_them() {
    let sandbox = Sandbox::new();
    let looked = sandbox
        .path("data/mnist/train-images-idx3-ubyte.gz")
        .display()
        .to_string();
    let parts = [
        looked.as_str(),
        "meshfold data fetch mnist",
        "MESHFOLD_DATA",
        "--set",
        "dataset",
    ];
    sandbox
        .says("run tiny.yaml --set dataset=mnist")
        .ended_with(2)
        .complained_of(&parts);
    assert!(!sandbox.path("runs").exists());
    let elsewhere = sandbox
        .says("plan tiny.yaml --set dataset=mnist --data-dir elsewhere")
        .ended_with(2);
    elsewhere.complained_of(&["elsewhere/mnist", "--data-dir"]);
}

#[test]
fn corrupt_files_are_refused_with_what_replaces_them() {
    let sandbox = Sandbox::new();
    for split in ["train", "t10k"] {
        sandbox.write(
            &format!("data/mnist/{split}-labels-idx1-ubyte"),
            "no idx file",
        );
        sandbox.write(
            &format!("data/mnist/{split}-images-idx3-ubyte"),
            "no idx file",
        );
    }
    let parts = [
        "data/mnist/train-labels-idx1-ubyte",
        "meshfold data fetch mnist",
    ];
    sandbox
        .says("run tiny.yaml --set dataset=mnist")
        .ended_with(2)
        .complained_of(&parts);
    assert!(!sandbox.path("runs").exists());
    let checked = sandbox
        .says("data check mnist --json")
        .ended_with(2)
        .complained_of(&["meshfold data fetch mnist"]);
    sandbox
        .says("data check mnist --data-dir data")
        .ended_with(2)
        .complained_of(&["meshfold data fetch mnist --data-dir data"]);
    assert_eq!(
        keys(&checked.json()[0]),
        ["dataset", "path", "status", "url"]
    );
    assert!(
        checked
            .json()
            .iter()
            .all(|file| file["status"] == "wrong_size")
    );
}

#[test]
fn a_dataset_that_does_not_exist_is_answered_with_the_nearest() {
    let sandbox = Sandbox::new();
    sandbox
        .says("data fetch fashion")
        .ended_with(2)
        .complained_of(&["did you mean `fashion_mnist`?"]);
    sandbox
        .says("data check minst")
        .ended_with(2)
        .complained_of(&["did you mean `mnist`?"]);
    assert!(!sandbox.path("data").exists());
}

#[test]
fn cells_of_a_table_are_told_by_line_and_column() {
    let sandbox = Sandbox::new();
    let tiny = TINY.replace(SHARDS, "{iid: {clients: 4}}");
    sandbox.write("tiny.yaml", &tiny);
    let rows: String = (0..20)
        .map(|row| format!("{row},{},a\r\n", row % 3))
        .collect();
    sandbox.write("data/t.csv", &format!("age,height,label\r\n{rows}3,,b\r\n"));
    let run = |settings: &str| {
        let settings = format!("dataset={settings}");
        sandbox
            .meshfold(&["run", "tiny.yaml", "--set", &settings])
            .ended_with(2)
    };
    let said = run("{csv: {file: t.csv, label: label}}");
    said.complained_of(&["data/t.csv: line 22, column `height`: found an empty cell"]);
    let said = run("{csv: {file: t.csv, label: lable}}");
    said.complained_of(&[
        "no column is called `lable`, there are `age`, `height`, `label`; did you mean `label`?",
    ]);
    let said = run("{csv: {file: none.csv, label: label}}");
    said.complained_of(&["found no file at ", "data/none.csv", "MESHFOLD_DATA"]);
    sandbox.write(
        "data/long.csv",
        &format!("1,2\n{}\n", "1,".repeat(20_000_000)),
    );
    let said = run("{csv: {file: long.csv, label: 0, header: false}}");
    said.complained_of(&[
        "data/long.csv: line 2: the row that begins here has more than 1048576 columns",
    ]);
    let long = "x".repeat(60_000);
    let said = run(&format!("{{csv: {{file: t.csv, label: {long}}}}}"));
    let said = said.complained_of(&["no column is called `xxx"]);
    let told = said.err.lines().next().unwrap_or_default();
    assert!(told.len() < 400, "{} bytes", told.len());
    assert!(!sandbox.path("runs").exists());
}

#[test]
fn tables_are_read_as_they_come() {
    let sandbox = Sandbox::new();
    let tiny = TINY.replace(SHARDS, "{iid: {clients: 4}}");
    sandbox.write("tiny.yaml", &tiny);
    let row = |row: usize| {
        let colour = ["red", "blue", "green"][row % 3];
        let part = ["train", "train", "test", "validation"][row % 4];
        let height = if row % 7 == 5 { "" } else { "1.8" };
        format!("n{row},{colour},{height},{part},{}\n", row % 2)
    };
    let rows: String = (0..80).map(row).collect();
    sandbox.write("data/t.csv", &format!("id,colour,height,part,kind\n{rows}"));
    let plan = |keys: &str| {
        planned(
            &sandbox,
            &format!("{{csv: {{file: t.csv, label: kind{keys}}}}}"),
        )
    };
    plan("").ended_with(2).complained_of(&[
        "data/t.csv: line 2, column `id`: `n0` is no number",
        "`categories`",
        "`ignore`",
    ]);
    let keys = ", ignore: [id], categories: [colour], test: {column: part}";
    plan(keys).ended_with(2).complained_of(&[
        "data/t.csv: line 7, column `height`: found an empty cell",
        "`missing: mean`",
    ]);
    let keys = &format!("{keys}, missing: mean");
    let planned = plan(keys).ended_with(0);
    let told = "csv: 40 training and 20 test examples of 4 numbers in 2 classes";
    assert!(planned.out.contains(told), "{}", planned.out);
    let dataset = format!("dataset={{csv: {{file: t.csv, label: kind{keys}}}}}");
    let run = ["run", "tiny.yaml", "--set", &dataset];
    sandbox.meshfold(&run).ended_with(0);
    let again = sandbox.meshfold(&run).ended_with(0);
    assert!(again.out.contains("skipped"), "{}", again.out);
}

/// An archive of the features and labels of so many examples, which are stored.
fn npz(labels: &[u16]) -> Vec<u8> {
    let array = |descr: &str, shape: String, elements: Vec<u8>| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}");
        let length = (header.len() as u16).to_le_bytes();
        [
            b"\x93NUMPY\x01\x00",
            &length[..],
            header.as_bytes(),
            &elements,
        ]
        .concat()
    };
    let count = labels.len();
    let features = (0..2 * count).map(|place| place as u8).collect();
    let bytes = labels
        .iter()
        .flat_map(|label| label.to_le_bytes())
        .collect();
    let arrays = [
        ("x.npy", array("|u1", format!("({count}, 2)"), features)),
        ("y.npy", array("<u2", format!("({count},)"), bytes)),
    ];
    let (mut archive, mut list) = (Vec::new(), Vec::new());
    for (name, content) in arrays {
        let mut crc = flate2::Crc::new();
        crc.update(&content);
        let size = (content.len() as u32).to_le_bytes();
        let name_length = (name.len() as u16).to_le_bytes();
        let common = [
            &[20, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &crc.sum().to_le_bytes()[..],
            &size,
            &size,
            &name_length,
            &[0, 0],
        ]
        .concat();
        let place = (archive.len() as u32).to_le_bytes();
        list.extend(
            [
                b"PK\x01\x02\x14\x00",
                &common[..],
                &[0; 10],
                &place,
                name.as_bytes(),
            ]
            .concat(),
        );
        archive.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &content].concat());
    }
    let (place, size) = (archive.len() as u32, list.len() as u32);
    archive.extend(&list);
    let count = [0, 0, 0, 0, 2, 0, 2, 0];
    archive.extend(
        [
            b"PK\x05\x06",
            &count[..],
            &size.to_le_bytes(),
            &place.to_le_bytes(),
            &[0, 0],
        ]
        .concat(),
    );
    archive
}

#[test]
fn a_stray_label_is_refused_and_a_class_without_examples_is_warned_of_once() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("data")).unwrap();
    let mut labels: Vec<u16> = (0..40).map(|row| row % 4).collect();
    let write = |labels: &[u16]| fs::write(sandbox.path("data/a.npz"), npz(labels)).unwrap();
    labels[17] = 65_534;
    write(&labels);
    planned(&sandbox, "{npz: {file: a.npz}}")
        .ended_with(2)
        .complained_of(&["y.npy: element 17 is the label 65534", "`classes: 65535`"]);
    labels[17] = 9;
    write(&labels);
    let yaml = TINY
        .replace("{glyphs: {train: 600, test: 100}}", "{npz: {file: a.npz}}")
        .replace(SHARDS, "{iid: {clients: 4}}")
        .replace("batch_size: 20", "batch_size: 2");
    sandbox.write("tiny.yaml", &yaml);
    let said = sandbox.says("run tiny.yaml").ended_with(0);
    let warning = "5 of the 10 classes have no example: `4`, `5`, `6`, `7`, `8`";
    assert_eq!(said.err.matches(warning).count(), 1, "{}", said.err);
    let said = sandbox
        .says("plan tiny.yaml --set dataset.npz.classes=10")
        .ended_with(0);
    assert!(!said.err.contains("no example"), "{}", said.err);
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_named_and_never_waited_for() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("data/mnist")).unwrap();
    for name in ["t.csv", "t.npz", "mnist/train-images-idx3-ubyte.gz"] {
        symlink("/dev/zero", sandbox.path("data").join(name)).unwrap();
    }
    let pipe = std::process::Command::new("mkfifo")
        .arg(sandbox.path("data/pipe.csv"))
        .status();
    assert!(pipe.unwrap().success());
    for (settings, told) in [
        (
            "{csv: {file: t.csv, label: 0}}",
            "data/t.csv: it is a device, not a file",
        ),
        (
            "{csv: {file: pipe.csv, label: 0}}",
            "data/pipe.csv: it is a named pipe, not a file",
        ),
        (
            "{csv: {file: mnist, label: 0}}",
            "data/mnist: it is a folder, not a file",
        ),
        (
            "{npz: {file: t.npz}}",
            "data/t.npz: it is a device, not a file",
        ),
        (
            "mnist",
            "train-images-idx3-ubyte.gz: it is a device, not a file",
        ),
    ] {
        planned(&sandbox, settings)
            .ended_with(2)
            .complained_of(&[told]);
    }
    let checked = sandbox.says("data check mnist --json").ended_with(2);
    assert_eq!(checked.json()[0]["status"], "unreadable");
    // A link that a user makes to a store elsewhere is followed.
    sandbox.write("store/u.csv", &"0,1\n1,2\n".repeat(20));
    symlink("../store", sandbox.path("data/store")).unwrap();
    let csv = "{csv: {file: store/u.csv, label: 0, header: false}}";
    let parts = [
        "plan",
        "tiny.yaml",
        "--set",
        "partition={iid: {clients: 4}}",
        "--set",
    ];
    let settings = format!("dataset={csv}");
    sandbox
        .meshfold(&[&parts[..], &[settings.as_str()]].concat())
        .ended_with(0);
    planned(&sandbox, "{csv: {file: ../store/u.csv, label: 0}}")
        .ended_with(2)
        .complained_of(&["inside the data folder"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_is_not_called_empty() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    // A link to itself cannot be read by anybody, not even by an administrator.
    symlink("data", sandbox.path("data")).unwrap();
    for settings in [
        "mnist",
        "{csv: {file: t.csv, label: 0}}",
        "femnist",
        "{reddit: {source: leaf}}",
        "cwru",
    ] {
        let said = planned(&sandbox, settings).ended_with(2);
        let said = said.complained_of(&["cannot ", "symbolic link"]);
        assert!(!said.err.contains("not found"), "{}", said.err);
    }
    let listed = sandbox.says("data list --json").ended_with(0).json();
    let mnist = listed
        .iter()
        .find(|dataset| dataset["name"] == "mnist")
        .unwrap();
    assert!(
        mnist["unreadable"]
            .as_str()
            .unwrap()
            .contains("symbolic link"),
        "{mnist}"
    );
    sandbox
        .says("data fetch mnist")
        .complained_of(&["cannot ", "symbolic link"]);
}

#[test]
fn files_that_unpack_to_more_than_they_should_are_called_that() {
    use std::io::Write;
    let sandbox = Sandbox::new();
    for split in ["train", "t10k"] {
        sandbox.write(
            &format!("data/mnist/{split}-images-idx3-ubyte"),
            "not read yet",
        );
        sandbox.write(
            &format!("data/mnist/{split}-labels-idx1-ubyte"),
            "not read yet",
        );
    }
    // The labels of 60,000 images, and then a hundred million more, in a file that is smaller than the true one.
    fs::remove_file(sandbox.path("data/mnist/train-labels-idx1-ubyte")).unwrap();
    let file = fs::File::create(sandbox.path("data/mnist/train-labels-idx1-ubyte.gz")).unwrap();
    let mut bomb = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    bomb.write_all(&[0, 0, 8, 1, 0x10, 0, 0, 0]).unwrap();
    for _ in 0..100 {
        bomb.write_all(&vec![0; 1_000_000]).unwrap();
    }
    bomb.finish().unwrap();
    let said = planned(&sandbox, "mnist").ended_with(2);
    said.complained_of(&["the file unpacks to more than 60008 bytes, the most that it may hold"]);
}

#[test]
fn femnist_is_converted_from_nists_archives_and_trained_by_writer() {
    let sandbox = Sandbox::new();
    let fixture = |name: &str| {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../data/tests/fixtures/femnist/"
        );
        format!("{folder}{name}")
    };
    let [by_class, by_write] = ["by_class.zip", "by_write.zip"].map(fixture);
    let convert = |by_class: &str, by_write: &str, rest: &[&str]| {
        let options = ["--by-class", by_class, "--by-write", by_write];
        sandbox.meshfold(&[&["data", "convert", "femnist"], &options[..], rest].concat())
    };
    planned(&sandbox, "femnist")
        .ended_with(2)
        .complained_of(&["meshfold data convert femnist"]);
    convert(&by_write, &by_class, &[])
        .ended_with(2)
        .complained_of(&["by_class.zip: ", "is it the right archive?"]);
    let said = convert(&by_class, &by_write, &[]).ended_with(0);
    for told in [
        "data/femnist/femnist.npz\n",
        "85 images of 6 writers in 9 classes: 74 train, 11 test\n",
        "images of no class, left out: 2\n",
        "writers of a single image, left out: 1\n",
    ] {
        assert!(said.out.contains(told), "{}", said.out);
    }
    let made = convert(&by_class, &by_write, &["--json"]).ended_with(0);
    assert_eq!(made.json()[0]["train"], 74);
    let tiny = TINY.replace(SHARDS, "{by_writer: {}}");
    sandbox.write("tiny.yaml", &tiny);
    let run = |dataset: &str| {
        let dataset = format!("dataset={dataset}");
        sandbox.meshfold(&["run", "tiny.yaml", "--json", "--set", &dataset])
    };
    let said = run("femnist").ended_with(0);
    assert_eq!(said.json().len(), 1, "{}", said.out);
    let arrays = "{npz: {file: femnist/femnist.npz, x: x_train, y: y_train, client: client_train, \
                  test: {arrays: {x: x_test, y: y_test, client: client_test}}}}";
    run(arrays).ended_with(0);
}
