//! Examples per client and label, from `partition.csv`.

/// How many examples of each label each client owns.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelCounts {
    /// `[C][N]`: row per label, column per client.
    pub counts: Vec<Vec<u32>>,
    /// `N`.
    pub clients: usize,
}

impl LabelCounts {
    /// Reads `client,label,examples` lines. Clients without examples do not appear in the file: `clients` is the least
    /// number of them.
    ///
    /// # Errors
    /// The number of the first line that cannot be read, from 1, and what stands there.
    pub fn parse(csv: &str, clients: usize) -> Result<Self, String> {
        let mut lines = csv.lines().enumerate();
        match lines.next() {
            Some((_, "client,label,examples")) => {}
            other => {
                let found = other.map_or("", |(_, line)| line);
                return Err(format!(
                    "line 1: found \"{found}\", needed \"client,label,examples\""
                ));
            }
        }
        let mut entries = Vec::new();
        for (index, line) in lines {
            let entry = parse_line(line);
            entries.push(entry.ok_or_else(|| {
                format!("line {}: found \"{line}\", needed three numbers", index + 1)
            })?);
        }
        let clients = entries
            .iter()
            .map(|entry| entry.0 + 1)
            .max()
            .unwrap_or(0)
            .max(clients);
        let classes = entries.iter().map(|entry| entry.1 + 1).max().unwrap_or(0);
        if clients > LIMIT || clients.saturating_mul(classes) > MOST_COUNTS {
            return Err(format!(
                "it names {clients} clients and {classes} labels, more than can be shown"
            ));
        }
        let mut counts = vec![vec![0_u32; clients]; classes];
        for (client, label, examples) in entries {
            let count = &mut counts[label][client];
            *count = count.saturating_add(examples);
        }
        Ok(Self { counts, clients })
    }

    /// One more than the highest client that holds an example.
    pub fn holders(&self) -> usize {
        let holds = |client: &usize| self.counts.iter().any(|label| label[*client] > 0);
        (0..self.clients)
            .rev()
            .find(holds)
            .map_or(0, |client| client + 1)
    }

    /// Number of labels `C`.
    pub fn classes(&self) -> usize {
        self.counts.len()
    }

    /// `[N]`: examples of each client.
    pub fn examples(&self) -> Vec<u32> {
        (0..self.clients)
            .map(|client| {
                let counts = self.counts.iter().map(|row| row[client]);
                counts.fold(0, u32::saturating_add)
            })
            .collect()
    }

    /// `[N]`: labels of which each client has at least one example.
    pub fn labels_held(&self) -> Vec<usize> {
        (0..self.clients)
            .map(|client| self.counts.iter().filter(|row| row[client] > 0).count())
            .collect()
    }
}

/// Most clients that a line may name.
const LIMIT: usize = 10_000_000;

/// Most counts of examples, clients times labels, so that a damaged file cannot ask for all memory.
const MOST_COUNTS: usize = 1 << 27;

fn parse_line(line: &str) -> Option<(usize, usize, u32)> {
    let mut fields = line.split(',').map(str::trim);
    let client: usize = fields.next()?.parse().ok()?;
    let label: usize = fields.next()?.parse().ok()?;
    let examples = fields.next()?.parse().ok()?;
    let fits = client < LIMIT && label <= usize::from(u16::MAX) && fields.next().is_none();
    fits.then_some((client, label, examples))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_by_label_and_client() {
        let counts = LabelCounts::parse("client,label,examples\n0,1,2\n1,0,1\n1,2,1\n", 3).unwrap();
        assert_eq!(counts.counts, [[0, 1, 0], [2, 0, 0], [0, 1, 0]]);
        assert_eq!(counts.examples(), [2, 2, 0]);
        assert_eq!(counts.labels_held(), [1, 2, 0]);
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = LabelCounts::parse("client,label,examples\n0,1,2\n0,x,1\n", 1).unwrap_err();
        assert_eq!(error, "line 3: found \"0,x,1\", needed three numbers");
        assert!(
            LabelCounts::parse("", 1)
                .unwrap_err()
                .starts_with("line 1: ")
        );
        let error = LabelCounts::parse("client,label,examples\n99999999999,0,1\n", 1).unwrap_err();
        assert_eq!(
            error,
            "line 2: found \"99999999999,0,1\", needed three numbers"
        );
        let error = LabelCounts::parse("client,label,examples\n9999999,60000,1\n", 1).unwrap_err();
        assert!(
            error.contains("10000000 clients and 60001 labels"),
            "{error}"
        );
    }
}
