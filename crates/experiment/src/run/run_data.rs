//! The examples of a run as it begins: read whole by one process, or in pieces that ranks deal among them.

use std::borrow::Cow;
use std::sync::Arc;

use meshfold_data::{Examples, ExamplesBuilder, ListedPieces, Splits, TrainingList};
use meshfold_engine::{Device, Ranks};

use crate::plan::run_plan::RunPlan;
use crate::results::data_digests::DataDigests;
use crate::results::run_error::RunError;
use crate::run::ranks::expect_same_data;

/// Takes one piece of training examples after another.
type See<'a> = &'a mut dyn FnMut(&Examples);

/// The examples of a run, as its partition counts them.
pub(crate) struct RunData {
    /// The examples that this process keeps. One of several ranks keeps the training examples of its own clients only.
    pub(crate) splits: Splits,
    /// What is known of all examples, on a rank that reads for its machine.
    read: Option<Read>,
    /// All training examples, on rank 0 of a run that measures them.
    all: Option<Arc<Examples>>,
    /// Whether this process keeps all of them.
    is_alone: bool,
}

/// What is known of all examples once they have been read.
struct Read {
    digests: Option<Result<DataDigests, RunError>>,
    /// The training examples without features, over several ranks only: a single process has the examples themselves.
    list: Option<TrainingList<'static>>,
}

impl RunData {
    /// Reads the data of `plan`. Without an argument `read` returns all of it; otherwise it passes the training
    /// examples to its argument, in pieces. Called by a single process, and by rank 0 while the others
    /// [follow](RunData::read_following).
    ///
    /// # Errors
    /// That of `read`.
    pub(crate) fn read<E>(
        plan: &RunPlan,
        device: &Device,
        mut read: impl FnMut(Option<See<'_>>) -> Result<Splits, E>,
    ) -> Result<Self, E> {
        let Some(ranks) = device.ranks() else {
            let data = read(None)?;
            let digests = DataDigests::of(plan, &data);
            return Ok(Self {
                splits: data.apply_partition(&plan.partition),
                read: Some(Read {
                    digests: Some(digests),
                    list: None,
                }),
                all: None,
                is_alone: true,
            });
        };
        let data = Self::dealt(plan, device, |see| read(Some(see)));
        let known = data.as_ref().ok().and_then(Option::as_ref);
        expect_same_data(ranks, known.and_then(Self::digests));
        Ok(data?.expect("who leads reads for itself"))
    }

    /// The data of `plan` on a rank other than 0. The rank reads if it is the first of its machine. `None` if rank 0
    /// has no data, and ends the run.
    ///
    /// # Errors
    /// That of `read`, unless rank 0 has no data either.
    pub(crate) fn read_following<E>(
        plan: &RunPlan,
        device: &Device,
        read: impl FnMut(See<'_>) -> Result<Splits, E>,
    ) -> Result<Option<Self>, E> {
        let ranks = device.ranks().expect("there is a rank to follow");
        let data = Self::dealt(plan, device, read);
        let known = data.as_ref().ok().and_then(Option::as_ref);
        if !expect_same_data(ranks, known.and_then(Self::digests)) {
            return Ok(None);
        }
        let data = data?;
        let digests = data
            .as_ref()
            .and_then(|data| data.read.as_ref()?.digests.as_ref());
        if let Some(Err(error)) = digests {
            ranks.abort(&error.to_string());
        }
        Ok(data)
    }

    /// What this rank keeps of the data that it, or another rank of its machine, reads; `None` if that rank cannot.
    fn dealt<E>(
        plan: &RunPlan,
        device: &Device,
        mut read: impl FnMut(See<'_>) -> Result<Splits, E>,
    ) -> Result<Option<Self>, E> {
        let placement = plan.placement.as_ref();
        device.place(placement.map_or(&[], |placement| &placement.owners));
        let measures =
            plan.config.evaluate.measures_examples() && device.ranks().is_some_and(Ranks::leads);
        let (mut known, mut all, mut failed) = (None, None, None);
        let splits = device.deal(&plan.partition, &mut |see| {
            let count = plan.dataset.train();
            let mut listed = ListedPieces::of(count);
            let mut gathered = measures.then(|| ExamplesBuilder::of(count));
            let left = read(&mut |piece| {
                listed.push(piece);
                if let Some(gathered) = &mut gathered {
                    gathered.push(piece);
                }
                see(piece);
            });
            let left = left.map_err(|error| failed = Some(error)).ok()?;
            let (list, train, outline) = listed.finish(&left);
            known = Some(Read {
                digests: Some(DataDigests::of_parts(
                    plan,
                    outline,
                    &train,
                    left.test.digest(),
                )),
                list: Some(list.apply_partition(&left.test, &plan.partition)),
            });
            all = gathered.map(|gathered| {
                let whole = Splits {
                    train: Arc::new(gathered.finish(&left.train)),
                    ..left.clone()
                };
                whole.apply_partition(&plan.partition).train
            });
            Some(left)
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(splits.map(|splits| Self {
                splits,
                read: known,
                all,
                is_alone: false,
            })),
        }
    }

    /// The digests, if this process has read the data and they match the plan.
    fn digests(&self) -> Option<&DataDigests> {
        self.read.as_ref()?.digests.as_ref()?.as_ref().ok()
    }

    /// The digests of data that this process has read.
    ///
    /// # Errors
    /// [`RunError::Unplanned`] if the data have changed since they were planned with.
    ///
    /// # Panics
    /// If it has read none, or has given its digests away.
    pub(crate) fn take_digests(&mut self) -> Result<DataDigests, RunError> {
        let digests = self.read.as_mut().and_then(|read| read.digests.take());
        digests.expect("who leads has read the examples")
    }

    /// The training examples without their features, if this process has read them.
    pub(crate) fn list(&self) -> Option<Cow<'_, TrainingList<'_>>> {
        match &self.read.as_ref()?.list {
            Some(list) => Some(Cow::Borrowed(list)),
            None => Some(Cow::Owned(TrainingList::of(&self.splits.train))),
        }
    }

    /// All training examples, if this process has them.
    pub(crate) fn all(&self) -> Option<&Examples> {
        match self.is_alone {
            true => Some(&self.splits.train),
            false => self.all.as_deref(),
        }
    }
}
