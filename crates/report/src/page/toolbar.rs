//! What a reader chooses: runs, axis, band, colours and scales.

use super::axes::axes;
use crate::document::chip;
use crate::runs::curves::Bands;
use crate::runs::factor::Factor;
use crate::runs::group::Group;
use maud::{Markup, html};

/// Above this many curves, bands would hide them: none is drawn until the reader asks for one.
const CROWDED: usize = 12;

/// Legend, switches of the runs and of the axis, in reach while the page scrolls.
pub(super) fn toolbar(groups: &[Group<'_>], factors: &[Factor]) -> Markup {
    let content = |group: &Group<'_>| {
        html! {
            (group.label)
            @if let Some(lambda) = group.lambda_text() {
                " " small { "λ " (lambda) }
            }
        }
    };
    let chips = html! {
        div class="chips" {
            @for (index, group) in groups.iter().enumerate() { (chip(index, &content(group))) }
        }
    };
    html! {
        nav class="toolbar" aria-label="runs and axis" {
            @if groups.len() <= CROWDED { (chips) }
            @if factors.len() > 1 {
                @for factor in factors { (values(factor, groups.len())) }
            }
            div class="switches" {
                (choices(groups, factors))
                label class="toggle" {
                    input type="checkbox" id="mean-model" checked[groups.len() == 1]; " mean model"
                }
            }
            (more_switches(groups, &chips))
        }
    }
}

/// What the reader chooses for all curves: the horizontal axis, the band and the setting that colours follow.
fn choices(groups: &[Group<'_>], factors: &[Factor]) -> Markup {
    let bands = bands(groups);
    html! {
        label class="choice" {
            "over "
            select id="axis" {
                @for (index, axis) in axes(groups).iter().enumerate() {
                    option value=(index) { (axis.title) @if axis.unit == "s" { " (s)" } }
                }
            }
        }
        label class="choice" {
            "band "
            select id="band" {
                @for (index, (key, words)) in bands.iter().enumerate() {
                    option value=(key) selected[index == 0] { (words) }
                }
            }
        }
        @if factors.len() > 1 {
            label class="choice" {
                "colours "
                select id="colours" {
                    @for (index, factor) in factors.iter().enumerate() { option value=(index) { (factor.key) } }
                }
            }
        }
    }
}

/// The bands that a curve has, the one drawn at first before the others.
fn bands(groups: &[Group<'_>]) -> Vec<(&'static str, &'static str)> {
    let known = |is_empty: fn(&Bands) -> bool| {
        groups
            .iter()
            .any(|group| !is_empty(&group.curves.accuracy.bands))
    };
    let mut bands = Vec::new();
    if known(|bands| bands.interval.is_empty()) {
        bands.push(("interval", "95 % interval over seeds"));
    }
    if known(|bands| bands.range.is_empty()) {
        bands.push(("range", "least and most client"));
    }
    if known(|bands| bands.quantiles.is_empty()) {
        bands.push(("quantiles", "5 to 95 % of clients"));
    }
    let place = if groups.len() > CROWDED {
        0
    } else {
        bands.len()
    };
    bands.insert(place, ("none", "none"));
    bands
}

/// Switches that a reader of many runs needs, folded away for the others.
fn more_switches(groups: &[Group<'_>], chips: &Markup) -> Markup {
    let is_logarithmic = axes(groups).first().is_some_and(|axis| axis.log);
    html! {
        details class="more" {
            summary { "choose runs and scales" }
            @if groups.len() > CROWDED { (chips) }
            div class="switches" {
                @if groups.len() > 1 {
                    div class="segments" role="group" aria-label="runs shown" {
                        button type="button" id="show-all" { "all" }
                        button type="button" id="show-none" { "none" }
                    }
                    label class="toggle" title="a click on a run or a value shows it alone" {
                        input type="checkbox" id="solo"; " solo"
                    }
                    input type="search" id="filter" class="filter" placeholder="filter runs" aria-label="filter runs by text";
                }
                label class="toggle" { input type="checkbox" id="log-x" checked[is_logarithmic]; " log x" }
                label class="toggle" { input type="checkbox" id="log-y"; " log y" }
                label class="toggle" title="also of runs that diverged" {
                    input type="checkbox" id="every-value"; " every value"
                }
            }
        }
    }
}

/// Buttons that show and hide all runs of one value of a setting, of which the first `charted` have curves.
fn values(factor: &Factor, charted: usize) -> Markup {
    let indices = |groups: &[usize]| {
        let with_curves = groups.iter().filter(|group| **group < charted);
        let texts: Vec<String> = with_curves.map(usize::to_string).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    };
    html! {
        div class="chips factor" role="group" aria-label=(factor.key) {
            span { (factor.key) }
            @for value in &factor.values {
                @let indices = indices(&value.groups);
                button type="button" class="value chip" data-groups=[&indices] aria-pressed=[indices.as_ref().map(|_| "true")]
                    disabled[indices.is_none()] title=[indices.is_none().then_some("no curve has this value")] {
                    i class="key" aria-hidden="true" {}
                    (value.text)
                }
            }
        }
    }
}
