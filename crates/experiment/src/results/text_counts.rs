//! How much of a text each client owns, from `partition.csv`.

/// The first line of the table.
const HEADER: &str = "client,examples,tokens,vocabulary";

/// What each client owns of a text, `[N]` each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextCounts {
    /// Windows.
    pub examples: Vec<u32>,
    /// Tokens that they lie over.
    pub tokens: Vec<u32>,
    /// Different tokens.
    pub vocabulary: Vec<u32>,
}

impl TextCounts {
    /// Whether `csv` is such a table, by its first line.
    pub fn is_table(csv: &str) -> bool {
        csv.lines().next() == Some(HEADER)
    }

    /// Reads a line for each client, in their order.
    ///
    /// # Errors
    /// The number of the first line that cannot be read, from 1, and what stands there.
    pub fn parse(csv: &str) -> Result<Self, String> {
        let mut counts = Self::default();
        for (client, line) in csv.lines().skip(1).enumerate() {
            let fields: Result<Vec<u32>, _> =
                line.split(',').map(|field| field.trim().parse()).collect();
            match fields.as_deref() {
                Ok(&[found, examples, tokens, vocabulary]) if found as usize == client => {
                    counts.examples.push(examples);
                    counts.tokens.push(tokens);
                    counts.vocabulary.push(vocabulary);
                }
                _ => {
                    return Err(format!(
                        "line {}: found \"{line}\", needed client {client} and three numbers",
                        client + 2
                    ));
                }
            }
        }
        Ok(counts)
    }

    /// Number of clients `N`.
    pub fn clients(&self) -> usize {
        self.examples.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_client() {
        let csv = "client,examples,tokens,vocabulary\n0,3,240,50\n1,1,81,20\n";
        assert!(TextCounts::is_table(csv));
        let counts = TextCounts::parse(csv).unwrap();
        assert_eq!(
            (counts.clients(), counts.tokens[1], counts.vocabulary[0]),
            (2, 81, 50)
        );
        assert!(!TextCounts::is_table("client,label,examples\n"));
    }

    #[test]
    fn a_bad_line_is_named() {
        let refusal = |lines: &str| TextCounts::parse(&format!("{HEADER}\n{lines}")).unwrap_err();
        assert_eq!(
            refusal("0,1,2,3\n7,1,2,3\n"),
            "line 3: found \"7,1,2,3\", needed client 1 and three numbers"
        );
        assert!(refusal("0,1,2\n").starts_with("line 2"));
    }
}
