//! The borrowed form of a key.
//!
//! A breaker that exists is looked up with what the request already holds: the host in its URL, its method, its route.
//! Only a breaker that does not exist yet needs a [`CircuitKey`] of its own. The map is asked with the key's text, which
//! is as good as the key: for a plain origin it stands in the URL as it is, any other is written into a buffer that is
//! used again.

use std::cell::Cell;
use std::fmt;
use std::ptr;

use http::Method;
use url::Url;

use super::text::lend;
use super::{CircuitKey, Origin};

/// A key made of borrowed pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRef<'a> {
    pub(super) port: u16,
    pub(super) https: bool,
    /// As the URL parser spells it, without the dot that stands for the root of the domain names.
    pub(super) host: &'a str,
    /// The text of the origin, if it stands somewhere as it is displayed.
    pub(super) text: Option<&'a str>,
    pub(super) method: Option<&'a Method>,
    /// Escaped and not empty.
    pub(super) part: Option<&'a str>,
}

impl<'a> KeyRef<'a> {
    /// Reads the origin of a URL. `None`: it is not of http or https, or has no host.
    #[inline]
    pub(crate) fn of_url(url: &'a Url) -> Option<Self> {
        // A serialized URL begins with its scheme: comparing bytes costs less than cutting it out.
        let https = if url.as_str().starts_with("https:") {
            true
        } else if url.as_str().starts_with("http:") {
            false
        } else {
            return None;
        };
        let host = fold_root(url.host_str()?);
        if host.is_empty() {
            return None;
        }
        Some(Self {
            port: url.port().unwrap_or(default_port(https)),
            https,
            host,
            text: origin_text(url),
            method: None,
            part: None,
        })
    }

    /// Whether both have the same origin, whatever else there is to them.
    #[inline]
    pub(crate) fn has_origin_of(&self, other: &KeyRef<'_>) -> bool {
        self.port == other.port && self.https == other.https && self.host == other.host
    }

    /// Makes the key that owns its pieces.
    pub(crate) fn to_key(self) -> CircuitKey {
        CircuitKey::from_parts(self.to_origin(), self.method.cloned(), self.part.map(Into::into))
    }

    pub(super) fn to_origin(self) -> Origin {
        Origin::of_key(self)
    }

    /// Lends the key's text. Allocates only until the buffer of this thread is large enough.
    #[inline]
    pub(crate) fn with_text<R>(&self, look_up: impl FnOnce(&str) -> R) -> R {
        match self.text {
            Some(text) if !self.is_narrow() => look_up(text),
            _ => self.with_written_text(look_up),
        }
    }

    fn with_written_text<R>(&self, look_up: impl FnOnce(&str) -> R) -> R {
        thread_local! {
            static BUFFER: Cell<String> = const { Cell::new(String::new()) };
        }
        let write = |text: &mut String| {
            // Writing into a string never fails.
            let _ = self.write_to(text);
        };
        lend(&BUFFER, write, look_up)
    }

    /// Returns the key of the whole origin.
    pub(crate) fn origin_only(self) -> Self {
        Self {
            method: None,
            part: None,
            ..self
        }
    }

    /// Returns `true` if the key is a part of an origin.
    #[inline]
    pub(crate) fn is_narrow(&self) -> bool {
        self.method.is_some() || self.part.is_some()
    }

    pub(super) fn scheme(&self) -> &'static str {
        scheme(self.https)
    }

    fn write_to(&self, out: &mut impl fmt::Write) -> fmt::Result {
        if let Some(method) = self.method {
            write!(out, "{method} ")?;
        }
        write!(out, "{}://{}", self.scheme(), self.host)?;
        if self.port != default_port(self.https) {
            write!(out, ":{}", self.port)?;
        }
        match self.part {
            Some(part) => write!(out, " {part}"),
            None => Ok(()),
        }
    }
}

/// `api.example.` is the absolute spelling of `api.example`, and reaches the same host. Two dots are no such name, and a
/// lone dot would leave nothing.
#[inline]
fn fold_root(host: &str) -> &str {
    match host.strip_suffix('.') {
        None => host,
        Some(name) if !name.is_empty() && !name.ends_with('.') => name,
        Some(_) => host,
    }
}

/// The text of the origin, where it stands in the URL as it is displayed: nothing stands before the host, and no root's
/// dot after it. The parser has dropped the default port.
#[inline]
pub(super) fn origin_text(url: &Url) -> Option<&str> {
    let text = url.as_str();
    let start = if text.starts_with("https://") {
        "https://".len()
    } else if text.starts_with("http://") {
        "http://".len()
    } else {
        return None;
    };
    let host = url.host_str()?;
    let as_displayed = ptr::eq(text.get(start..)?.as_ptr(), host.as_ptr()) && !host.ends_with('.') && !host.is_empty();
    let end = start + host.len();
    let port = text.get(end..)?.bytes().position(|byte| byte == b'/')?;
    if as_displayed { text.get(..end + port) } else { None }
}

