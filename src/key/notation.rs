//! The text of a key: `[method SP] origin [SP part]`.
//!
//! It stands in logs, metrics, errors and configuration, so it fits on one line, shows nothing of a URL but the origin, and
//! can be read back.

use std::fmt;
use std::str::FromStr;

use super::CircuitKey;
use super::invalid::{InvalidKey, Reason};

impl fmt::Display for CircuitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for CircuitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CircuitKey({})", self.as_ref())
    }
}

impl FromStr for CircuitKey {
    type Err = InvalidKey;

    /// Reads `[method SP] origin [SP part]`. What stands behind the one space after the origin is the part, character
    /// by character. The origin may be spelled in any way that [`Origin`](crate::Origin) can read.
    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        // No method has a colon in it, so the first word is either the one or the other.
        let (method, rest) = match text.split_once(' ') {
            Some((word, rest)) if !word.contains(':') => (Some(word), rest),
            _ => (None, text),
        };
        if method == Some("") || method.is_some() && rest.starts_with(' ') {
            return Err(InvalidKey::new(rest.trim_start(), Reason::Spaces));
        }
        let method = match method {
            Some(word) => Some(word.parse().map_err(|_| InvalidKey::new(word, Reason::Method))?),
            None => None,
        };
        let (origin, part) = rest.split_once(' ').unwrap_or((rest, ""));
        Ok(Self::from_parts(origin.parse()?, method, None).with_part(part))
    }
}

/// Serializes as it is displayed.
#[cfg(feature = "serde")]
impl serde::Serialize for CircuitKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn key(text: &str) -> CircuitKey {
        text.parse().unwrap()
    }

    #[test]
    fn a_key_and_its_text_are_the_same_thing() {
        let origin = key("https://api.example");
        for part in [
            " ",
            " a",
            "a ",
            "a  b",
            "https://x.example y",
            "GET https://x",
            r"a\nb",
            "a\nb",
            "\u{2028}",
            "ü\t\\",
        ] {
            for narrowed in [
                origin.clone().with_part(part),
                origin.clone().with_method(Method::GET).with_part(part),
            ] {
                let text = narrowed.to_string();
                assert!(!text.contains(['\n', '\t', '\u{2028}']), "{text}");
                assert_eq!(key(&text), narrowed, "{text}");
                assert_eq!(key(&text).part(), narrowed.part());
            }
        }
    }

    #[test]
    fn what_is_no_key_is_rejected() {
        for text in [
            "",
            " ",
            "GET",
            " https://api.example",
            "GET  https://api.example",
            "GET PUT https://api.example",
            "G(T https://api.example",
            "https://api.example\t/x",
            "GET https://api.example/x",
            "/x https://api.example",
        ] {
            assert!(text.parse::<CircuitKey>().is_err(), "{text:?}");
        }
        let error = "GET  https://api.example /x".parse::<CircuitKey>().unwrap_err();
        assert_eq!(error, InvalidKey::new("https://api.example", Reason::Spaces));
    }
}
