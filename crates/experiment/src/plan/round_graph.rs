//! Who is connected to whom in each round: schedules, failures, stragglers and lost messages put together.

use std::sync::Arc;

use meshfold_algorithms::{
    Method, OverlayUse, Policy, RowKind, ServerNodes, StragglerContext, StragglerUnit, Training,
    Work,
};
use meshfold_engine::{Amount, Learner, Mixing, RowWork};
use meshfold_topology::{
    FailureState, Failures, MixingMatrix, Outside, Overlay, Repair, Topology, TopologyError,
    Weights,
};

use crate::plan::failure_checks;
use crate::plan::planned_overlay::{CliqueSummary, OverlayDraws, built};
use crate::plan::run_plan::RunPlan;

/// The overlay of a round before anything failed.
#[derive(Debug)]
struct IntactOverlay {
    overlay: Arc<Overlay>,
    matrix: Arc<MixingMatrix>,
    /// Whether each node trains, `[n]`: nodes outside a schedule's overlay may be frozen.
    working: Vec<bool>,
}

/// What failures leave of a round's overlay.
#[derive(Debug)]
pub(crate) struct RoundGraph {
    /// The overlay among the clients or servers alive, if the method uses one; where messages are lost, that over which the others arrive.
    pub(crate) overlay: Option<Arc<Overlay>>,
    /// The overlay over which messages were sent, where some are lost.
    pub(crate) sent_over: Option<Arc<Overlay>>,
    /// Its weights.
    matrix: Option<Arc<MixingMatrix>>,
    /// The same on the device.
    pub(crate) mixing: Option<Mixing>,
    /// Whether each client is alive and has its inputs, `[N]`: others are not judged.
    pub(crate) alive: Vec<bool>,
    /// Whether each client is dead for good, `[N]`.
    pub(crate) gone: Vec<bool>,
    /// Whether each client trains, `[N]`: it is alive, not frozen outside a schedule's overlay and no dropped straggler.
    pub(crate) working: Vec<bool>,
    /// Whether stragglers have been dropped.
    pub(crate) drops_stragglers: bool,
}

/// The connections of a run, round by round.
#[derive(Debug)]
pub(crate) struct RoundGraphs<'a> {
    plan: &'a RunPlan,
    intact: Option<(u64, Arc<IntactOverlay>)>,
    graph: Option<((u64, u64), RoundGraph)>,
    /// The graph of a round in which stragglers are dropped.
    without_stragglers: Option<RoundGraph>,
    /// The graph of a round in which messages are lost.
    after_losses: Option<RoundGraph>,
}

impl<'a> RoundGraphs<'a> {
    pub(crate) fn new(plan: &'a RunPlan) -> Self {
        Self {
            plan,
            intact: None,
            graph: None,
            without_stragglers: None,
            after_losses: None,
        }
    }

    /// Which clients are alive in `round`, `[N]`; before the first round those of the first.
    ///
    /// # Errors
    /// As [`RoundGraphs::in_round`].
    pub(crate) fn alive(&mut self, round: usize) -> Result<&[bool], TopologyError> {
        self.update(round.max(1))?;
        Ok(self.graph.as_ref().map_or(&[], |(_, graph)| &graph.alive))
    }

    /// Parts that the overlay of `round` falls into, the dead left out, where it may be another than the planned one; before
    /// the first round that of the first. Stragglers count as linked.
    ///
    /// # Errors
    /// As [`RoundGraphs::in_round`].
    pub(crate) fn components(&mut self, round: usize) -> Result<Option<usize>, TopologyError> {
        let planned = self.plan.overlay.as_ref();
        let changes = planned.is_some_and(|planned| planned.topology.varies());
        if planned.is_none() || (!changes && self.plan.config.failures.0.is_empty()) {
            return Ok(None);
        }
        self.update(round.max(1))?;
        let of_clients = self.are_clients();
        let graph = self.graph.as_ref().map(|(_, graph)| graph);
        Ok(graph.and_then(|graph| {
            let overlay = graph.overlay.as_ref()?;
            let lives = |part: &Vec<u32>| {
                let mut nodes = part.iter();
                !of_clients || nodes.any(|node| graph.alive[*node as usize])
            };
            Some(
                overlay
                    .components()
                    .iter()
                    .filter(|part| lives(part))
                    .count(),
            )
        }))
    }

