//! A plot and its place on the page.

use maud::{Markup, html};
use serde_json::{Value, json};

/// One plot, drawn by the page's script into the box that [`Chart::element`] makes.
///
/// Traces and layout have the names and values of Plotly.js's own attributes, as its reference lists them.
pub(crate) struct Chart {
    /// Name of the plot on the page: a word of letters, digits, underscores and hyphens.
    pub(crate) id: String,
    /// What the plot shows, for readers who cannot see it.
    pub(crate) description: String,
    /// Height in CSS pixels.
    pub(crate) height: usize,
    pub(crate) traces: Vec<Value>,
    pub(crate) layout: Value,
}

impl Chart {
    /// `traces` over an axis with the title `x`, without a legend.
    pub(crate) fn over(
        x: &str,
        y_axis: Value,
        (id, description, height): (&str, &str, usize),
        traces: Vec<Value>,
    ) -> Self {
        Self {
            id: id.to_owned(),
            description: description.to_owned(),
            height,
            traces,
            layout: json!({ "xaxis": { "title": { "text": x } }, "yaxis": y_axis, "showlegend": false }),
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
        json!({ "data": self.traces, "layout": self.layout })
    }
}

/// The name by which the page's script knows the traces of a group.
pub(crate) fn trace_group(group: usize) -> String {
    format!("g{group}")
}
