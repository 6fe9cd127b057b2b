//! `Html`: a page being written. Markup is what stands in this program's source; everything else is escaped.

use std::fmt::Write as _;

use crate::output::is_hidden;

/// HTML text. Only texts of the program itself enter it as markup, which the compiler sees to.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Adds markup.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds a text from anywhere, as text or between the double quotes of an attribute.
    ///
    /// What is no character to look at is replaced: a control character could hide what follows it, and one of the
    /// characters that turn the direction of writing could show it in another order.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(' '),
                c if is_hidden(c) => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        self
    }

    /// Adds something of the program's own that is shown as text: a number, a size, a name.
    pub(super) fn show(&mut self, shown: impl std::fmt::Display) -> &mut Self {
        let shown = shown.to_string();
        self.text(&shown)
    }

    /// Adds a number with at most two decimals, for a length or a place.
    pub(super) fn number(&mut self, number: f64) -> &mut Self {
        let number = if number.is_finite() { number } else { 0.0 };
        // A `String` takes everything.
        let _ = if (number - number.round()).abs() < 0.005 {
            write!(self.0, "{}", number.round())
        } else {
            write!(self.0, "{number:.2}")
        };
        self
    }

    /// Gives the whole text.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut html = Html::default();
        html.text(text);
        html.into_string()
    }

    #[test]
    fn nothing_that_could_be_markup_stays_markup() {
        assert_eq!(escaped("<b a=\"x\" c='y'>&amp;"), "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;amp;");
        assert_eq!(escaped("a\nb\tc"), "a b c");
    }

    #[test]
    fn characters_that_hide_or_turn_what_follows_are_replaced() {
        assert_eq!(escaped("a\u{0}\u{1b}[2J\u{202e}b\u{2067}"), "a\u{fffd}\u{fffd}[2J\u{fffd}b\u{fffd}");
        assert_eq!(escaped("日本 עברית é 🚢"), "日本 עברית é 🚢");
    }

    #[test]
    fn numbers_are_short_and_always_numbers() {
        let number = |number| {
            let mut html = Html::default();
            html.number(number);
            html.into_string()
        };
        assert_eq!(
            [number(1.0), number(33.333_3), number(f64::NAN), number(f64::INFINITY)],
            ["1", "33.33", "0", "0"]
        );
    }
}
