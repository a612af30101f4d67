//! A page as a file: sections under a header, with style and data inside, and the plotting library inside or beside it.

pub(crate) mod chart;
pub(crate) mod escape;
pub(crate) mod palette;
pub(crate) mod plotly_script;
pub(crate) mod quantity_text;

use chart::Chart;
use escape::json_in_script;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use plotly_script::Script;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Refuses every request that would leave the page, whatever else stands in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src 'unsafe-inline'";

/// Where the shared script may come from: where the page itself was read from. Browsers do not count files as that.
const BESIDE: &str = "'self' file:";

/// Draws under dark colours; the page's script changes the medium where the reader chooses a theme.
const DARK: &str = "(prefers-color-scheme: dark)";

/// The page's script, a file for each idea; the last one draws the plots and calls the others.
const SCRIPTS: [&str; 10] = [
    include_str!("document/page/theme.js"),
    include_str!("document/page/download.js"),
    include_str!("document/page/tables.js"),
    include_str!("document/page/runs.js"),
    include_str!("document/page/limits.js"),
    include_str!("document/page/looks.js"),
    include_str!("document/page/bands.js"),
    include_str!("document/page/heat.js"),
    include_str!("document/page/clients.js"),
    include_str!("document/page/charts.js"),
];

/// A part of the page under its own heading, and the plots that its body has boxes for.
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    /// One or two sentences on how to read it.
    pub(crate) lead: String,
    pub(crate) body: Markup,
    pub(crate) charts: Vec<Chart>,
}

impl Section {
    fn markup(&self) -> Markup {
        html! {
            section id=(self.id) {
                h2 { (self.heading) }
                p class="lead" { (self.lead) }
                (self.body)
            }
        }
    }
}

/// A page and its parts.
pub(crate) struct Document {
    pub(crate) title: String,
    /// What stands below the title.
    pub(crate) header: Markup,
    pub(crate) toolbar: Markup,
    pub(crate) sections: Vec<Section>,
    pub(crate) footer: Markup,
    /// What the page's script draws from.
    pub(crate) data: Value,
    /// Where the page finds the plotting library.
    pub(crate) script: Script,
}

impl Document {
    /// Writes the whole page as HTML, a part at a time: scripts and data are too large to hold twice.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write!(
            out,
            "{}<html lang=\"en\">{}<body>",
            DOCTYPE.into_string(),
            self.head().into_string()
        )?;
        write!(out, "{}<main>", self.top().into_string())?;
        for section in &self.sections {
            out.write_all(section.markup().0.as_bytes())?;
        }
        write!(out, "</main>{}", self.footer.0)?;
        let data = json_in_script(&self.data.to_string());
        write!(
            out,
            "<script type=\"application/json\" id=\"report-data\">{data}</script>"
        )?;
        match &self.script {
            Script::Inside => write!(
                out,
                "<script type=\"text/plain\" id=\"plotly-packed\">{}</script>",
                plotly_script::packed()
            )?,
            Script::Above(name) => {
                let above = html! { script id="plotly-above" src={ "../" (name) } {} };
                out.write_all(above.0.as_bytes())?;
            }
        }
        writeln!(
            out,
            "<script>\"use strict\";\n{}</script></body></html>",
            SCRIPTS.concat()
        )
    }

    fn head(&self) -> Markup {
        let beside = match &self.script {
            Script::Inside => "",
            Script::Above(_) => BESIDE,
        };
        html! {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content={ (POLICY) " " (beside) };
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (self.title) " · Meshfold" }
                style { (PreEscaped(palette::light())) (PreEscaped(include_str!("document/page/light.css"))) }
                style id="dark" media=(DARK) { (PreEscaped(palette::dark())) (PreEscaped(include_str!("document/page/dark.css"))) }
            }
        }
    }

    /// What stands above the sections.
    fn top(&self) -> Markup {
        html! {
            header {
                label class="theme" {
                    "theme "
                    select id="theme" {
                        option { "system" }
                        option { "light" }
                        option { "dark" }
                    }
                }
                p class="kicker" { "Meshfold report" }
                h1 { (self.title) }
                (self.header)
            }
            (self.toolbar)
        }
    }
}

/// Boxes of charts that stand side by side where there is room.
pub(crate) fn columns(charts: &[Chart]) -> Markup {
    html! {
        div class="columns" {
            @for chart in charts { (chart.element()) }
        }
    }
}

/// The plots of all sections by their names, as the page's script takes them.
pub(crate) fn charts(sections: &[Section]) -> Map<String, Value> {
    sections
        .iter()
        .flat_map(|section| &section.charts)
        .map(|chart| (chart.id.clone(), chart.json()))
        .collect()
}

/// The last lines of a page: who wrote it, from what, and what it needs to be shown.
pub(crate) fn footer(source: &str, script: &Script) -> Markup {
    html! {
        footer {
            p {
                "Written by Meshfold " (env!("CARGO_PKG_VERSION")) (source) ". "
                @match script {
                    Script::Inside => { "This page is complete in itself and asks nothing of the network." }
                    Script::Above(name) => {
                        "Its plots need the file " (name) " in the folder above this one; "
                        code { "meshfold report" }
                        " writes a page that is complete in itself. Nothing is asked of the network."
                    }
                }
                " Plots by plotly.js, which is under the MIT licence."
            }
        }
    }
}

/// The mark of a group or a simulation in its colour.
pub(crate) fn swatch(index: usize) -> Markup {
    html! { i class="swatch" style={ "background:" (palette::of_group(index)) } {} }
}

/// A button that shows and hides a group or a simulation.
pub(crate) fn chip(index: usize, content: &Markup) -> Markup {
    html! {
        button type="button" class="chip" data-groups=(index) aria-pressed="true" { (swatch(index)) (content) }
    }
}
