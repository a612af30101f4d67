//! Decentralized federated averaging, with and without momentum, whole or quantised.

use crate::aggregation::{self, PartialAggregation, average, exchange, messages_of};
use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{MethodSpec, Profile};
use crate::quantise::{Quantise, UnlinkedRows, bytes_of_message};
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::training::{StepsPerRound, Training};
use crate::{method_config, no_limits};
use meshfold_engine::{Stack, Velocity};
use meshfold_topology::Overlay;
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::Dfedavg`](crate::Method::Dfedavg): [`Dfedavgm`] without momentum.
    ///
    /// # Source
    /// Sun et al., Decentralized federated averaging (2021), Algorithm 1 with θ = 0; DFedRW (Wang et al.), Section VI-B.
    #[derive(JsonSchema)]
    pub struct Dfedavg(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// Averages over some neighbours only, weighted by examples, in place of the mixing matrix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub aggregation: Option<PartialAggregation>,
        /// Sends quantised differences in place of models.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub quantise: Option<Quantise>,
    }
}

method_config! {
    /// Parameters of [`Method::Dfedavgm`](crate::Method::Dfedavgm).
    ///
    /// # Source
    /// Hua et al., (2.1); Sun et al., Decentralized federated averaging (2021), Algorithm 1, and with `quantise`
    /// Algorithm 2 (QDFedAvg in DFedRW's Fig. 9). `K` local steps of heavy ball `v <- βv + g`, `w <- w − ηv` with
    /// `v = 0` at the start of each round (`w^{t,−1} = w^{t,0}`), then `w <- M w`.
    #[derive(JsonSchema)]
    pub struct Dfedavgm(local = "crate::training::one_epoch", momentum = "crate::training::heavy_momentum") {
        /// Averages over some neighbours only, weighted by examples, in place of the mixing matrix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub aggregation: Option<PartialAggregation>,
        /// Sends quantised differences in place of models.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub quantise: Option<Quantise>,
    }
}

/// What both forms have in common.
#[derive(Clone, Copy)]
struct Exchange {
    aggregation: Option<PartialAggregation>,
    quantise: Option<Quantise>,
}

struct DfedavgState {
    training: Training,
    exchange: Exchange,
    setting: Setting,
}

impl Algorithm for DfedavgState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let work = round.work(&rows, &self.training);
        let before = self.exchange.quantise.map(|_| models.duplicate());
        round.train(models, Velocity::Fresh, &work)?; // (2.1), first line, k = 0..K−1
        match (self.exchange.quantise, before) {
            (Some(quantise), Some(before)) => self.quantised(quantise, &before, models, round),
            _ => exchange(models, round, self.exchange.aggregation, &self.setting), // (2.1), second line
        }
    }
}

impl DfedavgState {
    /// Sun et al., Algorithm 2: clients send `Q(w^{t,K} − w^t)`, and mix what receivers then know.
    ///
    /// # Interpretation
    /// Under `replica` receivers know the sender's `w^t` and mix `w^t + Q`; under `printed` they add the mean of the
    /// differences to their own `w^t`.
    fn quantised(
        &self,
        quantise: Quantise,
        before: &Stack,
        models: &mut Stack,
        round: &mut Round<'_>,
    ) -> Result<(), AlgorithmError> {
        let bytes = bytes_of_message(Some(quantise), &self.setting);
        if let Some(aggregation) = self.exchange.aggregation {
            let (subsets, examples) = (aggregation.subsets(round), &self.setting.shard_sizes);
            round.traffic.messages(messages_of(&subsets, bytes));
            return average(models, Some((quantise, before)), &subsets, examples, round);
        }
        round.exchange_models(bytes);
        let unlinked = UnlinkedRows::of_overlay(round.overlay());
        *models = quantise.average(models, before, &unlinked, round.mixing(), round)?;
        Ok(())
    }
}

impl Exchange {
    fn check(self) -> Result<(), AlgorithmError> {
        self.aggregation.map_or(Ok(()), PartialAggregation::check)?;
        self.quantise.map_or(Ok(()), Quantise::check)
    }

    fn working_rows(self, clients: usize) -> usize {
        if self.quantise.is_some() {
            4 * clients
        } else {
            clients
        }
    }

    fn forecast(
        self,
        training: &Training,
        setting: &Setting,
        overlay: Option<&Overlay>,
    ) -> Forecast {
        let bytes = bytes_of_message(self.quantise, setting);
        aggregation::forecast(self.aggregation, training, setting, overlay, bytes)
    }

    fn begin(self, training: Training, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(DfedavgState {
            training,
            exchange: self,
            setting: setting.clone(),
        })
    }
}

macro_rules! method_spec {
    ($name:ident, $check:expr) => {
        impl $name {
            fn exchange(&self) -> Exchange {
                Exchange {
                    aggregation: self.aggregation,
                    quantise: self.quantise,
                }
            }
        }

        impl MethodSpec for $name {
            fn profile(&self) -> Profile<'_> {
                Profile {
                    mixes_by_weights: self.aggregation.is_none(),
                    averages_by: Some("aggregation"),
                    momentum_begins_anew: true,
                    may_lose_messages: self.aggregation.is_none() && self.quantise.is_none(),
                    shows_models: self.quantise.is_none(), // else differences are sent
                    ..Profile::gossip()
                }
            }

            fn training(&self) -> Training {
                self.training_keys()
            }

            fn check_keys(&self) -> Result<(), AlgorithmError> {
                let check: fn(&Self) -> Result<(), AlgorithmError> = $check;
                check(self)?;
                self.exchange().check()
            }

            no_limits!(check_clients, check_overlay, unstable_at);

            fn working_rows(&self, clients: usize) -> usize {
                self.exchange().working_rows(clients)
            }

            fn message_scope(&self, _: &Setting, _: usize, _: bool) -> MessageScope {
                MessageScope::Neighbours
            }

            fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
                self.exchange()
                    .forecast(&self.training_keys(), setting, overlay)
            }

            fn steps_per_round(&self, setting: &Setting) -> StepsPerRound {
                self.training_keys().steps_per_round(setting)
            }

            fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
                self.exchange().begin(self.training_keys(), setting)
            }
        }
    };
}
method_spec!(
    Dfedavg,
    |config| match config.training_keys().momentum_key() {
        None => Ok(()),
        Some((key, found)) => Err(AlgorithmError::setting(
            key,
            found,
            "dfedavg has no momentum: use dfedavgm"
        )),
    }
);
method_spec!(Dfedavgm, |_| Ok(()));
