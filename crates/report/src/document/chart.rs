//! A plot and its place on the page.

use maud::{Markup, html};
use plotly::layout::Axis;
use plotly::{Layout, Trace};
use serde_json::{Value, json};

/// One plot, drawn by the page's script into the box that [`Chart::element`] makes.
pub(crate) struct Chart {
    /// Names the plot on the page, a word of letters, underscores and hyphens.
    pub(crate) id: String,
    /// What the plot shows, for readers who cannot see it.
    pub(crate) description: String,
    /// Height in CSS pixels.
    pub(crate) height: usize,
    pub(crate) traces: Vec<Box<dyn Trace>>,
    pub(crate) layout: Layout,
}

impl Chart {
    /// `traces` over an axis with the title `x`, without a legend.
    pub(crate) fn over(
        x: &str,
        y_axis: Axis,
        (id, description, height): (&str, &str, usize),
        traces: Vec<Box<dyn Trace>>,
    ) -> Self {
        let layout = Layout::new()
            .x_axis(Axis::new().title(x))
            .y_axis(y_axis)
            .show_legend(false);
        Self {
            id: id.to_owned(),
            description: description.to_owned(),
            height,
            traces,
            layout,
        }
    }

    /// The box of the plot.
    pub(crate) fn element(&self) -> Markup {
        html! {
            figure class="figure" {
                div class="chart" id={ "chart-" (self.id) } role="img" aria-label=(self.description)
                    style={ "height:" (self.height) "px" } {}
                button type="button" class="save" data-chart=(self.id) { "Save as SVG" }
            }
        }
    }

    /// `{data, layout}` as the plotting library takes it.
    pub(crate) fn json(&self) -> Value {
        let data: Vec<Value> = self
            .traces
            .iter()
            .map(|trace| parsed(&trace.to_json()))
            .collect();
        json!({ "data": data, "layout": parsed(&self.layout.to_json()) })
    }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("the plotting library writes valid JSON")
}

/// The name by which the page's script knows the traces of a group.
pub(crate) fn trace_group(group: usize) -> String {
    format!("g{group}")
}