    /// Mean and largest skew of the cliques of `round`'s overlay if it has any, their dead members counted as well; before the
    /// first round those of the first.
    ///
    /// # Errors
    /// As [`RoundGraphs::in_round`].
    pub(crate) fn clique_skew(&mut self, round: usize) -> Result<Option<[f64; 2]>, TopologyError> {
        self.update(round.max(1))?;
        let overlay = self
            .graph
            .as_ref()
            .and_then(|(_, graph)| graph.overlay.as_deref());
        let cliques = overlay.and_then(|overlay| CliqueSummary::of(overlay, &self.plan.population));
        Ok(cliques.and_then(|cliques| cliques.skew))
    }

    /// The graph of `round`; `straggler_context` drops stragglers from those of methods in which every client trains its own row.
    ///
    /// # Errors
    /// [`TopologyError`] if a schedule's overlay cannot be drawn.
    pub(crate) fn in_round(
        &mut self,
        round: usize,
        straggler_context: Option<&StragglerContext<'_>>,
        learner: &Learner,
        training: &Training,
    ) -> Result<&RoundGraph, TopologyError> {
        self.update(round)?;
        self.without_stragglers = match straggler_context {
            Some(straggler_context) if straggler_context.policy != Policy::Partial => {
                self.drop_stragglers(straggler_context, learner, training)?
            }
            _ => None,
        };
        let usual = self.graph.as_ref().map(|(_, graph)| graph);
        let sent = self.without_stragglers.as_ref().or(usual);
        let sent = sent.expect("the graph was made for this round");
        self.after_losses = self.lose_messages(round, sent)?;
        Ok(self.after_losses.as_ref().unwrap_or(sent))
    }

    /// `sent` without the messages of `round` that are lost; `None` if none is, or if the method loses them itself.
    fn lose_messages(
        &self,
        round: usize,
        sent: &RoundGraph,
    ) -> Result<Option<RoundGraph>, TopologyError> {
        let (Some(overlay), Some(matrix)) = (&sent.overlay, &sent.matrix) else {
            return Ok(None);
        };
        let config = &self.plan.config;
        if !loses_over_overlay(&config.algorithm) {
            return Ok(None);
        }
        let draw = failure_checks::draws(config);
        let lost = config.failures.lost_messages(round, overlay, draw);
        if lost.is_empty() {
            return Ok(None);
        }
        let arriving = overlay.without_arcs(&lost);
        let matrix = matrix.surviving(overlay, &arriving)?;
        Ok(Some(RoundGraph {
            mixing: Some(Mixing::new(&matrix)),
            matrix: Some(Arc::new(matrix)),
            sent_over: Some(Arc::clone(overlay)),
            overlay: Some(Arc::new(arriving)),
            alive: sent.alive.clone(),
            gone: sent.gone.clone(),
            working: sent.working.clone(),
            drops_stragglers: sent.drops_stragglers,
        }))
    }

    /// The overlay of `round` and its weights, before stragglers are dropped and messages lost; `None` if the method uses none.
    ///
    /// # Errors
    /// As [`RoundGraphs::in_round`].
    pub(crate) fn exchanged(
        &mut self,
        round: usize,
    ) -> Result<Option<(&Overlay, &MixingMatrix)>, TopologyError> {
        self.update(round)?;
        let graph = self.graph.as_ref().map(|(_, graph)| graph);
        Ok(graph.and_then(|graph| graph.overlay.as_deref().zip(graph.matrix.as_deref())))
    }

    /// What tells the graph of `round` from others: the draw of the overlay and that of the failures.
    pub(crate) fn key(&self, round: usize) -> (u64, u64) {
        let draw = self.plan.overlay.as_ref().map_or(0, |planned| {
            planned.topology.epoch(round, planned.overlay.nodes()).draw
        });
        (draw, self.plan.config.failures.draw_key(round))
    }

