//! A page as a file: sections under a header, with style, script and data inside.

use super::chart::Chart;
use super::escape::{html, json_in_script};
use super::palette;
use super::plotly_script;
use serde_json::{Map, Value};

/// Refuses every request that would leave the page, whatever else stands in it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// A part of the page under its own heading, and the plots that its body has boxes for.
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) heading: &'static str,
    /// One or two sentences on how to read it, HTML.
    pub(super) lead: String,
    pub(super) body: String,
    pub(super) charts: Vec<Chart>,
}

impl Section {
    fn element(&self) -> String {
        let Self {
            id,
            heading,
            lead,
            body,
            ..
        } = self;
        format!(
            "<section id=\"{id}\"><h2>{heading}</h2><p class=\"lead\">{lead}</p>{body}</section>"
        )
    }
}

/// A page and its parts, all but the title HTML.
pub(super) struct Document<'a> {
    pub(super) title: &'a str,
    /// What stands below the title.
    pub(super) header: String,
    pub(super) toolbar: String,
    pub(super) sections: Vec<Section>,
    pub(super) footer: String,
    /// What the page's script draws from.
    pub(super) data: Value,
}

impl Document<'_> {
    /// The whole page.
    pub(super) fn html(&self) -> String {
        let title = html(self.title);
        let body: String = self.sections.iter().map(Section::element).collect();
        let head = format!(
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <title>{title} · Meshfold</title><style>{}{}</style></head>",
            palette::style(),
            include_str!("page.css"),
        );
        let header = format!(
            "<header><p class=\"kicker\">Meshfold report</p><h1>{title}</h1>{}</header>",
            self.header
        );
        let data = json_in_script(&self.data.to_string());
        format!(
            "{head}<body>{header}{}<main>{body}</main>{}\
             <script type=\"application/json\" id=\"report-data\">{data}</script>\
             <script type=\"text/plain\" id=\"plotly-packed\">{}</script><script>{}</script></body></html>\n",
            self.toolbar,
            self.footer,
            plotly_script::packed(),
            include_str!("page.js"),
        )
    }
}

/// Boxes of charts that stand side by side where there is room.
pub(super) fn columns(charts: &[Chart]) -> String {
    let elements: String = charts.iter().map(Chart::element).collect();
    format!("<div class=\"columns\">{elements}</div>")
}

/// The plots of all sections by their names, as the page's script takes them.
pub(super) fn charts(sections: &[Section]) -> Map<String, Value> {
    sections
        .iter()
        .flat_map(|section| &section.charts)
        .map(|chart| (chart.id.clone(), chart.json()))
        .collect()
}
