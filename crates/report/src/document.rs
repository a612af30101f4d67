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
use serde_json::Value;
use std::io::{self, Write};

/// Refuses every request that would leave the page, whatever else stands in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src 'unsafe-inline'";

/// Lets a page ask its server for a newer version.
const ASKS: &str = "; connect-src 'self'";

/// Where the shared script may come from: where the page itself was read from. Browsers do not count files as that.
const BESIDE: &str = "'self' file:";

/// Draws under dark colours; the page's script changes the medium where the reader chooses a theme.
const DARK: &str = "(prefers-color-scheme: dark)";

/// The page's script, a file for each idea; the last one has `drawReport`, which draws the plots and calls the others.
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

/// The start of a page that shows runs as they were.
const ONCE: &str = "drawReport();\n";

/// The script of a page that follows runs.
const FOLLOW: &str = include_str!("document/page/follow.js");

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
    /// A part without plots.
    pub(crate) fn of_text(
        id: &'static str,
        heading: &'static str,
        lead: impl Into<String>,
        body: Markup,
    ) -> Self {
        Self {
            id,
            heading,
            lead: lead.into(),
            body,
            charts: Vec::new(),
        }
    }

    /// The settings of all that is on the page, after a `lead` that says what to do with them.
    pub(crate) fn of_settings(lead: &str, body: Markup) -> Self {
        Self::of_text("configuration", "Configuration", lead, body)
    }

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
    /// The runs that it was written from, for the last lines.
    pub(crate) source: String,
    /// What the page's script draws from.
    pub(crate) data: Value,
    /// Where the page finds the plotting library.
    pub(crate) script: Script,
    /// How the page follows its runs, if it does.
    pub(crate) following: Option<Following>,
}

/// How a page follows runs that go on.
pub(crate) struct Following {
    /// Names this version of the page.
    pub(crate) tag: String,
    /// How the runs stand.
    pub(crate) words: String,
    /// Seconds between two questions for a newer page.
    pub(crate) every: u16,
    /// Whether no run will change any more.
    pub(crate) is_over: bool,
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
        write!(out, "</main>{}", self.footer().0)?;
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
            "<script>\"use strict\";\n{}{}</script></body></html>",
            SCRIPTS.concat(),
            if self.following.is_some() {
                FOLLOW
            } else {
                ONCE
            }
        )
    }

    fn head(&self) -> Markup {
        let beside = match &self.script {
            Script::Inside => "",
            Script::Above(_) => BESIDE,
        };
        let asks = self.following.as_ref().map_or("", |_| ASKS);
        html! {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content={ (POLICY) " " (beside) (asks) };
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
                @if let Some(following) = &self.following { (following.markup()) }
                (self.header)
            }
            (self.toolbar)
        }
    }

    /// The last lines: who wrote the page, from what, and what it needs to be shown.
    fn footer(&self) -> Markup {
        html! {
            footer {
                p {
                    "Written by Meshfold " (env!("CARGO_PKG_VERSION")) (self.source) ". "
                    @match (&self.script, &self.following) {
                        (Script::Inside, None) => { "This page is complete in itself and asks nothing of the network." }
                        (Script::Inside, Some(_)) => { "This page asks " code { "meshfold watch" } " alone, on this machine." }
                        (Script::Above(name), _) => {
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
}

impl Following {
    fn markup(&self) -> Markup {
        html! {
            p class="following" id="following" role="status" data-tag=(self.tag) data-every=(self.every) data-over[self.is_over] {
                (self.words)
            }
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
pub(crate) fn charts(sections: &[Section]) -> Value {
    sections
        .iter()
        .flat_map(|section| &section.charts)
        .map(|chart| (chart.id.clone(), chart.json()))
        .collect()
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