    /// Makes the graph of `round` unless it is that of the round before.
    fn update(&mut self, round: usize) -> Result<(), TopologyError> {
        let key = self.key(round);
        if self.graph.as_ref().is_some_and(|(known, _)| *known == key) {
            return Ok(());
        }
        let intact = self.intact(round, key.0)?;
        self.graph = Some((key, self.after_failures(round, intact.as_deref())?));
        Ok(())
    }

    /// The overlay of `round` before failures.
    fn intact(
        &mut self,
        round: usize,
        draw: u64,
    ) -> Result<Option<Arc<IntactOverlay>>, TopologyError> {
        let Some(planned) = &self.plan.overlay else {
            return Ok(None);
        };
        if let Some((known, intact)) = &self.intact
            && *known == draw
        {
            return Ok(Some(Arc::clone(intact)));
        }
        let intact = if planned.topology.varies() {
            let weights = &planned.weights;
            let drawn = built(&planned.topology, weights, &self.plan.population, round)?;
            let frozen = drawn.outside == Outside::Frozen;
            let working = drawn.members.iter().map(|member| *member || !frozen);
            IntactOverlay {
                working: working.collect(),
                overlay: Arc::new(drawn.overlay),
                matrix: Arc::new(drawn.matrix),
            }
        } else {
            IntactOverlay {
                overlay: Arc::clone(&planned.overlay),
                matrix: Arc::clone(&planned.matrix),
                working: vec![true; planned.overlay.nodes()],
            }
        };
        let intact = Arc::new(intact);
        self.intact = Some((draw, Arc::clone(&intact)));
        Ok(Some(intact))
    }

    /// What failures leave of `intact` in `round`.
    fn after_failures(
        &self,
        round: usize,
        intact: Option<&IntactOverlay>,
    ) -> Result<RoundGraph, TopologyError> {
        let config = &self.plan.config;
        let draw = failure_checks::draws(config);
        let clients = self.plan.clients;
        let over_clients = intact.filter(|_| self.are_clients());
        let nobody = Overlay::from_edges(clients, [])?;
        let among_clients = over_clients.map_or(&nobody, |intact| &intact.overlay);
        let mut broken = config.failures.at(round, among_clients, &draw);
        let (alive, gone) = (broken.sound(), broken.gone.clone());
        let frozen = over_clients.map(|intact| &intact.working);
        let working = (0..clients)
            .map(|client| alive[client] && frozen.is_none_or(|working| working[client]))
            .collect();
        let Some(intact) = intact else {
            return Ok(RoundGraph {
                overlay: None,
                sent_over: None,
                matrix: None,
                mixing: None,
                alive,
                gone,
                working,
                drops_stragglers: false,
            });
        };
        if over_clients.is_none() {
            // Servers do not fail; their edges do.
            broken = edges_alone(&config.failures).at(round, &intact.overlay, &draw);
        }
        let (overlay, matrix) = self.left(round, intact, &broken)?;
        Ok(RoundGraph {
            mixing: Some(Mixing::new(&matrix)),
            overlay: Some(overlay),
            sent_over: None,
            matrix: Some(matrix),
            alive,
            gone,
            working,
            drops_stragglers: false,
        })
    }

    /// The overlay and the weights that are left of `intact`.
    fn left(
        &self,
        round: usize,
        intact: &IntactOverlay,
        broken: &FailureState,
    ) -> Result<(Arc<Overlay>, Arc<MixingMatrix>), TopologyError> {
        if broken.is_whole() {
            return Ok((Arc::clone(&intact.overlay), Arc::clone(&intact.matrix)));
        }
        let (config, weights) = (&self.plan.config, self.weights());
        if let (Repair::Protocol, Some(topology @ Topology::VirtualRings(rings))) =
            (config.failures.repair(round), &config.topology)
        {
            let draws = OverlayDraws::of(topology, &self.plan.population, round);
            let nodes = intact.overlay.nodes();
            let mut repaired = rings.rebuild(nodes, &mut draws.edges(), &broken.alive)?;
            if let Some(examples) = intact.overlay.examples() {
                repaired = repaired.with_examples(examples.to_vec())?;
            }
            let matrix = weights.draw(&repaired, &mut draws.weights())?;
            return Ok((Arc::new(repaired), Arc::new(matrix)));
        }
        let surviving = broken.surviving(&intact.overlay);
        let matrix = weights.surviving(&intact.overlay, &intact.matrix, &surviving)?;
        Ok((Arc::new(surviving), Arc::new(matrix)))
    }

