//! Names and texts made harmless where no template does it: in plots and in data.

use maud::{Markup, Render};

/// Text that a plot shows: the plotting library reads a subset of HTML in titles, labels and names.
pub(crate) fn plot_text(text: &str) -> String {
    let escaped: Markup = text.render();
    escaped.into_string().replace('\'', "&#39;")
}

/// JSON inside a `script` element: nothing in it can end the element or start a comment.
pub(crate) fn json_in_script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_markup_survives() {
        assert_eq!(plot_text("<script>'\"&"), "&lt;script&gt;&#39;&quot;&amp;");
    }

    #[test]
    fn json_keeps_its_value() {
        let json = serde_json::to_string("</script><!-- & \u{2028}").unwrap();
        let escaped = json_in_script(&json);
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}']));
        let value: String = serde_json::from_str(&escaped).unwrap();
        assert_eq!(value, "</script><!-- & \u{2028}");
    }
}
