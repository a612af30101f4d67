//! What can be wrong with an overlay, its weights or its spectrum.

/// Why an overlay, a mixing matrix or a spectrum could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// An overlay without nodes was asked for.
    #[error("an overlay needs at least 1 node, found 0")]
    NoNodes,
    /// Node indices are 32 bit.
    #[error("an overlay has at most {limit} nodes, found {found}")]
    TooManyNodes {
        /// Nodes asked for.
        found: usize,
        /// Most nodes that an overlay may have.
        limit: usize,
    },
    /// Edges are numbered in 32 bits, once in each direction.
    #[error("an overlay has at most {limit} edges, found {found}")]
    TooManyEdges {
        /// Edges asked for.
        found: usize,
        /// Most edges that an overlay may list.
        limit: usize,
    },
    /// An edge names a node that does not exist.
    #[error("edge {a}-{b} leaves the overlay, whose {nodes} nodes are numbered from 0")]
    NodeOutOfRange {
        /// One end.
        a: u32,
        /// The other end.
        b: u32,
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// An edge joins a node to itself.
    #[error(
        "edge {node}-{node} is a self-loop; mixing weights give every node its own share without one"
    )]
    SelfLoop {
        /// The node.
        node: u32,
    },
    /// A line of an edge list cannot be read.
    #[error(
        "line {line}, column {column}: expected two node numbers as \"a b\" or \"a,b\", found {found}"
    )]
    EdgeLine {
        /// Line number, from 1.
        line: usize,
        /// Number of the character in the line, from 1.
        column: usize,
        /// What stands there, as [`redacted`](crate::redacted) calls it.
        found: String,
    },
    /// A line of a list of weights cannot be read.
    #[error(
        "line {line}: expected two node numbers and a weight as \"a b w\" or \"a,b,w\", found {found}"
    )]
    WeightLine {
        /// Line number, from 1.
        line: usize,
        /// What stands there, as [`redacted`](crate::redacted) calls it.
        found: String,
    },
    /// A list of weights leaves an edge out.
    #[error("edge {a}-{b} of the overlay has no weight")]
    MissingWeight {
        /// One end.
        a: u32,
        /// The other end.
        b: u32,
    },
    /// A list of weights has one for two nodes that the overlay does not link, or has not.
    #[error("there is a weight for {a} and {b}, which the overlay does not link")]
    WeightOfNoEdge {
        /// One end.
        a: u32,
        /// The other end.
        b: u32,
    },
    /// A list has two weights for an edge.
    #[error(
        "edge {a}-{b} has the weights {} and {}, needed one for both directions",
        weights[0],
        weights[1]
    )]
    AsymmetricWeights {
        /// One end.
        a: u32,
        /// The other end.
        b: u32,
        /// The weights.
        weights: [f64; 2],
    },
    /// A list gives a node a weight on itself with which its row does not sum to one.
    #[error(
        "node {node} gives itself the weight {found}, needed {needed}, with which its row sums to one"
    )]
    OwnWeight {
        /// The node.
        node: u32,
        /// Its weight in the list.
        found: f64,
        /// One minus the weights of its neighbours.
        needed: f64,
    },
    /// A line of an edge list joins a node to itself.
    #[error("line {line}: edge {node}-{node} is a self-loop; an edge joins two different nodes")]
    EdgeLineSelfLoop {
        /// Line number, from 1.
        line: usize,
        /// The node.
        node: u32,
    },
    /// The pairs of an edge list were never read from its file.
    #[error("edges: nothing was read from {file}; {nodes} nodes need at least {} edges to be connected", nodes - 1)]
    NoEdges {
        /// The file named by the configuration.
        file: String,
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// The overlay is not connected.
    #[error(
        "{topology}: {nodes} nodes fall into {components} components, an overlay must be connected"
    )]
    Disconnected {
        /// Label of the topology.
        topology: String,
        /// Nodes asked for.
        nodes: usize,
        /// Connected components found.
        components: usize,
    },
    /// The links of a directed overlay do not lead from every node to every other.
    #[error(
        "{topology}: nothing that node {from} sends can reach node {to}, not even through others; a directed overlay must lead from every \
         node to every other"
    )]
    OneWay {
        /// Label of the topology.
        topology: String,
        /// The node that sends.
        from: u32,
        /// The node that is not reached.
        to: u32,
    },
    /// No other random draw was connected.
    #[error(
        "{topology}: none of {draws} draws connected {nodes} nodes; take more neighbours per node"
    )]
    NeverConnected {
        /// Label of the topology.
        topology: String,
        /// Nodes asked for.
        nodes: usize,
        /// Draws made.
        draws: usize,
    },
    /// Cliques are asked for where the labels that nodes hold are not known.
    #[error(
        "d_cliques: the labels of the nodes are not known; \
         cliques are formed by them, so it needs nodes that hold labelled data"
    )]
    LabelsUnknown,
    /// Label counts that are not one row for each node.
    #[error("label counts: {found} rows are given for {nodes} nodes")]
    LabelCounts {
        /// Rows given.
        found: usize,
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// Label counts of different numbers of labels.
    #[error("label counts: node {node} has {found} labels, the nodes before it have {classes}")]
    LabelClasses {
        /// The node.
        node: usize,
        /// Its labels.
        found: usize,
        /// Labels of the nodes before it.
        classes: usize,
    },
    /// A node without examples has no label distribution.
    #[error("label counts: node {node} holds no examples, so its labels have no distribution")]
    NoLabels {
        /// The node.
        node: usize,
    },
    /// θ outside the interval for which the matrix mixes.
    #[error("laplacian: theta = {theta} must lie in 0..=1")]
    Theta {
        /// Value found.
        theta: f64,
    },
    /// A group names a node that does not exist.
    #[error("groups: a group names node {node}, but the nodes are 0 to {}", .nodes - 1)]
    GroupOutOfRange {
        /// The node.
        node: u32,
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// Groups that are no partition of the nodes.
    #[error(
        "groups: node {node} appears {times} times; every one of the {nodes} nodes must be in exactly one group"
    )]
    Groups {
        /// The node.
        node: usize,
        /// How often it appears.
        times: usize,
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// Numbers of examples that are not one for each node.
    #[error("examples: {found} numbers are given for {nodes} nodes")]
    Examples {
        /// Numbers given.
        found: usize,
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// Weights that go by examples on an overlay that does not know them.
    #[error("by_examples: how many examples each of the {nodes} nodes holds is not known")]
    UnknownExamples {
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// A mean over no examples.
    #[error(
        "by_examples: node {node} and its neighbours hold no examples, so its weights would be 0 / 0"
    )]
    NoExamples {
        /// The node.
        node: usize,
    },
    /// A component too large for its fastest weights to be computed.
    #[error(
        "fastest: a component of {nodes} nodes and {edges} edges exceeds {most_nodes} nodes or {most_edges} edges; \
         use laplacian (the best of equal weights) or metropolis_hastings"
    )]
    FastestSize {
        /// Nodes of the component.
        nodes: usize,
        /// Its edges.
        edges: usize,
        /// Most nodes.
        most_nodes: usize,
        /// Most edges.
        most_edges: usize,
    },
    /// Weights that could not be proved to be the fastest.
    #[error(
        "fastest: the norm found for {nodes} nodes and {edges} edges is proved to be within {gap:.1e} of the least, \
         {accuracy:.0e} is needed; use laplacian or metropolis_hastings"
    )]
    FastestGap {
        /// Nodes of the component.
        nodes: usize,
        /// Its edges.
        edges: usize,
        /// Distance from the least norm that was proved.
        gap: f64,
        /// Distance that must be proved.
        accuracy: f64,
    },
    /// A weight stands in a column that does not exist.
    #[error(
        "mixing matrix: row {row} has a weight in column {column}, but there are {columns} columns"
    )]
    ColumnOutOfRange {
        /// Row of the weight.
        row: usize,
        /// Its column.
        column: u32,
        /// Columns of the matrix.
        columns: usize,
    },
    /// A row names a column twice.
    #[error("mixing matrix: row {row} gives column {column} two weights")]
    DuplicateColumn {
        /// Row of the weight.
        row: usize,
        /// Its column.
        column: u32,
    },
    /// A weight that is infinite or not a number.
    #[error("mixing matrix: the weight {weight} in row {row}, column {column} is not finite")]
    NotFinite {
        /// Row of the weight; 0 where all rows are the same.
        row: usize,
        /// Its column.
        column: usize,
        /// The weight.
        weight: f64,
    },
    /// A spectrum of a matrix that does not belong to the overlay.
    #[error("spectrum: the mixing matrix is {rows} x {columns} but the overlay has {nodes} nodes")]
    SpectrumShape {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// A matrix that is neither similar to a symmetric one nor doubly stochastic.
    #[error(
        "spectrum: the {nodes} x {nodes} mixing matrix is neither reversible nor doubly stochastic, so lambda is not defined"
    )]
    NoLambda {
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// The dense eigenvalue solver gave up.
    #[error("spectrum: the eigenvalue iteration of a {nodes} x {nodes} matrix did not converge")]
    Eigenvalues {
        /// Nodes of the overlay.
        nodes: usize,
    },
    /// Symmetric weights on a directed overlay.
    #[error(
        "{weights}: these weights need undirected edges, the overlay is directed; uniform weights work on it"
    )]
    Directed {
        /// Label of the weights.
        weights: String,
    },
    /// A value of a configuration that cannot be.
    #[error("{setting}: found {found}, needed {needed}")]
    Setting {
        /// Dotted path of the value below `topology` or `failures`, such as `phases.1.rounds` or `0.clients.share`.
        setting: String,
        /// The value.
        found: String,
        /// What it must be.
        needed: String,
    },
    /// A round of an overlay before what all its rounds have in common was decided.
    #[error("the overlay was not prepared: `Topology::prepare` comes before its rounds")]
    Unprepared,
    /// `prescribed` weights on an overlay that brings none.
    #[error(
        "prescribed weights need an overlay that brings weights of its own, such as base_graph, equi_static, equi_dyn and matcha; \
         this one brings none"
    )]
    NotPrescribed,
    /// A matrix that cannot be the weights of an overlay.
    #[error("the weights that the overlay brings: {reason}")]
    OverlayWeights {
        /// What is wrong.
        reason: String,
    },
    /// An overlay or weights that a user's program adds do not do what they must.
    #[error("{name}: {reason}")]
    Own {
        /// `topology` or `weights`.
        setting: &'static str,
        /// The name in the configuration.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// An overlay that is part of a schedule could not be made.
    #[error("{setting}: {source}")]
    Within {
        /// Dotted path of the overlay below `topology`, such as `phases.1.of`.
        setting: String,
        /// Why.
        source: Box<TopologyError>,
    },
    /// An overlay after failures has an edge that the whole one has not, and so a weight is missing.
    #[error(
        "weights: edge {a}-{b} is not in the overlay before the failures, so it has no weight to keep"
    )]
    NewEdge {
        /// One end.
        a: u32,
        /// The other end.
        b: u32,
    },
    /// The joint λ of no matrices.
    #[error("joint lambda: no mixing matrix was given")]
    NoMatrices,
}

impl TopologyError {
    /// What is wrong with the value at `setting`, a dotted path below `topology` such as `ring.hops`, or `own.KEY` of an overlay of a
    /// program's own.
    pub fn setting(
        setting: impl Into<String>,
        found: impl ToString,
        needed: impl Into<String>,
    ) -> Self {
        Self::Setting {
            setting: setting.into(),
            found: found.to_string(),
            needed: needed.into(),
        }
    }

    /// Says that it was the overlay at `setting`, a dotted path below `topology` such as `redraw.of`, that could not be made.
    pub(crate) fn within(setting: impl Into<String>) -> impl FnOnce(Self) -> Self {
        |source| Self::Within {
            setting: setting.into(),
            source: Box::new(source),
        }
    }

    /// Requires that the value at `setting` is a probability.
    ///
    /// # Errors
    /// [`TopologyError::Setting`].
    pub(crate) fn expect_probability(setting: &str, found: f64) -> Result<(), Self> {
        match (0.0..=1.0).contains(&found) {
            true => Ok(()),
            false => Err(Self::setting(setting, found, "a probability, from 0 to 1")),
        }
    }
}
