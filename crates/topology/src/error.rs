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
    /// No Erdős–Rényi draw was connected.
    #[error(
        "erdos_renyi: none of {draws} draws with p = {p} connected {nodes} nodes; \
         p should exceed ln N / N = {threshold:.4}"
    )]
    ErdosRenyiNeverConnected {
        /// Edge probability.
        p: f64,
        /// Nodes asked for.
        nodes: usize,
        /// Draws made.
        draws: usize,
        /// ln N / N, above which draws tend to be connected.
        threshold: f64,
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
    /// A ring without hops, or with hops beyond the opposite node.
    #[error("ring: hops = {hops} must lie in 1..={} for {nodes} nodes", (nodes / 2).max(1))]
    RingHops {
        /// Hops asked for.
        hops: usize,
        /// Nodes asked for.
        nodes: usize,
    },
    /// A rectangle's rows do not divide the nodes.
    #[error(
        "{topology}: {nodes} nodes do not fill {rows} rows of equal length; rows must divide {nodes}"
    )]
    Rows {
        /// `grid` or `torus`.
        topology: &'static str,
        /// Rows asked for.
        rows: usize,
        /// Nodes asked for.
        nodes: usize,
    },
    /// A prime number of nodes fills no rectangle.
    #[error(
        "{topology}: {nodes} nodes is prime and fills only a single row; \
         use {} or {} nodes, or say rows: 1", nodes - 1, nodes + 1
    )]
    PrimeRectangle {
        /// `grid` or `torus`.
        topology: &'static str,
        /// Nodes asked for.
        nodes: usize,
    },
    /// A tree without branches.
    #[error("balanced_tree: branching must be at least 1, found 0")]
    Branching,
    /// A barbell's parts do not add up.
    #[error(
        "barbell: two cliques of m1 = {m1} and a path of m2 = {m2} need 2*m1 + m2 nodes with m1 >= 1, found {nodes}"
    )]
    BarbellNodes {
        /// Nodes per clique.
        m1: usize,
        /// Nodes on the path between the cliques.
        m2: usize,
        /// Nodes asked for.
        nodes: usize,
    },
    /// A probability outside 0..=1.
    #[error("{topology}: {field} = {found} is not a probability in 0..=1")]
    Probability {
        /// Name of the topology.
        topology: &'static str,
        /// Name of the field.
        field: &'static str,
        /// Value found.
        found: f64,
    },
    /// Odd degree times odd nodes: the degrees cannot sum to twice the edges.
    #[error(
        "regular: degree {degree} on {nodes} nodes gives half an edge; \
         one of them must be even, such as degree {}", degree.saturating_sub(1).max(2)
    )]
    OddRegular {
        /// Degree asked for.
        degree: usize,
        /// Nodes asked for.
        nodes: usize,
    },
    /// A degree that no connected simple graph of this size has.
    #[error(
        "regular: degree {degree} is impossible in a connected overlay of {nodes} nodes; it must lie in {least}..={most}"
    )]
    RegularDegree {
        /// Degree asked for.
        degree: usize,
        /// Nodes asked for.
        nodes: usize,
        /// Smallest degree possible.
        least: usize,
        /// Largest degree possible.
        most: usize,
    },
    /// A perfect matching that avoids the ring needs an even number of nodes, at least 4.
    #[error(
        "ring_plus_matching: {nodes} nodes cannot be matched in pairs that are no ring neighbours; use an even number from 4 on"
    )]
    MatchingNodes {
        /// Nodes asked for.
        nodes: usize,
    },
    /// Ring spaces that ask for more neighbours than there are nodes.
    #[error("virtual_rings: {spaces} spaces give up to {} neighbours; {}", 2 * spaces, match nodes {
        0..3 => format!("{nodes} nodes are too few for any, at least 3 are needed"),
        _ => format!("{nodes} nodes allow 1..={} spaces", (nodes - 1) / 2),
    })]
    Spaces {
        /// Ring spaces asked for.
        spaces: usize,
        /// Nodes asked for.
        nodes: usize,
    },
    /// A ring lattice that cannot be built.
    #[error("watts_strogatz: {}", match nodes {
        0..3 => format!("found {nodes} nodes, at least 3 are needed"),
        _ => format!("neighbours = {neighbours} must be even, at least 2 and below the {nodes} nodes"),
    })]
    LatticeNeighbours {
        /// Neighbours per node asked for.
        neighbours: usize,
        /// Nodes asked for.
        nodes: usize,
    },
    /// Cliques of no nodes, or of more than there are.
    #[error("d_cliques: max_clique_size = {size} must lie in 1..={nodes} for {nodes} nodes")]
    CliqueSize {
        /// Most nodes per clique asked for.
        size: usize,
        /// Nodes asked for.
        nodes: usize,
    },
    /// A small world of cliques that joins none, or more than there can be.
    #[error("d_cliques: small_world: c = {c} must lie in 1..={nodes} for {nodes} nodes")]
    SmallWorldReach {
        /// Cliques joined to at each distance and side.
        c: usize,
        /// Nodes asked for.
        nodes: usize,
    },
    /// A privacy level that gives no noise.
    #[error("d_cliques: noise: epsilon = {found} must be positive and finite")]
    Epsilon {
        /// Value found.
        found: f64,
    },
    /// Views of leaders that are too small, so that leaders lose sight of each other, or too large.
    #[error("d_cliques: leaders: view = {found} must lie in {least}..={most}")]
    LeaderView {
        /// Others in a view.
        found: usize,
        /// Fewest others.
        least: usize,
        /// Most others.
        most: usize,
    },
    /// More edges to remove than a clique has.
    #[error(
        "d_cliques: removed_edges = {removed}, but a clique of {nodes} nodes has {edges} edges"
    )]
    RemovedEdges {
        /// Edges that each clique is to lose.
        removed: usize,
        /// Nodes of the smallest clique.
        nodes: usize,
        /// Its edges.
        edges: usize,
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
    /// Numbers of participating clients that are not one for each server.
    #[error("participants: {found} numbers are given for {servers} servers")]
    Participants {
        /// Numbers given.
        found: usize,
        /// Servers, the nodes of the overlay.
        servers: usize,
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
    /// `equi_static` without a shift, or with more than anybody needs.
    #[error("equi_static: found links = {found}, needed a number from 1 to {limit}")]
    EquiLinks {
        /// Shifts asked for.
        found: usize,
        /// Most shifts.
        limit: usize,
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
