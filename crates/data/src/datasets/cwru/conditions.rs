//! The recordings of the bearing data that DeceFL uses: which condition, which load, which file.

/// A state of the bearing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    /// Its name, and that of the folder of its files.
    pub(super) name: &'static str,
    /// The beginning of its files' names.
    stem: &'static str,
    /// The number of the makers' file of each load, which also names the arrays in it.
    numbers: [u16; LOADS],
}

/// Motor loads of 0, 1, 2 and 3 horse powers.
pub(super) const LOADS: usize = 4;

impl Condition {
    const fn new(name: &'static str, stem: &'static str, numbers: [u16; LOADS]) -> Self {
        Self {
            name,
            stem,
            numbers,
        }
    }

    /// The file of `load` below the dataset's folder, such as `B007/B007_0.mat`.
    pub(super) fn file(&self, load: usize) -> String {
        format!("{}/{}_{load}.mat", self.name, self.stem)
    }

    /// The makers' number of the file of `load`.
    pub(super) fn number(&self, load: usize) -> u16 {
        self.numbers[load]
    }

    /// Whether nothing is wrong with the bearing.
    pub(super) fn is_normal(&self) -> bool {
        self.name == "normal"
    }
}

/// All conditions, in the order of the ten labels: faults of the ball, the inner race and the outer race (at 6 o'clock)
/// of 7, 14 and 21 thousandths of an inch.
pub(super) const TEN: [Condition; 10] = [
    Condition::new("normal", "NORMAL", [97, 98, 99, 100]),
    Condition::new("B007", "B007", [118, 119, 120, 121]),
    Condition::new("B014", "B014", [185, 186, 187, 188]),
    Condition::new("B021", "B021", [222, 223, 224, 225]),
    Condition::new("IR007", "IR007", [105, 106, 107, 108]),
    Condition::new("IR014", "IR014", [169, 170, 171, 172]),
    Condition::new("IR021", "IR021", [209, 210, 211, 212]),
    Condition::new("OR007", "OR007@6", [130, 131, 132, 133]),
    Condition::new("OR014", "OR014@6", [197, 198, 199, 200]),
    Condition::new("OR021", "OR021@6", [234, 235, 236, 237]),
];

/// The conditions of the four labels: normal and the faults of 7 thousandths.
pub(super) const FOUR: [Condition; 4] = [TEN[0], TEN[1], TEN[4], TEN[7]];

/// Names of the ten labels.
pub(super) const TEN_NAMES: [&str; 10] = names(&TEN);
/// Names of the four labels.
pub(super) const FOUR_NAMES: [&str; 4] = names(&FOUR);

const fn names<const COUNT: usize>(conditions: &[Condition; COUNT]) -> [&'static str; COUNT] {
    let mut names = [""; COUNT];
    let mut label = 0;
    while label < COUNT {
        names[label] = conditions[label].name;
        label += 1;
    }
    names
}
