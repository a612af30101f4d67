//! A table in LaTeX, for the package `booktabs`.

use crate::grid::{Grid, GridRow};

/// What goes around a table in LaTeX. Both are LaTeX.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The beginning of the caption.
    pub caption: Option<String>,
    /// By which a text refers to the table.
    pub label: Option<String>,
}

/// A `table` whose caption holds the notes, after what is to stand there. The best mean or median of each group is bold.
pub fn latex(grid: &Grid, around: &Surroundings) -> String {
    let columns = "l".repeat(grid.words) + &"r".repeat(grid.titles.len() - grid.words);
    let titles: Vec<String> = grid.titles.iter().map(|title| escaped(title)).collect();
    let mut text = "% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n".to_owned();
    let has_best = grid.rows.iter().any(|row| !row.best.is_empty());
    let what = grid.summary.name();
    let bold = has_best.then(|| format!("Bold: the best {what} among {}", grid.rivals));
    let notes = grid.notes.iter().chain(&bold);
    let notes = notes.map(|note| format!("{}.", escaped(note)));
    let caption: Vec<String> = around.caption.iter().cloned().chain(notes).collect();
    text += &format!("\\caption{{{}}}\n", caption.join(" "));
    if let Some(label) = &around.label {
        text += &format!("\\label{{{label}}}\n");
    }
    text += &format!(
        "\\begin{{tabular}}{{{columns}}}\n\\toprule\n{} \\\\\n\\midrule\n",
        titles.join(" & ")
    );
    for row in &grid.rows {
        text += &format!("{} \\\\\n", cells(row, grid.words).join(" & "));
    }
    text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
}

/// The cells of a row, of which the first `words` hold words. The star of a mean is raised.
fn cells(row: &GridRow, words: usize) -> Vec<String> {
    let number = |text: &str| match text.strip_prefix('-') {
        Some(number) if number.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("$-${}", escaped(number))
        }
        _ => escaped(text),
    };
    let escaped = |place: usize, text: &str| match text.strip_suffix('*') {
        Some(mean) if place >= words => format!("{}$^*$", number(mean)),
        _ => number(text),
    };
    let cell = |(place, cell): (usize, &String)| match row.best.contains(&place) {
        true => format!("\\textbf{{{}}}", escaped(place, cell)),
        // After `\\` and `\midrule` a bracket or an asterisk would be an option of these.
        false if cell.starts_with(['[', '*']) => format!("{{}}{}", escaped(place, cell)),
        false => escaped(place, cell),
    };
    row.cells.iter().enumerate().map(cell).collect()
}

/// Text without characters that LaTeX takes as commands.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', character]),
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '<' => escaped += "$<$",
            '>' => escaped += "$>$",
            '±' => escaped += "$\\pm$",
            '–' => escaped += "--",
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::centre::Summary;

    #[test]
    fn names_are_escaped_and_the_best_mean_is_bold() {
        let row = GridRow {
            cells: ["d_2", "3", "88.80 ± 1.20 %"].map(str::to_owned).to_vec(),
            best: vec![2],
        };
        let grid = Grid {
            titles: ["a_b", "n", "test_accuracy"].map(str::to_owned).to_vec(),
            words: 1,
            rows: vec![row],
            notes: vec!["50 % of runs".to_owned()],
            summary: Summary::Mean,
            rivals: "all",
        };
        let text = latex(&grid, &Surroundings::default());
        for part in [
            "\\begin{tabular}{lrr}\n\\toprule\na\\_b & n & test\\_accuracy \\\\\n",
            "d\\_2 & 3 & \\textbf{88.80 $\\pm$ 1.20 \\%} \\\\\n\\bottomrule",
            "\\caption{50 \\% of runs. Bold: the best mean among all.}",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let around = Surroundings {
            caption: Some("Accuracy after $T$ rounds.".to_owned()),
            label: Some("tab:accuracy".to_owned()),
        };
        let text = latex(&grid, &around);
        let caption = "\\caption{Accuracy after $T$ rounds. 50 \\% of runs. Bold: the best mean among all.}\n\\label{tab:accuracy}\n\\begin{tabular}";
        assert!(text.contains(caption), "{text}");
    }

    #[test]
    fn a_list_at_the_start_of_a_row_is_no_option_of_the_line_before() {
        let row = GridRow {
            cells: ["[4, 8]", "> 3*", "-2.40 ± 1.00 %", "-", "0.5 ± 0.1*"]
                .map(str::to_owned)
                .to_vec(),
            best: Vec::new(),
        };
        assert_eq!(
            cells(&row, 2),
            [
                "{}[4, 8]",
                "$>$ 3*",
                "$-$2.40 $\\pm$ 1.00 \\%",
                "-",
                "0.5 $\\pm$ 0.1$^*$"
            ]
        );
    }
}
