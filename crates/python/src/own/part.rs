//! A part of an experiment that Python has made, of whatever kind.

use std::sync::Arc;

use meshfold_data::{OwnDataset, OwnPartition, Shape, Splits};
use meshfold_engine::OwnSchedule;
use meshfold_experiment::{Own, OwnName};
use meshfold_topology::{OverlayChange, OwnOverlay, OwnWeights};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::dataset::{ExampleArrays, InMemory};
use super::learning_rate::RateByFunction;
use super::model;
use super::overlay::{Graph, GraphByFunction, pairs};
use super::partition::{Dealt, Lists};
use super::weights::{Entries, Matrix, rows};

/// A part of an experiment, made in Python.
#[pyclass(name = "Part", module = "meshfold", frozen)]
pub(crate) struct PyPart {
    name: String,
    version: String,
    made: Made,
}

#[derive(Clone)]
enum Made {
    Overlay(Arc<dyn OwnOverlay>),
    Weights(Arc<dyn OwnWeights>),
    Partition(Arc<dyn OwnPartition>),
    Dataset(Arc<dyn OwnDataset>),
    LearningRate(Arc<dyn OwnSchedule>),
    /// An object whose `fit` makes a model for some examples.
    Model(Arc<Py<PyAny>>),
}

impl Made {
    fn kind(&self) -> &'static str {
        match self {
            Self::Overlay(_) => "overlay",
            Self::Weights(_) => "weights",
            Self::Partition(_) => "partition",
            Self::Dataset(_) => "dataset",
            Self::LearningRate(_) => "learning rate",
            Self::Model(_) => "model",
        }
    }
}

impl PyPart {
    fn new(name: String, version: String, made: Made) -> Self {
        Self {
            name,
            version,
            made,
        }
    }

    /// `own` and this part.
    pub(super) fn among(&self, own: Own) -> Own {
        let name: OwnName = (self.name.as_str(), self.version.as_str()).into();
        match self.made.clone() {
            Made::Overlay(overlay) => own.made(name, overlay),
            Made::Weights(weights) => own.made(name, weights),
            Made::Partition(partition) => own.made(name, partition),
            Made::Dataset(dataset) => own.made(name, dataset),
            Made::LearningRate(rate) => own.made(name, rate),
            Made::Model(object) => own.host_model(name, move |input, classes| {
                model::fit(&object, input, classes)
            }),
        }
    }
}

#[pymethods]
impl PyPart {
    /// The name in configurations.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// A digest of what it is made of.
    #[getter]
    fn version(&self) -> &str {
        &self.version
    }

    fn __repr__(&self) -> String {
        format!("<{} {}>", self.kind(), self.name)
    }

