//! Tables that a reader sorts by their columns.

use maud::{Markup, html};

/// A table of `rows` whose first column is called `first`, and whose others have these headings with their meanings.
pub(crate) fn sortable<'a>(
    first: &str,
    headings: impl Iterator<Item = (&'a str, &'a str)>,
    rows: &Markup,
) -> Markup {
    html! {
        div class="wide" {
            table class="sortable" {
                thead {
                    tr {
                        th scope="col" { button type="button" { (first) } }
                        @for (heading, meaning) in headings {
                            th scope="col" title=(meaning) { button type="button" { (heading) } }
                        }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}
