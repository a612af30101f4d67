//! The threads that compute the rows.

use crate::cpu::{Cpu, pool};
use crate::error::EngineError;
use crate::network::Network;
use crate::shared_work::part;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// The threads that rows are dealt to.
#[derive(Debug)]
pub(super) enum Workers {
    /// The threads of the device, which may also share the products of one row.
    Together(Cpu),
    /// As many pools of one thread each. What burn computes for a row stays on its thread, so that it neither depends on
    /// the number of threads nor waits for another row.
    Apart(Vec<ThreadPool>),
}

/// How items are dealt to threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deal {
    /// At most so many neighbours at once.
    Grains(usize),
    /// One after the other, all threads sharing the products of each.
    InTurn,
}

impl Workers {
    /// As many as `cpu` has threads.
    ///
    /// # Errors
    /// [`EngineError::Device`] if the threads cannot be started.
    pub(super) fn new(cpu: &Cpu, network: &Network) -> Result<Self, EngineError> {
        if network.own_model().is_none() {
            return Ok(Self::Together(cpu.clone()));
        }
        let pools = (0..cpu.threads()).map(|_| pool(Some(1)));
        Ok(Self::Apart(pools.collect::<Result<_, _>>()?))
    }

    /// Whether the threads share the work of each row, as there are fewer than threads. The bits are the same.
    pub(super) fn share(&self, rows: usize) -> bool {
        match self {
            Self::Together(cpu) => rows < cpu.threads(),
            Self::Apart(_) => false,
        }
    }

    /// What `work` makes of every item, in their order.
    ///
    /// # Errors
    /// The error of an item that has one.
    pub(super) fn map<T: Send, U: Send>(
        &self,
        items: Vec<T>,
        deal: Deal,
        work: impl Fn(T) -> Result<U, EngineError> + Sync + Send,
    ) -> Result<Vec<U>, EngineError> {
        match (self, deal) {
            (Self::Together(cpu), Deal::InTurn) => {
                cpu.install(|| items.into_iter().map(work).collect())
            }
            (Self::Together(cpu), Deal::Grains(most)) => cpu.install(|| {
                let items = items.into_par_iter().with_max_len(most);
                items.map(|item| part(|| work(item))).collect()
            }),
            (Self::Apart(pools), _) => apart(pools, items, work),
        }
    }
}

/// Each pool takes the next item as soon as it is done with one.
fn apart<T: Send, U: Send>(
    pools: &[ThreadPool],
    items: Vec<T>,
    work: impl Fn(T) -> Result<U, EngineError> + Sync,
) -> Result<Vec<U>, EngineError> {
    let (queue, work) = (Mutex::new(items.into_iter().enumerate()), &work);
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.next()
    };
    let (next, done) = (&next, Mutex::new(Vec::new()));
    let take_all = || {
        while let Some((index, item)) = next() {
            let result = work(item);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for pool in pools {
            scope.spawn(|| pool.install(take_all));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