const fn scheme(https: bool) -> &'static str {
    if https { "https" } else { "http" }
}

const fn default_port(https: bool) -> u16 {
    if https { 443 } else { 80 }
}

impl fmt::Display for KeyRef<'_> {
    /// Keeps to width and alignment, so that keys can stand in a table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_none() && f.precision().is_none() {
            return self.write_to(f);
        }
        let mut text = String::new();
        self.write_to(&mut text)?;
        f.pad(&text)
    }
}

/// Two keys are equal where their texts are: every key can be read back from its text.
impl PartialEq for KeyRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.has_origin_of(other) && self.method == other.method && self.part == other.part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 10] = [
        "http://a",
        "http://ab",
        "https://a",
        "http://a:443",
        "http://a b",
        "http://a bc",
        "b http://a",
        "b http://a c",
        "bc http://a",
        "c http://a b",
    ];

    #[test]
    fn a_breaker_is_found_by_the_borrowed_key() {
        let map: dashmap::DashMap<CircuitKey, usize> = KEYS
            .iter()
            .enumerate()
            .map(|(n, key)| (key.parse().unwrap(), n))
            .collect();
        let find = |key: KeyRef<'_>| key.with_text(|text| map.get(text).map(|entry| *entry));
        for (n, text) in KEYS.iter().enumerate() {
            let key: CircuitKey = text.parse().unwrap();
            assert_eq!(find(key.as_ref()), Some(n), "{text}");
            assert_eq!(key.as_ref().to_key(), key);
        }
        for url in [
            "http://user@A.:80/b?c",
            "http://a",
            "http://a.:80",
            "http://A/b",
            "http://:x@a#c",
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(find(KeyRef::of_url(&url).unwrap()), Some(0), "{url}");
        }
        let url = Url::parse("http://user@a:443").unwrap();
        assert_eq!(find(KeyRef::of_url(&url).unwrap()), Some(3));
    }

    #[test]
    fn the_lent_text_is_the_displayed_one_also_within_another() {
        let keys = KEYS.map(|key| key.parse::<CircuitKey>().unwrap());
        for outer in &keys {
            for inner in &keys {
                outer.as_ref().with_text(|text| {
                    inner.as_ref().with_text(|text| assert_eq!(text, inner.to_string()));
                    assert_eq!(text, outer.to_string());
                });
            }
        }
    }

    #[test]
    fn only_method_or_part_make_a_key_narrow() {
        for text in KEYS {
            let key: CircuitKey = text.parse().unwrap();
            assert_eq!(key.as_ref().is_narrow(), text.contains(' '), "{text}");
            assert!(!key.as_ref().origin_only().is_narrow());
        }
    }

    #[test]
    fn keys_stand_in_a_table() {
        let key: CircuitKey = "GET http://a /b".parse().unwrap();
        assert_eq!(
            format!("{key:>18}|{key:<17}|{key:.5}"),
            "   GET http://a /b|GET http://a /b  |GET h"
        );
    }

    #[test]
    fn the_text_of_a_plain_origin_is_lent_from_the_url() {
        for text in [
            "http://a",
            "https://a/b",
            "http://a:443/b",
            "https://ab.example:8443/b/c",
            "http://[::1]:80/b",
        ] {
            let url = Url::parse(text).unwrap();
            let key = KeyRef::of_url(&url).unwrap();
            let lent_from = |key: KeyRef<'_>| key.with_text(str::as_ptr);
            assert_eq!(lent_from(key), url.as_str().as_ptr(), "{text}");
            assert_eq!(key.text, Some(key.to_string().as_str()));
            let narrow = KeyRef { part: Some("b"), ..key };
            assert_ne!(lent_from(narrow), url.as_str().as_ptr(), "{text}");
        }
    }

    #[test]
    fn no_text_is_lent_from_a_url_that_spells_its_origin_otherwise() {
        for text in ["http://a.", "http://a.:443", "http://me@a", "http://me:pw@a:443"] {
            let url = Url::parse(text).unwrap();
            let key = KeyRef::of_url(&url).unwrap();
            assert_eq!(key.text, None, "{text}");
            key.with_text(|text| assert_eq!(text, key.to_string()));
        }
    }

    #[test]
    fn borrowed_keys_are_equal_where_their_texts_are() {
        let keys = KEYS.map(|key| key.parse::<CircuitKey>().unwrap());
        for left in &keys {
            for right in &keys {
                assert_eq!(left.as_ref() == right.as_ref(), left == right, "{left} {right}");
            }
        }
    }
}
