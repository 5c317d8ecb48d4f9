//! Text of keys: safe to print on one line, and lent without allocating.

use std::borrow::Cow;
use std::cell::Cell;
use std::thread::LocalKey;

/// Escapes what would break a line or drive a terminal, and nothing else: not even the backslash, or the text of a key
/// would be escaped again each time it is read. So a text in two spellings, a raw `\n` and a written one, is one key.
pub(super) fn escape(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        if is_unsafe(char) {
            escaped.extend(char.escape_default());
        } else {
            escaped.push(char);
        }
    }
    Cow::Owned(escaped)
}

/// Returns `true` for a control character and for Unicode's line and paragraph separators, which are none but end a
/// line all the same.
fn is_unsafe(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}' | '\u{2029}')
}

/// Lends a text that is written into a buffer of this thread. The buffer is taken out meanwhile, so that `look` may come
/// here again: then it starts with an empty one, as does a thread whose locals are gone.
pub(super) fn lend<R>(
    buffer: &'static LocalKey<Cell<String>>,
    write: impl FnOnce(&mut String),
    look: impl FnOnce(&str) -> R,
) -> R {
    let mut text = buffer.try_with(Cell::take).unwrap_or_default();
    text.clear();
    write(&mut text);
    let result = look(&text);
    let _ = buffer.try_with(|buffer| buffer.set(text));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_line_separators_are_escaped() {
        let escaped = |text: &'static str| escape(text.into()).into_owned();
        assert_eq!(escaped("a\nb\r\t\0"), r"a\nb\r\t\u{0}");
        assert_eq!(escaped("\u{1b}[31m\u{7f}\u{85}"), r"\u{1b}[31m\u{7f}\u{85}");
        assert_eq!(escaped("\u{2028}\u{2029}"), r"\u{2028}\u{2029}");
    }

    #[test]
    fn other_text_is_not_even_copied() {
        for text in ["", "  ", r"a\nb", "'\"`", "grün 漢字"] {
            assert!(matches!(escape(text.into()), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn escaped_text_is_not_escaped_again() {
        let once = escape("a\nb\\\u{2028}".into()).into_owned();
        assert_eq!(escape(once.as_str().into()), once);
    }
}
