//! Warnings that the values of a run and its overlay call for.

use meshfold_algorithms::RowKind;

use crate::config::client_view::ClientView;
use crate::config::quantity::Quantity;
use crate::config::run_config::RunConfig;
use crate::plan::planned_overlay::PlannedOverlay;

/// What will work but may not be meant.
pub(super) fn of(config: &RunConfig, overlay: Option<&PlannedOverlay>) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(planned) = overlay {
        let summary = &planned.summary;
        let self_weight = summary.min_self_weight;
        if self_weight < 0.0 {
            warnings.push(format!(
                "the weights give a client as little as {self_weight:.4} of its own model, a negative share; \
                 a larger theta of laplacian weights avoids it"
            ));
        }
        let stuck = summary.lambda.is_some_and(|lambda| lambda >= 1.0 - 1e-9);
        if stuck && summary.nodes > 1 && !planned.topology.varies() {
            warnings.push("the weights do not bring the models together: lambda is 1".to_owned());
        }
        if !summary.doubly_stochastic && config.algorithm.profile().own_weights.is_none() {
            warnings.push(
                "the weights do not preserve the plain mean of the models: columns of the mixing matrix do not sum to 1"
                    .to_owned(),
            );
        }
    }
    if config
        .checkpoint
        .as_ref()
        .is_some_and(|checkpoint| checkpoint.every >= config.rounds && !checkpoint.keep)
    {
        warnings.push(
            "no checkpoint is written unless the run is interrupted: the first one would be due when it ends"
                .to_owned(),
        );
    }
    warnings.extend(of_clients_alone(config));
    warnings
}

/// What is asked for of models that clients hold, where they hold none.
fn of_clients_alone(config: &RunConfig) -> Vec<String> {
    let (method, evaluate) = (&config.algorithm, &config.evaluate);
    let kind = method.rows(1).kind;
    let asked = [
        (
            evaluate.theory.contains(&Quantity::Inexactness),
            "`theory: inexactness`",
        ),
        (evaluate.train, "`train`"),
        (
            evaluate.clients.contains(&ClientView::Own),
            "`clients: own`",
        ),
    ];
    let in_vain = asked
        .into_iter()
        .filter(|(asked, _)| *asked && kind != RowKind::Client);
    let warning = |(_, key): (bool, &str)| {
        format!(
            "evaluate: {key} is not recorded, as it needs models of clients; in {} each model belongs to a {}",
            method.name(),
            kind.name()
        )
    };
    in_vain.map(warning).collect()
}
