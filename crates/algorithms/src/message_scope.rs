//! Between which nodes the messages of a method may go.

/// Who sends and who receives: clients `0..N`, and servers behind them.
pub type Pair = (u32, u32);

/// Between which nodes the messages of a method may go, whoever happens to be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageScope {
    /// Nobody sends anything.
    Nobody,
    /// Neighbours on the overlay, and where its nodes are servers these with their clients.
    Neighbours,
    /// Any two clients.
    AnyTwo,
    /// These, and no others.
    Pairs(Vec<Pair>),
}

impl MessageScope {
    /// Every one of `clients` clients with the one server.
    pub fn of_one_server(clients: usize) -> Self {
        let server = clients as u32;
        Self::Pairs((0..server).map(|client| (server, client)).collect())
    }
}
