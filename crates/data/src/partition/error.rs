//! Settings of a partition that cannot be met.

use thiserror::Error;

/// Why the examples cannot be dealt as asked.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PartitionError {
    /// No client to deal to.
    #[error("partition: 0 clients, at least 1 needed")]
    NoClients {
        /// The setting that says how many there are.
        setting: &'static str,
    },
    /// Not every client could have an example.
    #[error(
        "partition: {clients} clients but only {examples} training examples; at most {examples} clients"
    )]
    TooManyClients {
        /// Clients asked for.
        clients: usize,
        /// Examples there are.
        examples: usize,
        /// The setting that says how many clients there are.
        setting: &'static str,
    },
    /// Not every shard could have an example.
    #[error(
        "partition: {clients} clients with {per_client} shards each make {} shards of only \
         {examples} training examples",
        .clients.saturating_mul(*.per_client)
    )]
    TooManyShards {
        /// Clients asked for.
        clients: usize,
        /// Shards of each.
        per_client: usize,
        /// Examples there are.
        examples: usize,
    },
    /// A setting is outside its range.
    #[error("partition: {setting} is {found}, {needed} needed")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Its value.
        found: f64,
        /// What it has to be.
        needed: String,
    },
    /// More clients hold a label than it has examples.
    #[error(
        "partition: label {label} has {available} examples but {asked} are needed to give every client that holds it one"
    )]
    LabelTooSmall {
        /// The label.
        label: usize,
        /// Examples needed.
        asked: usize,
        /// Examples there are.
        available: usize,
    },
    /// More examples of a label are asked for than there are.
    #[error(
        "partition: the clients ask for {asked} examples of label {label}, but there are only {available}"
    )]
    NotEnough {
        /// The label.
        label: usize,
        /// Examples asked for.
        asked: usize,
        /// Examples there are.
        available: usize,
        /// The setting that asks for them.
        setting: &'static str,
    },
    /// Every client holds several labels, and there are not as many.
    #[error("partition: {classes} classes, at least {needed} needed")]
    TooFewClasses {
        /// Classes there are.
        classes: usize,
        /// Labels of a client.
        needed: usize,
    },
    /// The dataset does not say whose what is.
    #[error(
        "partition: the dataset does not say which {kind} an example belongs to; choose another partition, such as iid"
    )]
    NoOwners {
        /// What an owner is called.
        kind: &'static str,
    },
    /// Not every client could have an owner.
    #[error(
        "partition: {clients} clients but only {owners} {kind}s of training examples; at most {owners} clients"
    )]
    TooFewOwners {
        /// What an owner is called.
        kind: &'static str,
        /// Clients asked for.
        clients: usize,
        /// Owners there are.
        owners: usize,
    },
    /// What follows in a text is no class to deal by.
    #[error(
        "partition: {partition} goes by labels, and the label of a text is the token that follows: use iid, quantity, \
         by_role or by_user"
    )]
    TextLabels {
        /// Name of the partition.
        partition: String,
    },
    /// Every draw left a client with too little.
    #[error(
        "partition: dirichlet with alpha {alpha} left a client with fewer than {min_examples} \
         examples in each of {draws} draws over {clients} clients; {}",
        match .suggestion {
            Some(enough) => format!("alpha {enough} would do, or `shortfall: top_up`"),
            None => "no alpha would do: take fewer clients, a smaller min_examples, or `shortfall: top_up`".to_owned(),
        }
    )]
    Dirichlet {
        /// The concentration asked for.
        alpha: f64,
        /// Clients asked for.
        clients: usize,
        /// The fewest examples a client may have.
        min_examples: usize,
        /// Draws made.
        draws: usize,
        /// The smallest of the concentrations 1, 2, 5, 10, ... times a power of ten that works.
        suggestion: Option<f64>,
    },
    /// Test examples are to go to the client of their owner, and an owner has two clients.
    #[error(
        "partition: owner {owner} has training examples with client {first} and with client {second}, so that its test examples \
         belong to neither"
    )]
    OwnerOfTwoClients {
        /// The owner.
        owner: u32,
        /// Its client.
        first: u32,
        /// Another one.
        second: u32,
    },
    /// A partition of a program's own does not do what it must.
    #[error("partition: {reason}")]
    Own {
        /// What is wrong.
        reason: String,
    },
    /// Neither counts nor sizes with ratios, or both.
    #[error("partition: explicit needs either counts, or sizes and ratios")]
    ExplicitForm,
    /// A table has a row too many or too few.
    #[error("partition: explicit {table} has {found} rows, {needed} needed, one per client")]
    ExplicitRows {
        /// Name of the table.
        table: &'static str,
        /// Rows found.
        found: usize,
        /// Rows needed.
        needed: usize,
    },
    /// A row of a table has an entry too many or too few.
    #[error(
        "partition: explicit {table} of client {client} has {found} entries, {needed} needed, one per label"
    )]
    ExplicitColumns {
        /// Name of the table.
        table: &'static str,
        /// The row.
        client: usize,
        /// Entries found.
        found: usize,
        /// Entries needed.
        needed: usize,
    },
    /// The entries of a row of a table are all 0, or too large to be added.
    #[error(
        "partition: explicit {table} of client {client} have the sum {found}, a number above 0 needed"
    )]
    ExplicitSum {
        /// Name of the table.
        table: &'static str,
        /// The row.
        client: usize,
        /// Sum of its entries.
        found: f64,
    },
    /// A client got nothing.
    #[error("partition: client {client} has no example")]
    EmptyClient {
        /// The client.
        client: usize,
    },
    /// An index points past the examples.
    #[error("partition: client {client} is given example {example} of {examples}")]
    OutOfRange {
        /// The client.
        client: usize,
        /// The index.
        example: u32,
        /// Examples there are.
        examples: usize,
    },
    /// An index of the test set points past the examples.
    #[error("partition: example {example} of {examples} is held out for the test set")]
    HeldOutRange {
        /// The index.
        example: u32,
        /// Examples there are.
        examples: usize,
    },
    /// An example of the test set is a client's, or is twice in it.
    #[error("partition: example {example} is given twice, the second time to the test set")]
    HeldOutShared {
        /// The index.
        example: u32,
    },
    /// Two shards hold the same example, or one holds it twice.
    #[error("partition: example {example} is given twice, the second time to client {client}")]
    Shared {
        /// The second owner.
        client: usize,
        /// The index.
        example: u32,
    },
}

impl PartitionError {
    /// What is wrong with the value of `setting`, a dotted path below `partition` such as `quantity.sigma`.
    pub(crate) fn setting(setting: &'static str, found: f64, needed: impl Into<String>) -> Self {
        Self::Setting {
            setting,
            found,
            needed: needed.into(),
        }
    }
}
