//! What the control groups of Linux leave of the memory.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that the control groups of this process leave, of both versions; `None` where none has a limit.
///
/// The limit of a group holds for all groups within it together, so that each group up to the root counts. What a group
/// holds of files is not counted as taken: the kernel lets go of it when memory is asked for.
///
/// `root` is the folder of `proc` and `sys`, `/` but for tests.
pub(super) fn left(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let hierarchies = groups.lines().filter_map(|line| {
        let group = Group::of(line)?;
        let mount = mounts
            .lines()
            .find_map(|line| Mount::of(line, group.version))?;
        Some(group.levels(&mount))
    });
    let limits = hierarchies.flatten().filter_map(|(folder, version)| {
        let folder = root.join(folder.strip_prefix("/").unwrap_or(&folder));
        left_in(&folder, version)
    });
    limits.min()
}

/// The version of a hierarchy of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The group that the process is in, of one hierarchy.
#[derive(Debug)]
struct Group<'a> {
    version: Version,
    /// From the root of the hierarchy.
    path: &'a str,
}

impl<'a> Group<'a> {
    /// Reads a line `hierarchy:controllers:path`; `None` for hierarchies that do not limit memory.
    fn of(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let version = match controllers {
            "" if number == "0" => Version::Two,
            _ if controllers.split(',').any(|name| name == "memory") => Version::One,
            _ => return None,
        };
        Some(Self { version, path })
    }

    /// The folders of the group and of all that it lies in, as far as they are mounted.
    fn levels(&self, mount: &Mount) -> Vec<(PathBuf, Version)> {
        // In a container the mounted part may be the group itself, whose path is that of the host.
        let below = Path::new(self.path).strip_prefix(&mount.root);
        let below = below.unwrap_or(Path::new(""));
        let is_plain = !below.iter().any(|part| part == "..");
        let below = if is_plain { below } else { Path::new("") };
        let folders = below.ancestors().map(|part| mount.point.join(part));
        folders.map(|folder| (folder, self.version)).collect()
    }
}

/// Where a hierarchy is mounted.
#[derive(Debug)]
struct Mount {
    /// The group that is mounted, the root of the hierarchy in most cases.
    root: PathBuf,
    /// Its folder.
    point: PathBuf,
}

impl Mount {
    /// Reads a line of `mountinfo`; `None` for mounts of anything else.
    fn of(line: &str, version: Version) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let (mut place, mut kind) = (place.split(' ').skip(3), kind.split(' '));
        let is_it = match (version, kind.next()?) {
            (Version::Two, "cgroup2") => true,
            (Version::One, "cgroup") => kind.nth(1)?.split(',').any(|name| name == "memory"),
            _ => false,
        };
        is_it.then_some(())?;
        Some(Self {
            root: unescaped(place.next()?),
            point: unescaped(place.next()?),
        })
    }
}

/// A path of `mountinfo`, in which spaces and the like stand as octal numbers.
fn unescaped(text: &str) -> PathBuf {
    let plain = text.replace("\\040", " ").replace("\\011", "\t");
    plain.replace("\\012", "\n").replace("\\134", "\\").into()
}

/// Bytes that the group in `folder` leaves; `None` if it has no limit.
fn left_in(folder: &Path, version: Version) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        text.trim().parse().ok()
    };
    // Beyond `high` the kernel slows the group down until hardly anything goes on.
    let (limit, taken) = match version {
        Version::One => (
            number("memory.limit_in_bytes"),
            number("memory.usage_in_bytes"),
        ),
        Version::Two => (
            [number("memory.max"), number("memory.high")]
                .into_iter()
                .flatten()
                .min(),
            number("memory.current"),
        ),
    };
    let of_files = fs::read_to_string(folder.join("memory.stat"))
        .map_or(0, |stat| held_of_files(&stat, version));
    Some(limit?.saturating_sub(taken.unwrap_or(0).saturating_sub(of_files)))
}

