//! Examples that rows see outside their local steps: mini-batches that are drawn and not trained on yet, and examples that a
//! method chooses.

use super::batches::StepPlan;
use super::context::{Context, no_validation};
use crate::error::EngineError;
use crate::network::dropout::Dropout;
use meshfold_data::{Examples, Partition};

/// The examples that indices count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleSet {
    /// The training examples.
    Train,
    /// The examples kept apart for validation.
    Validation,
    /// The test examples.
    Test,
}

/// Examples of every row of a stack, each a list of its own, or one list for all.
///
/// The mini-batches of [`Learner::next_batches`](crate::Learner::next_batches) are as training sees them: their images are augmented, and
/// dropout leaves out what it leaves out in that step. Examples that are [chosen](Self::each) are as they are stored, without dropout.
#[derive(Debug, Clone)]
pub struct RowExamples {
    set: ExampleSet,
    lists: Lists,
}

#[derive(Debug, Clone)]
enum Lists {
    /// One for all rows.
    Same(Vec<u32>),
    Each(Vec<Vec<u32>>),
    /// The next mini-batches of all rows, and the steps that they are for; a row that is idle has none.
    Drawn(Vec<Vec<u32>>, Vec<Option<StepPlan>>),
}

/// Examples of every row, as trainers are given them.
#[derive(Debug, Clone)]
pub(crate) struct SeenExamples<'a> {
    pub(crate) set: ExampleSet,
    /// The indices of each row's examples, `[R]` lists. A row without any has nothing to do.
    pub(crate) rows: Vec<&'a [u32]>,
    /// What each row leaves out, `[R]`.
    pub(crate) dropout: Vec<Option<Dropout>>,
    /// Those of each row's loss, `[R]`.
    pub(crate) slopes: Vec<RowSlopes<'a>>,
}

/// The gradient of a row's loss by what its model computes of the examples.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowSlopes<'a> {
    /// By the outputs, `[B, T, C]`; if absent, the gradient of the network's loss.
    pub(crate) outputs: Option<&'a [f32]>,
    /// By the representations besides, `[B, T, H]`.
    pub(crate) representations: Option<&'a [f32]>,
}

impl ExampleSet {
    /// Those that the indices of the [local test sets](Partition::local_test) of `partition` count.
    pub fn of_local_tests(partition: &Partition) -> Self {
        match partition.has_tests_of_owners() {
            true => Self::Test,
            false => Self::Train,
        }
    }

    /// These examples.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if there are no examples for validation.
    pub(crate) fn of<'a>(self, context: &Context<'a>) -> Result<&'a Examples, EngineError> {
        match self {
            Self::Train => Ok(context.train),
            Self::Validation => context.validation.ok_or_else(no_validation),
            Self::Test => Ok(context.test),
        }
    }
}

impl RowExamples {
    /// The examples `lists[i]` of `set` for row `i`.
    pub fn each(set: ExampleSet, lists: Vec<Vec<u32>>) -> Self {
        Self {
            set,
            lists: Lists::Each(lists),
        }
    }

    /// The same examples `list` of `set` for all rows, however many there are.
    pub fn same(set: ExampleSet, list: Vec<u32>) -> Self {
        Self {
            set,
            lists: Lists::Same(list),
        }
    }

    /// Mini-batches of the training examples, and the steps that they are for.
    pub(crate) fn drawn(lists: Vec<Vec<u32>>, steps: Vec<Option<StepPlan>>) -> Self {
        Self {
            set: ExampleSet::Train,
            lists: Lists::Drawn(lists, steps),
        }
    }

    /// The examples that the indices count.
    pub fn set(&self) -> ExampleSet {
        self.set
    }

    /// The indices of the examples of each row, or a single list that is for all rows. Those of augmented images are
    /// [variants](meshfold_data::Variant).
    pub fn lists(&self) -> &[Vec<u32>] {
        match &self.lists {
            Lists::Same(list) => std::slice::from_ref(list),
            Lists::Each(lists) | Lists::Drawn(lists, _) => lists,
        }
    }

    /// How many rows they are for; as many as there are if `None`.
    pub fn rows(&self) -> Option<usize> {
        match &self.lists {
            Lists::Same(_) => None,
            Lists::Each(lists) | Lists::Drawn(lists, _) => Some(lists.len()),
        }
    }

    /// Indices of the examples of row `row`.
    pub fn of_row(&self, row: usize) -> &[u32] {
        match &self.lists {
            Lists::Same(list) => list,
            Lists::Each(lists) | Lists::Drawn(lists, _) => &lists[row],
        }
    }

    /// The learning rates of the steps that mini-batches were drawn for, `[R]`, 0 for idle rows; `None` of chosen examples.
    pub fn rates(&self) -> Option<Vec<f32>> {
        let rate = |step: &Option<StepPlan>| step.map_or(0.0, |step| step.rate);
        let steps = self.steps()?.iter();
        Some(steps.map(rate).collect())
    }

    /// The steps that mini-batches were drawn for.
    pub(crate) fn steps(&self) -> Option<&[Option<StepPlan>]> {
        match &self.lists {
            Lists::Drawn(_, steps) => Some(steps),
            Lists::Same(_) | Lists::Each(_) => None,
        }
    }
}

impl<'a> SeenExamples<'a> {
    /// All training examples of each of `clients`, `[R]`.
    pub(crate) fn of_shards(context: &Context<'a>, clients: &[u32]) -> Self {
        Self {
            set: ExampleSet::Train,
            rows: context.shards(clients),
            dropout: vec![None; clients.len()],
            slopes: vec![RowSlopes::default(); clients.len()],
        }
    }

    /// Whether all rows see one list.
    pub(crate) fn is_one_list(&self) -> bool {
        let first = self.rows.first();
        first.is_some_and(|first| self.rows.iter().all(|list| std::ptr::eq(*list, *first)))
    }
}
