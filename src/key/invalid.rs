//! Text that is no key, and what of it may be shown.

use std::fmt;

use super::text::escape;

/// A text is no [`Origin`](crate::Origin) or no [`CircuitKey`](crate::CircuitKey).
///
/// Its message says what is wrong, and names the text. Of a text with userinfo, a path, a query or a fragment in it, which
/// may hold a password or a person's name, only the scheme and the host are named.
///
/// # Examples
///
/// ```
/// use reqwest_circuit_breaker::{InvalidKey, Origin};
///
/// let error: InvalidKey = "https://user:password@api.example/items".parse::<Origin>().expect_err("more than an origin");
/// assert_eq!(error.text(), "https://api.example");
/// assert_eq!(error.to_string(), "`https://api.example` is no key: a key has no userinfo");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct InvalidKey {
    text: Box<str>,
    reason: Reason,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    NoScheme,
    Scheme,
    /// A method where none can stand.
    NoMethod,
    Userinfo,
    Path,
    Query,
    Fragment,
    Spaces,
    Url(url::ParseError),
    Method,
}

impl InvalidKey {
    /// Takes the offending text, and keeps what of it may be shown.
    pub(super) fn new(text: &str, reason: Reason) -> Self {
        Self {
            text: shown(text).into_boxed_str(),
            reason,
        }
    }

    /// Returns what the error shows of the text: at most its method, or its scheme, host and port.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitKey;
    ///
    /// let error = "https://api.example/login?token=12ab".parse::<CircuitKey>().expect_err("it has a path");
    /// assert_eq!(error.text(), "https://api.example");
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no key: ", self.text)?;
        f.write_str(match self.reason {
            Reason::NoScheme => "an origin begins with `http://` or `https://`",
            Reason::Scheme => "the scheme is neither http nor https",
            Reason::NoMethod => "a key has at most one method, an origin none",
            Reason::Userinfo => "a key has no userinfo",
            Reason::Path => "an origin has no path, a part stands behind a space",
            Reason::Query => "a key has no query",
            Reason::Fragment => "a key has no fragment",
            Reason::Spaces => {
                "the only white space is one space between method and origin, and one between origin and part"
            }
            Reason::Method => "the method is no token (RFC 9110, section 5.6.2)",
            Reason::Url(error) => return error.fmt(f),
        })
    }
}

impl fmt::Debug for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InvalidKey({self})")
    }
}

impl std::error::Error for InvalidKey {}

/// Longest text shown, in characters: more than any host name has (RFC 1035).
const MAX_SHOWN: usize = 280;

/// Keeps scheme, host and port, as far as they can be told apart from what must not be shown.
///
/// The text is *not* a valid URL, so a secret may stand where no parser would look for it: a `/` in a password, say. In
/// doubt nothing is shown.
fn shown(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
        _ => ("", text),
    };
    let end = rest.find(|char: char| "/\\?#".contains(char) || char.is_whitespace() || char.is_control());
    let (authority, beyond) = rest.split_at(end.unwrap_or(rest.len()));
    let host = if beyond.contains('@') {
        // Either a path with an `@` in it, or userinfo with a `/`: then even what looks like the host is a user's name.
        "…"
    } else {
        let host = authority.rsplit('@').next().unwrap_or_default();
        without_bad_port(host)
    };
    let host = if host.is_empty() && !rest.is_empty() {
        "…"
    } else {
        host
    };
    let mark = if scheme.is_empty() { "" } else { "://" };
    let shown = escape([scheme, mark, host].concat().into()).into_owned();
    match shown.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

/// Returns `true` for a scheme as of [RFC 3986, section 3.1](https://www.rfc-editor.org/rfc/rfc3986#section-3.1).
fn is_scheme(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_alphabetic())
        && text
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
}

/// What follows a colon is shown if it can be nothing but a port: `data:secret` and `user:password` look like one, too.
fn without_bad_port(host: &str) -> &str {
    let name_end = if host.starts_with('[') {
        host.find(']').unwrap_or(host.len())
    } else {
        0
    };
    match host[name_end..].split_once(':') {
        Some((name, port)) if port.len() > 5 || !port.bytes().all(|byte| byte.is_ascii_digit()) => {
            &host[..name_end + name.len()]
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_text_and_says_what_is_wrong_with_it() {
        let error = InvalidKey::new("https://me:secret@h.test", Reason::Userinfo);
        assert_eq!(error.text(), "https://h.test");
        assert_eq!(error.to_string(), "`https://h.test` is no key: a key has no userinfo");
        let error = InvalidKey::new("https://", Reason::Url(url::ParseError::EmptyHost));
        assert_eq!(error.to_string(), "`https://` is no key: empty host");
    }

    #[test]
    fn scheme_host_and_port_are_shown() {
        for text in [
            "",
            "api.example",
            "api.example:8080",
            "https://api.example:99999",
            "foo+bar://x",
            "http://[::1]:80",
            "G(T",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn nothing_else_is_shown() {
        for (text, expected) in [
            ("https://me:secret@h.test/secret?secret#secret", "https://h.test"),
            ("https://secret@me@h.test", "https://h.test"),
            ("https://h.test\\secret", "https://h.test"),
            ("https://h.test secret", "https://h.test"),
            ("https://h.test\nsecret", "https://h.test"),
            ("https://h.test:secret", "https://h.test"),
            ("https://[::1]:secret", "https://[::1]"),
            ("https://[::]:secret", "https://[::]"),
            ("https://[::1", "https://[::1"),
            ("https://me:sec/ret@h.test", "https://…"),
            ("https://h.test/@secret", "https://…"),
            ("https:///secret", "https://…"),
            ("me:secret@h.test", "h.test"),
            ("data:secret", "data"),
            ("tel:0123456789", "tel"),
            ("/secret", "…"),
            ("?secret=https://x", "…"),
            ("h.test?secret=https://x", "h.test"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_bounded_and_printable() {
        assert_eq!(shown(&"é".repeat(100_000)).chars().count(), MAX_SHOWN + 1);
        assert_eq!(shown("a\u{7}b"), "a");
    }
}
