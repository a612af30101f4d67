//! A page as a file: sections under a header, with style and data inside, and the plotting library inside or beside it.

use super::chart::Chart;
use super::escape::{html, json_in_script};
use super::palette;
use super::plotly_script::{self, Script};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Refuses every request that would leave the page, whatever else stands in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src 'unsafe-inline'";

/// Where the shared script may come from: where the page itself was read from. Browsers do not count files as that.
const BESIDE: &str = "'self' file:";

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
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Self {
            id,
            heading,
            lead,
            body,
            ..
        } = self;
        write!(
            out,
            "<section id=\"{id}\"><h2>{heading}</h2><p class=\"lead\">{lead}</p>{body}</section>"
        )
    }
}

/// A page and its parts, all but the title HTML.
pub(super) struct Document {
    pub(super) title: String,
    /// What stands below the title.
    pub(super) header: String,
    pub(super) toolbar: String,
    pub(super) sections: Vec<Section>,
    pub(super) footer: String,
    /// What the page's script draws from.
    pub(super) data: Value,
    /// Where the page finds the plotting library.
    pub(super) script: Script,
}

impl Document {
    /// Writes the whole page as HTML, a part at a time: scripts and data are too large to hold twice.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let title = html(&self.title);
        let beside = match &self.script {
            Script::Inside => "",
            Script::Above(_) => BESIDE,
        };
        write!(
            out,
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY} {beside}\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <title>{title} · Meshfold</title><style>{}{}</style></head>",
            palette::style(),
            include_str!("page.css"),
        )?;
        write!(
            out,
            "<body><header><p class=\"kicker\">Meshfold report</p><h1>{title}</h1>{}</header>{}<main>",
            self.header, self.toolbar,
        )?;
        for section in &self.sections {
            section.write(out)?;
        }
        write!(
            out,
            "</main>{}<script type=\"application/json\" id=\"report-data\">{}</script>",
            self.footer,
            json_in_script(&self.data.to_string()),
        )?;
        match &self.script {
            Script::Inside => write!(
                out,
                "<script type=\"text/plain\" id=\"plotly-packed\">{}</script>",
                plotly_script::packed()
            )?,
            Script::Above(name) => {
                write!(
                    out,
                    "<script id=\"plotly-above\" src=\"../{name}\"></script>"
                )?;
            }
        }
        let script = include_str!("page.js");
        writeln!(out, "<script>{script}</script></body></html>")
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

/// The last lines of a page: who wrote it, from what, and what it needs to be shown.
pub(super) fn footer(source: &str, script: &Script) -> String {
    let needs = match script {
        Script::Inside => {
            "This page is complete in itself and asks nothing of the network.".to_owned()
        }
        Script::Above(name) => format!(
            "Its plots need the file {name} in the folder above this one; <code>meshfold report</code> writes a page that \
             is complete in itself. Nothing is asked of the network."
        ),
    };
    format!(
        "<footer><p>Written by Meshfold {}{source}. {needs} Plots by plotly.js, which is under the MIT licence.</p></footer>",
        env!("CARGO_PKG_VERSION"),
    )
}