/// Bytes of `memory.stat` that are copies of files, with those of the groups within.
fn held_of_files(stat: &str, version: Version) -> u64 {
    let names = match version {
        Version::One => ["total_inactive_file", "total_active_file"],
        Version::Two => ["inactive_file", "active_file"],
    };
    let lines = stat.lines().filter_map(|line| line.split_once(' '));
    let counted = lines.filter(|(name, _)| names.contains(name));
    counted
        .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files below a folder of the test's own.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const V2_MOUNT: &str = "24 30 0:22 / /proc rw - proc proc rw\n\
                            29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNT: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                            32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                            35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                            41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn every_group_up_to_the_root_counts() {
        let group = "sys/fs/cgroup/user.slice/job";
        let parent = "sys/fs/cgroup/user.slice";
        let files = |max: &'static str, high: &'static str, above: &'static str| {
            tree(&[
                ("proc/self/cgroup", "0::/user.slice/job\n"),
                ("proc/self/mountinfo", V2_MOUNT),
                (&format!("{group}/memory.max"), max),
                (&format!("{group}/memory.high"), high),
                (&format!("{group}/memory.current"), "300\n"),
                (
                    &format!("{group}/memory.stat"),
                    "anon 120\nfile 150\ninactive_file 100\nactive_file 50\n",
                ),
                (&format!("{parent}/memory.max"), above),
                (&format!("{parent}/memory.current"), "700\n"),
                (&format!("{parent}/memory.stat"), "inactive_file 150\n"),
            ])
        };
        let left = |max, high, above| left(files(max, high, above).path());
        assert_eq!(left("max\n", "max\n", "max\n"), None);
        assert_eq!(left("1000\n", "max\n", "max\n"), Some(850));
        assert_eq!(left("1000\n", "900\n", "max\n"), Some(750));
        // The group around it, which others fill as well, leaves less.
        assert_eq!(left("1000\n", "max\n", "1000\n"), Some(450));
        assert_eq!(left("max\n", "max\n", "1000\n"), Some(450));
        assert_eq!(left("1000\n", "max\n", "200\n"), Some(0));
    }

    #[test]
    fn groups_of_the_first_version_are_counted_with_those_within() {
        let group = "sys/fs/cgroup/memory/batch/job 7";
        let unlimited = "9223372036854771712\n";
        let files = tree(&[
            (
                "proc/self/cgroup",
                "5:cpu:/batch\n4:memory:/batch/job 7\n0::/\n",
            ),
            ("proc/self/mountinfo", V1_MOUNT),
            (&format!("{group}/memory.limit_in_bytes"), unlimited),
            (&format!("{group}/memory.usage_in_bytes"), "100\n"),
            ("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "5000\n"),
            ("sys/fs/cgroup/memory/batch/memory.usage_in_bytes", "3000\n"),
            (
                "sys/fs/cgroup/memory/batch/memory.stat",
                "inactive_file 1\ntotal_inactive_file 400\ntotal_active_file 600\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", unlimited),
        ]);
        assert_eq!(left(files.path()), Some(3000));
    }

    #[test]
    fn in_a_container_the_mounted_part_is_the_group() {
        let mount = "29 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        for path in ["/docker/abc", "/", "/../other"] {
            let files = tree(&[
                ("proc/self/cgroup", &format!("0::{path}\n")),
                ("proc/self/mountinfo", mount),
                ("sys/fs/cgroup/memory.max", "4096\n"),
                ("sys/fs/cgroup/memory.current", "96\n"),
            ]);
            assert_eq!(left(files.path()), Some(4000), "{path}");
        }
        let inner = tree(&[
            ("proc/self/cgroup", "0::/docker/abc/inner\n"),
            ("proc/self/mountinfo", mount),
            ("sys/fs/cgroup/memory.max", "4096\n"),
            ("sys/fs/cgroup/inner/memory.max", "1000\n"),
        ]);
        assert_eq!(left(inner.path()), Some(1000));
    }

    #[test]
    fn without_control_groups_there_is_no_limit() {
        assert_eq!(left(tree(&[]).path()), None);
        let odd = tree(&[
            ("proc/self/cgroup", "what?\n"),
            ("proc/self/mountinfo", "-\n"),
        ]);
        assert_eq!(left(odd.path()), None);
    }

    #[test]
    fn paths_of_mounts_may_have_spaces() {
        assert_eq!(unescaped("/a\\040b\\134c"), Path::new("/a b\\c"));
    }
}
