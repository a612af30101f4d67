//! Between which nodes the messages of a method may go.

/// Two nodes, in either order: clients are `0..N`, and servers follow them.
pub type Pair = (u32, u32);

/// Between which nodes a method may send messages, whatever it happens to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageScope {
    /// Nobody sends anything.
    Nobody,
    /// Neighbours on the overlay; if its nodes are servers, also servers and their clients.
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
