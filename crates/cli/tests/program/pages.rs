//! Pages of the documentation: the files and commands that stand in them, and what they say the commands print.

use std::fs;
use std::path::Path;

use crate::sandbox::{Said, Sandbox};

/// A page of this project.
pub(crate) struct Page {
    blocks: Vec<Block>,
}

/// What stands between two fences.
struct Block {
    language: String,
    lines: Vec<String>,
}

/// Commands that stand together, and what the page says that they print.
pub(crate) struct Step {
    /// Each without `meshfold` and without the comment behind it.
    pub(crate) commands: Vec<String>,
    /// Lines that are there in this order, with others between them.
    shown: Vec<String>,
}

impl Page {
    /// The page at `path` in the project.
    pub(crate) fn read(path: &str) -> Self {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = fs::read_to_string(project.join(path)).unwrap();
        let mut blocks = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let content = lines.by_ref().take_while(|line| *line != "```");
                blocks.push(Block {
                    language: language.to_owned(),
                    lines: content.map(str::to_owned).collect(),
                });
            }
        }
        Self { blocks }
    }

    /// Writes the files of the page: blocks that begin with `# NAME.ENDING`.
    pub(crate) fn write_files(&self, sandbox: &Sandbox) {
        for block in &self.blocks {
            if let Some(name) = block.file() {
                sandbox.write(name, &(block.lines.join("\n") + "\n"));
            }
        }
    }

    /// The experiments of the page, each in whole.
    pub(crate) fn experiments(&self) -> Vec<String> {
        let is_experiment = |block: &&Block| {
            let mut lines = block.lines.iter();
            block.language == "yaml" && lines.any(|line| line.starts_with("name: "))
        };
        let blocks = self.blocks.iter().filter(is_experiment);
        blocks.map(|block| block.lines.join("\n") + "\n").collect()
    }

    /// The commands of the page. What a block of them prints is the next block, if that is a text.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (place, block) in self.blocks.iter().enumerate() {
            if block.language != "sh" {
                continue;
            }
            let printed = |next: &&Block| next.language == "text" && next.file().is_none();
            let printed = self.blocks.get(place + 1).filter(printed);
            steps.push(Step {
                commands: block.commands(),
                shown: printed.map_or_else(Vec::new, |next| next.lines.clone()),
            });
        }
        steps
    }
}

impl Block {
    /// The name in the first line, if the block is a file.
    fn file(&self) -> Option<&str> {
        let name = self.lines.first()?.strip_prefix("# ")?;
        let is_name = name.contains('.') && !name.contains(' ');
        is_name.then_some(name)
    }

    fn commands(&self) -> Vec<String> {
        let lines = self.lines.iter();
        let lines = lines.filter_map(|line| line.strip_prefix("meshfold "));
        let bare = |line: &str| line.split(" #").next().unwrap().trim().to_owned();
        lines.map(bare).collect()
    }
}

impl Step {
    /// Carries the commands out, and requires that they end well and print what the page shows.
    pub(crate) fn holds(&self, sandbox: &Sandbox) {
        let said = self.commands.iter().map(|command| say(sandbox, command));
        let said: Vec<Said> = said.map(|said| said.ended_with(0)).collect();
        let texts = said.iter().flat_map(|said| [&said.out, &said.err]);
        self.is_shown_by(&texts.map(String::as_str).collect::<String>());
    }

    /// Requires the lines of the page in what was said.
    fn is_shown_by(&self, text: &str) {
        self.is_shown_as(text, words_of);
    }

    /// The same whatever the numbers are.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_resembled_by(&self, text: &str) {
        self.is_shown_as(text, |line| {
            let blank = |character: char| match character {
                '0'..='9' => '0',
                other => other,
            };
            let mut line: Vec<char> = words_of(line).chars().map(blank).collect();
            line.dedup_by(|a, b| *a == '0' && *b == '0');
            line.into_iter().collect()
        });
    }

    /// Requires the lines of the page in `text`, in their order, where `as_shown` says what of a line counts.
    fn is_shown_as(&self, text: &str, as_shown: fn(&str) -> String) {
        let mut said = text.lines().map(as_shown);
        for line in &self.shown {
            let expected = as_shown(line);
            let is_left_out = expected == "…" || expected.starts_with(FRAME);
            assert!(
                is_left_out || said.any(|said| said == expected),
                "`{line}` is not where the page shows it in what {:?} prints:\n{text}",
                self.commands
            );
        }
    }
}

/// What the lines of a table's frame begin with: it is as wide as the rows that are shown.
const FRAME: [char; 3] = ['┌', '╞', '└'];

fn words_of(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Carries out a command of a page. Runs are computed with the instructions that every processor has: the same bits.
fn say(sandbox: &Sandbox, command: &str) -> Said {
    let arguments = arguments(command);
    sandbox.meshfold(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The words of `text`, in which double quotes hold spaces together: `a="b c"` is one word.
fn plain_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for character in text.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            space if space.is_whitespace() && !is_quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

/// The words of a command, where a word in single quotes may hold spaces.
pub(crate) fn arguments(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for (place, part) in command.split('\'').enumerate() {
        match place % 2 {
            0 => words.extend(plain_words(part)),
            _ => words.push(part.to_owned()),
        }
    }
    if command.starts_with("run ") {
        words.extend(["--cpu", "portable"].map(str::to_owned));
    }
    words
}
