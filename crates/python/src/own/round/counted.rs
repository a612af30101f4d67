//! What a method counts: steps that it makes itself, and messages.

use std::sync::atomic::Ordering;

use meshfold_engine::Stack;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::super::messages::{self, Ends, Ways};
use super::super::row_work::whole_steps;
use super::super::stack::PyStack;
use super::super::{compression, layers as named_layers, number_lists};
use super::PyRound;

/// The most examples that one call counts for a client: sums of more might be too many for a count.
const MOST_EXAMPLES: u64 = 1_000_000_000_000;

#[pymethods]
impl PyRound {
    #[doc = documented!("Round.count")]
    #[pyo3(signature = (steps, *, examples=None))]
    fn count(
        &self,
        py: Python<'_>,
        steps: &Bound<'_, PyAny>,
        examples: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let clients = self.setting.clients;
        let numbers = number_lists::one_or_each(steps, "count: `steps`", clients, "client")?;
        let mut steps = whole_steps(&numbers, "count", "client")?;
        for (steps, _) in steps
            .iter_mut()
            .zip(&self.alive)
            .filter(|(_, alive)| !**alive)
        {
            *steps = 0;
        }
        let examples = examples.map(|examples| {
            let name = "count: `examples`";
            let numbers = number_lists::one_or_each(examples, name, clients, "client")?;
            number_lists::up_to(MOST_EXAMPLES, &numbers, name, "client")
        });
        let examples = examples.transpose()?;
        let sizes = &self.setting.shard_sizes;
        self.uses.counts.note();
        self.with(py, move |lent| {
            let of_steps = |client: usize| {
                let batch = lent.training.sgd.batch_on(sizes[client]) as u64;
                u64::from(steps[client]) * batch
            };
            let of_client = |client: usize| match &examples {
                _ if steps[client] == 0 => 0,
                Some(examples) => examples[client],
                None => of_steps(client),
            };
            let seen = (0..clients).map(of_client).sum();
            let all = steps.iter().map(|steps| u64::from(*steps)).sum();
            lent.round.learner.count_elsewhere(clients, all, seen);
            lent.round.traffic.compute(steps);
            Ok(())
        })
    }

    #[doc = documented!("Round.quantize")]
    #[pyo3(signature = (stack, bits, *, norm="model"))]
    fn quantize<'py>(
        &self,
        py: Python<'py>,
        stack: &Bound<'py, PyAny>,
        bits: u32,
        norm: &str,
    ) -> PyResult<Bound<'py, PyStack>> {
        let stack = PyStack::argument(stack, "quantize: `stack`")?;
        let quantise = compression::quantise(bits, norm)?;
        let visit = self.quantized.fetch_add(1, Ordering::Relaxed);
        let mut changed = stack.try_borrow_mut()?;
        let rows = changed.stack_mut()?;
        self.with(py, |lent| {
            rows.quantize(&quantise.quantiser(rows.rows(), &lent.round, visit));
            Ok(())
        })?;
        let layout = &self.setting.layout;
        let bytes = quantise.message_bytes(layout.parameters(), layout.blocks().len());
        changed.set_message_bytes(Some(bytes));
        drop(changed);
        Ok(stack.clone())
    }

    #[doc = documented!("Round.send")]
    #[pyo3(signature = (stack=None, *, bytes=None, edges=None, to=None, from_=None, models=false, layers=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are the arguments of a function in Python"
    )]
    fn send(
        &self,
        py: Python<'_>,
        stack: Option<&Bound<'_, PyAny>>,
        bytes: Option<&Bound<'_, PyAny>>,
        edges: Option<&Bound<'_, PyAny>>,
        to: Option<&Bound<'_, PyAny>>,
        from_: Option<&Bound<'_, PyAny>>,
        models: bool,
        layers: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let wrong = match layers {
            Some(_) if stack.is_none() => "no stack that they are of",
            Some(_) if models => "`models=True`, by which whole models are sent",
            _ => "",
        };
        if !wrong.is_empty() {
            return Err(PyValueError::new_err(format!(
                "send: found `layers` with {wrong}"
            )));
        }
        if models && stack.is_none() {
            return Err(PyValueError::new_err(
                "send: `models=True` says that the stack has the models that clients send, and there is none",
            ));
        }
        let named = |stack| PyStack::argument(stack, "send: `stack`");
        let stack = stack.map(named).transpose()?;
        let are_whole = layers.is_none();
        let is_own = |stack: &&Bound<'_, PyStack>| are_whole && !self.is_side(stack);
        let are_models = models || stack.as_ref().is_some_and(is_own);
        let stack = stack.map(Bound::try_borrow).transpose()?;
        let clients = self.setting.clients;
        let from = from_;
        let ways = Ends { edges, to, from }.ways(clients, self.has_server)?;
        if self.mixing.is_none() && matches!(ways, Ways::Neighbours) {
            return Err(PyRuntimeError::new_err(
                "this method says `overlay = False`, so its rounds have no neighbours: name senders and receivers by `edges`, or \
                 \"server\" by `to` or `from_`",
            ));
        }
        if let (Some(stack), Ways::Neighbours) = (&stack, &ways) {
            let rows = stack.stack()?.rows();
            if rows != clients {
                return Err(PyValueError::new_err(format!(
                    "send: the stack has {rows} rows, but each of {clients} clients sends one: name senders and receivers by `edges`"
                )));
            }
        }
        let (count, each) = ways.messages(clients);
        let sizes = match (&stack, bytes) {
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err(
                    "send: give a stack or a number of bytes, not both",
                ));
            }
            (_, Some(bytes)) => messages::sizes(bytes, count, each)?,
            (stack, None) => {
                let of_stack = stack.as_ref().and_then(|stack| stack.message_bytes());
                let size = match (of_stack, layers) {
                    (Some(_), Some(_)) => {
                        return Err(PyValueError::new_err(
                            "send: found `layers` of a stack that is compressed as a whole, needed the bytes of a message: `bytes=`",
                        ));
                    }
                    (None, Some(names)) => {
                        let (sent, _) = named_layers::parted(names, &self.setting.layout, "send")?;
                        4 * sent.iter().map(|block| block.size() as u64).sum::<u64>()
                    }
                    (of_stack, None) => of_stack.unwrap_or(self.setting.model_bytes()),
                };
                vec![size; count]
            }
        };
        let shown = stack.as_ref().filter(|_| are_models);
        let shown = shown.map(|stack| stack.stack()).transpose()?;
        if let Some(rows) = shown.map(Stack::rows).filter(|rows| *rows != clients) {
            return Err(PyValueError::new_err(format!(
                "send: the stack has {rows} rows, needed those of {clients} clients with `models=True`"
            )));
        }
        self.uses.send.note();
        self.with(py, move |mut lent| {
            if let Some(models) = shown.filter(|_| lent.round.is_to_show()) {
                lent.round.show(models);
                lent.uses.shown.note();
            }
            if ways.are_one_way(&lent.round) {
                lent.uses.one_way.note();
            }
            ways.count(&sizes, &mut lent.round)
        })
    }
}
