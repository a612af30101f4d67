//! Overlays that several groups of runs have in common.

use crate::error::ReportError;
use crate::runs::group::Group;
use crate::runs::setting_label;
use meshfold_topology::Overlay;

/// An overlay and the groups whose first runs use it.
#[derive(Debug)]
pub(crate) struct SharedOverlay<'a> {
    /// Absent for methods without one.
    pub(crate) overlay: Option<Overlay>,
    /// The groups with their places on the page; never empty.
    pub(crate) groups: Vec<(usize, &'a Group<'a>)>,
}

impl<'a> SharedOverlay<'a> {
    /// The overlays in the order of the first group that has each.
    ///
    /// # Errors
    /// Those of [`RecordedRun::overlay`](meshfold_experiment::results::RecordedRun::overlay).
    pub(crate) fn all(groups: &'a [Group<'a>]) -> Result<Vec<Self>, ReportError> {
        let mut all: Vec<Self> = Vec::new();
        for place in groups.iter().enumerate() {
            let overlay = place.1.first().overlay()?;
            match all.iter_mut().find(|shared| {
                same(shared.overlay.as_ref(), overlay.as_ref())
                    && change_alike(shared.first(), place.1)
            }) {
                Some(shared) => shared.groups.push(place),
                None => all.push(Self {
                    overlay,
                    groups: vec![place],
                }),
            }
        }
        Ok(all)
    }

    /// What it is called: as its only group, or by its topology.
    pub(crate) fn name(&self) -> String {
        let group = self.first();
        match self.groups.len() {
            1 => group.label.clone(),
            groups => setting_label::topology(&group.first().settings)
                .unwrap_or_else(|| format!("{groups} kinds of runs")),
        }
    }

    /// The group whose card it is.
    pub(crate) fn first(&self) -> &'a Group<'a> {
        self.groups[0].1
    }
}

/// Whether both keep their overlay, or have the same overlays in later rounds.
fn change_alike(a: &Group<'_>, b: &Group<'_>) -> bool {
    let topology = |group: &Group<'_>| group.first().settings.get("topology").clone();
    match (a.overlay_changes(), b.overlay_changes()) {
        (false, false) => true,
        (true, true) => topology(a) == topology(b),
        _ => false,
    }
}

/// Whether both link the same nodes.
fn same(a: Option<&Overlay>, b: Option<&Overlay>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            a.nodes() == b.nodes()
                && a.is_directed() == b.is_directed()
                && a.edge_count() == b.edge_count()
                && (a.is_complete() || a.edges().eq(b.edges()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlays_are_the_same_if_their_edges_are() {
        let path = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let other = Overlay::from_edges(3, [(0, 1), (0, 2)]).unwrap();
        assert!(same(Some(&path), Some(&path.clone())));
        assert!(!same(Some(&path), Some(&other)));
        let one_way = Overlay::directed(3, [(0, 1), (1, 2)]).unwrap();
        assert!(!same(Some(&path), Some(&one_way)));
        assert!(!same(Some(&path), None));
        assert!(same(None, None));
    }
}
