//! A table in Markdown.

use crate::grid::Grid;

/// The table with its notes as a paragraph each.
pub fn markdown(grid: &Grid) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = |place: usize| if place < grid.words { "---" } else { "---:" };
    let rules: Vec<String> = (0..grid.titles.len())
        .map(|place| rule(place).to_owned())
        .collect();
    let mut text = line(&grid.titles) + &line(&rules);
    grid.rows.iter().for_each(|row| text += &line(&row.cells));
    for note in &grid.notes {
        // A star at the beginning would be that of a list.
        let star = if note.starts_with('*') { "\\" } else { "" };
        text += &format!("\n{star}{note}.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::centre::Summary;
    use crate::grid::GridRow;

    #[test]
    fn words_stand_left_and_figures_right() {
        let grid = Grid {
            titles: vec!["a|b".to_owned(), "n".to_owned()],
            words: 1,
            rows: vec![GridRow {
                cells: vec!["ring".to_owned(), "3".to_owned()],
                best: vec![1],
            }],
            notes: vec!["said".to_owned(), "* differs".to_owned()],
            summary: Summary::Mean,
            rivals: "all",
        };
        assert_eq!(
            markdown(&grid),
            "| a\\|b | n |\n| --- | ---: |\n| ring | 3 |\n\nsaid.\n\n\\* differs.\n"
        );
    }
}
