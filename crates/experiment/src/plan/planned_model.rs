//! The network of a run's model, made once for all runs that have the same model and the same examples.

use std::collections::HashMap;

use meshfold_data::DatasetSummary;
use meshfold_engine::{Model, Network};

use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::fault::ConfigFault;
use crate::config::fault_path;
use crate::plan::planned_data::json;

/// The networks made so far, by dataset and model.
#[derive(Debug, Default)]
pub(crate) struct Networks(HashMap<String, Network>);

impl Networks {
    /// The network of the model of `run` for its examples, given what tells their dataset from others, and their outline.
    ///
    /// # Errors
    /// [`ConfigError`] at `model` if it cannot be built, at `precision` if it cannot have that one.
    pub(crate) fn get(
        &mut self,
        run: &Resolved<'_>,
        dataset: &str,
        outline: &DatasetSummary,
    ) -> Result<Network, ConfigError> {
        let key = format!(
            "{dataset} {} {}",
            run.config.precision,
            json(&run.config.model)
        );
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let network = network(run, outline)?;
        self.0.insert(key, network.clone());
        Ok(network)
    }
}

/// The network of the run's model for the run's examples.
fn network(run: &Resolved<'_>, outline: &DatasetSummary) -> Result<Network, ConfigError> {
    let own_models = run.source.own().own_models();
    if let Model::Own(name) = &run.config.model
        && !own_models.contains(name)
    {
        let fault = ConfigFault::NoOwn {
            kind: "model",
            name: name.name.clone(),
            known: own_models.names().map(str::to_owned).collect(),
        };
        return Err(run.error(fault, "model.own"));
    }
    let network = own_models.network(&run.config.model, outline.input(), outline.classes());
    let network = network.map_err(|error| {
        let path = fault_path::of_model(&error, run.choice("model"));
        run.error(error, &path)
    })?;
    let precise = network.with_precision(run.config.precision);
    precise.map_err(|error| run.error(error, "precision"))
}
