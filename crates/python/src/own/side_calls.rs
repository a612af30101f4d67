//! What a method in Python had trained besides the models of the clients, for errors where that is no longer finite.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use meshfold_engine::{Amount, RowWork};

/// The most rows of calls that are remembered: the earliest are forgotten.
const MOST_ROWS: usize = 1 << 18;

/// Calls of `round.train` and `round.gradients` with other stacks than that of the clients' models.
#[derive(Debug, Default)]
pub(super) struct SideCalls(Mutex<VecDeque<SideCall>>);

#[derive(Debug, PartialEq)]
struct SideCall {
    round: usize,
    verb: &'static str,
    /// The client that each row worked for; none of an idle row.
    clients: Vec<Option<u32>>,
}

impl SideCalls {
    /// Takes note of the work of `rows` that `verb` was asked for in `round`.
    pub(super) fn note(&self, round: usize, verb: &'static str, rows: &[RowWork]) {
        let client = |row: &RowWork| (row.amount != Amount::Idle).then_some(row.client);
        let call = SideCall {
            round,
            verb,
            clients: rows.iter().map(client).collect(),
        };
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.back() == Some(&call) {
            return;
        }
        calls.push_back(call);
        let mut held: usize = calls.iter().map(|call| call.clients.len()).sum();
        while held > MOST_ROWS && calls.len() > 1 {
            held -= calls.pop_front().map_or(0, |call| call.clients.len());
        }
    }

    /// The calls of `round` in which row `row` worked, in words; none if there was none, or it is forgotten.
    pub(super) fn of(&self, round: usize, row: usize) -> Option<String> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told: Vec<String> = Vec::new();
        for call in calls.iter().filter(|call| call.round == round) {
            let Some(Some(client)) = call.clients.get(row) else {
                continue;
            };
            let words = format!("{} of client {client}'s examples", call.verb);
            if !told.contains(&words) {
                told.push(words);
            }
        }
        let more = told.len() > 3;
        told.truncate(3);
        let more = if more { ", or others" } else { "" };
        (!told.is_empty()).then(|| {
            format!(
                "row {row} of a stack other than `models`, given to {}{more},",
                told.join(" or ")
            )
        })
    }
}