    /// The graph of the round without its stragglers; `None` if nobody falls behind.
    fn drop_stragglers(
        &self,
        straggler_context: &StragglerContext<'_>,
        learner: &Learner,
        training: &Training,
    ) -> Result<Option<RoundGraph>, TopologyError> {
        let Some((_, graph)) = &self.graph else {
            return Ok(None);
        };
        let amount = training.local.amount();
        let busy: Vec<u32> = (0..)
            .zip(&graph.working)
            .filter(|(_, working)| **working)
            .map(|(client, _)| client)
            .collect();
        let work: Vec<Work> = busy
            .iter()
            .map(|client| Work {
                client: *client,
                whole: training.local.count(),
                steps: learner.steps_of(
                    &RowWork {
                        client: *client,
                        amount,
                    },
                    &training.sgd,
                ),
            })
            .collect();
        let completions = straggler_context.completions(&work);
        let mut working = graph.working.clone();
        for (client, completion) in busy.iter().zip(completions) {
            working[*client as usize] = completion.done_of(amount) != Amount::Idle;
        }
        if working == graph.working {
            return Ok(None);
        }
        let in_time: Vec<bool> = working
            .iter()
            .zip(&graph.working)
            .map(|(now, before)| *now || !before)
            .collect();
        self.without(graph, working, &in_time, straggler_context.policy)
            .map(Some)
    }

    /// `graph` without the messages of clients that are not `in_time`.
    fn without(
        &self,
        graph: &RoundGraph,
        working: Vec<bool>,
        in_time: &[bool],
        policy: Policy,
    ) -> Result<RoundGraph, TopologyError> {
        let mut left = RoundGraph {
            overlay: None,
            sent_over: None,
            matrix: None,
            mixing: None,
            alive: graph.alive.clone(),
            gone: graph.gone.clone(),
            working,
            drops_stragglers: true,
        };
        let (Some(overlay), Some(matrix)) = (&graph.overlay, &graph.matrix) else {
            return Ok(left);
        };
        let surviving = match policy {
            Policy::Receive => overlay.hearing_only(in_time),
            Policy::Isolate | Policy::Partial => overlay.surviving(in_time, &[]),
        };
        let matrix = self.weights().surviving(overlay, matrix, &surviving)?;
        left.mixing = Some(Mixing::new(&matrix));
        left.overlay = Some(Arc::new(surviving));
        left.matrix = Some(Arc::new(matrix));
        Ok(left)
    }

    /// Whether the nodes of the overlay are the clients, and no servers.
    fn are_clients(&self) -> bool {
        self.plan.config.algorithm.profile().overlay == OverlayUse::Clients
    }

    fn weights(&self) -> &'a Weights {
        let planned = self.plan.overlay.as_ref();
        &planned
            .expect("only a planned overlay is mixed over")
            .weights
    }
}

/// The failures of edges among `failures`; those of clients stay in their places but hit nobody.
fn edges_alone(failures: &Failures) -> Failures {
    let mut edges = failures.clone();
    for failure in &mut edges.0 {
        if failure.clients.take().is_some() {
            failure.edges = Some(meshfold_topology::Target::List(Vec::new()));
        }
    }
    edges
}

/// Whether the run loses the messages that go over the overlay. If it does not, the method alone knows when they go, or between whom.
fn loses_over_overlay(method: &Method) -> bool {
    let profile = method.profile();
    !profile.has_own_clock && profile.overlay != OverlayUse::Refused
}

/// Whether the method loses messages itself: all that it sends, or those between the nodes of the overlay and their clients.
pub(crate) fn loses_messages_itself(method: &Method) -> bool {
    !loses_over_overlay(method) || matches!(method.profile().servers, ServerNodes::OnOverlay(_))
}

/// Whether the run, and not the method, drops the stragglers.
pub(crate) fn drops_rows(lagging: StragglerUnit, kind: RowKind) -> bool {
    lagging == StragglerUnit::Clients && kind == RowKind::Client
}