    /// The part itself: it never changes.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// The part itself: it never changes.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// A part cannot leave its process.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(format!(
            "{self_} cannot be pickled, as for another process: let that process make the part, or give it the path of an experiment's file",
            self_ = self.__repr__()
        )))
    }

    /// An overlay of `nodes` nodes with `edges`, `[E, 2]`: from sender to receiver if it is `directed`. It may bring `weights`: the rows,
    /// the columns and the values of their matrix.
    #[staticmethod]
    fn overlay(
        name: String,
        version: String,
        nodes: usize,
        edges: PyReadonlyArray2<'_, u32>,
        directed: bool,
        weights: Option<Entries<'_>>,
    ) -> Self {
        let made = Made::Overlay(Arc::new(Graph {
            nodes,
            edges: pairs(&edges),
            directed,
            weights: weights.map(|entries| rows(nodes, &entries)),
        }));
        Self::new(name, version, made)
    }

    /// An overlay from a function: `edges(round, nodes, label_counts, seed)` returns its edges, `[E, 2]`, from sender to receiver if it is
    /// `directed`, and the rows, columns and values of its weights if it is `weighed`, else None. If it `changes`, each round has
    /// another, or each of a `period`; else it is asked once. `label_counts`, `[N, C]`, are given if it `needs_labels`, and a seed of the run
    /// and the overlay if it `needs_seed`; else None.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn overlay_by(
        name: String,
        version: String,
        edges: Py<PyAny>,
        expected: Option<f64>,
        changes: bool,
        period: Option<usize>,
        directed: bool,
        weighed: bool,
        needs_labels: bool,
        needs_seed: bool,
    ) -> Self {
        let change = match (changes, period) {
            (false, _) => OverlayChange::Never,
            (true, Some(rounds)) => OverlayChange::TakeTurns(rounds),
            (true, None) => OverlayChange::EachRound,
        };
        let made = Made::Overlay(Arc::new(GraphByFunction {
            name: name.clone(),
            edges,
            directed,
            expected,
            change,
            weighed,
            needs_labels,
            needs_seed,
        }));
        Self::new(name, version, made)
    }

    /// Mixing weights: the rows, the columns and the values of their `entries`.
    #[staticmethod]
    fn weights(name: String, version: String, nodes: usize, entries: Entries<'_>) -> Self {
        let made = Made::Weights(Arc::new(Matrix {
            name: name.clone(),
            matrix: rows(nodes, &entries),
        }));
        Self::new(name, version, made)
    }

    /// The examples of each client.
    #[staticmethod]
    fn partition(name: String, version: String, clients: Vec<Vec<u32>>) -> Self {
        Self::new(name, version, Made::Partition(Arc::new(Lists(clients))))
    }

    /// `deal(labels, classes, seed)` returns the examples of each client.
    #[staticmethod]
    fn partition_by(
        name: String,
        version: String,
        deal: Py<PyAny>,
        clients: Option<usize>,
    ) -> Self {
        Self::new(
            name,
            version,
            Made::Partition(Arc::new(Dealt { deal, clients })),
        )
    }

    /// The model that `object.fit(features, classes, tokens)` makes for some examples.
    #[staticmethod]
    fn model(name: String, version: String, object: Py<PyAny>) -> Self {
        Self::new(name, version, Made::Model(Arc::new(object)))
    }

    /// The learning rate `function(values)` at these values of `counts`, such as `["round", "steps"]`.
    #[staticmethod]
    fn learning_rate(
        name: String,
        version: String,
        function: Py<PyAny>,
        counts: Vec<String>,
    ) -> PyResult<Self> {
        let made = Made::LearningRate(Arc::new(RateByFunction::new(function, &counts)?));
        Ok(Self::new(name, version, made))
    }

    /// What this is: `overlay`, `weights`, `partition`, `dataset`, `learning rate` or `model`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.made.kind()
    }

    /// Training and test examples: `(features, labels, owners)` each, the features bytes or numbers `[M, D]`. The last `validation` of those
    /// for training are kept apart. Names may be absent; `names_test_owners` says whether the owners of test examples are those that a user gave.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "they are those of Python")]
    fn dataset(
        name: String,
        version: String,
        shape: (usize, usize, usize),
        classes: usize,
        train: ExampleArrays<'_>,
        test: ExampleArrays<'_>,
        label_names: Vec<String>,
        owner_names: Vec<String>,
        validation: usize,
        names_test_owners: bool,
    ) -> PyResult<Self> {
        let (channels, height, width) = shape;
        let shape = Shape {
            channels,
            height,
            width,
        };
        let owner_names = (!owner_names.is_empty()).then(|| Arc::new(owner_names));
        let examples = |arrays: ExampleArrays<'_>| {
            let examples = arrays
                .examples(shape, classes)?
                .with_label_names(&label_names);
            let named = match &owner_names {
                Some(names) => examples.with_owner_names(Arc::clone(names)),
                None => examples,
            };
            PyResult::Ok(named)
        };
        let train = examples(train)?;
        let kept = train.len() - validation;
        let (train, validation) = train.cut(kept);
        let splits = Splits {
            train: Arc::new(train),
            test: Arc::new(examples(test)?),
            validation: validation.map(Arc::new),
        };
        let made = Made::Dataset(Arc::new(InMemory {
            splits,
            names_test_owners,
        }));
        Ok(Self::new(name, version, made))
    }
}
