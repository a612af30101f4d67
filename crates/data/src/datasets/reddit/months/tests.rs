//! Tests of months of comments.

use super::*;

fn settings() -> Reddit {
    Reddit {
        train_months: vec!["2001-01".into()],
        test_months: vec!["2001-02".into()],
        min_posts: Some(2),
        max_posts: Some(3),
        ..Reddit::default()
    }
}

fn dump(lines: &[(&str, &str)]) -> String {
    let line = |(author, body): &(&str, &str)| {
        serde_json::json!({"author": author, "body": body, "score": [1, {"x": null}]}).to_string()
            + "\n"
    };
    lines.iter().map(line).collect()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("reddit");
    fs::create_dir(&home).unwrap();
    let train = [
        ("eve", "b a"),
        ("adam", "a"),
        ("many", "x"),
        ("eve", "a c"),
        ("many", "x"),
        ("adam", "b"),
        ("one", "y"),
        ("many", "x"),
        ("[deleted]", "z"),
        ("many", "x"),
    ];
    fs::write(home.join("RC_2001-01"), dump(&train)).unwrap();
    let packed = zstd::encode_all(dump(&[("new", "a new"), ("adam", "b")]).as_bytes(), 3).unwrap();
    fs::write(home.join("RC_2001-02.zst"), packed).unwrap();
    folder
}

#[test]
fn authors_of_as_many_posts_as_asked_for_are_chosen() {
    let folder = folder();
    let chosen = chosen(&settings(), &DataFolder::new(folder.path())).unwrap();
    // eve and adam, in the order of their first comments; a, b and c by how often they say them.
    assert_eq!(chosen.train.owners, [0, 1, 0, 1]);
    assert_eq!(chosen.train.tokens, [5, 4, 4, 4, 6, 5]);
    assert_eq!(chosen.test.owners, [2, 1]);
    assert_eq!(chosen.test.tokens, [4, 1, 5]);
    assert_eq!(chosen.tokens, 7);
}

#[test]
fn the_cache_depends_on_what_is_chosen_and_not_on_windows() {
    let folder = folder();
    let home = folder.path().join("reddit");
    let sources = Sources::find(&settings(), &home, &DataFolder::new(folder.path())).unwrap();
    let key = |settings: Reddit| sources.key(&settings).unwrap();
    let same = Reddit {
        window: 30,
        stride: 5,
        ..settings()
    };
    assert_eq!(key(settings()), key(same));
    let other = Reddit {
        seed: 1,
        ..settings()
    };
    assert_ne!(key(settings()), key(other));
}

#[test]
fn leafs_files_are_read_from_their_folders() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("reddit");
    for (part, words) in [("train", "so it goes"), ("test", "it goes on")] {
        fs::create_dir_all(home.join(part)).unwrap();
        let words: Vec<&str> = words.split(' ').collect();
        let users = serde_json::json!({"users": ["7"], "num_samples": [1], "user_data": {"7": {"x": [[words]], "y": []}}});
        fs::write(home.join(part).join("a.json"), users.to_string()).unwrap();
    }
    let settings = Reddit {
        source: RedditSource::Leaf,
        ..Reddit::default()
    };
    let chosen = chosen(&settings, &DataFolder::new(folder.path())).unwrap();
    assert_eq!(
        (chosen.train.lengths, chosen.test.lengths),
        (vec![3], vec![3])
    );
    // goes, it, so by the alphabet.
    assert_eq!(
        (chosen.train.tokens, chosen.test.tokens),
        (vec![6, 5, 4], vec![5, 4, 1])
    );
    assert_eq!(chosen.test.owners, [0]);
}

#[test]
fn a_small_packed_file_of_leaf_does_not_grow_without_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json.zst");
    // Lists of nothing, which are passed over.
    let lists = "[],".repeat(30 << 20);
    let json = format!("{{\"other\": [{lists}[]]}}");
    fs::write(&path, zstd::encode_all(json.as_bytes(), 1).unwrap()).unwrap();
    let most = most_leaf_content(&path).unwrap();
    assert!(most < json.len() as u64);
    let refusal = each_leaf_user(&[path], |_, _| Ok(())).unwrap_err();
    let reason = format!("at byte {most}: the file unpacks to more than {most} bytes");
    assert!(refusal.to_string().contains(&reason), "{refusal}");
}

#[test]
fn a_damaged_file_of_leaf_is_said_to_be_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json.zst");
    let packed = zstd::encode_all("{\"a\": []}".repeat(9).as_bytes(), 3).unwrap();
    fs::write(&path, &packed[..packed.len() - 3]).unwrap();
    let refusal = each_leaf_user(&[path], |_, _| Ok(())).unwrap_err();
    assert!(
        refusal.to_string().contains("damaged zstd data: "),
        "{refusal}"
    );
}
