//! The borrowed form of a key.
//!
//! A breaker that exists is looked up with what the request already holds: the host in its URL, its method, its route.
//! Only a breaker that does not exist yet needs a [`CircuitKey`] of its own. The map's side of it is the [`Borrow`] of a
//! trait object, since a `KeyRef` is not a reference into a `CircuitKey`.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};

use http::Method;
use url::Url;

use super::{CircuitKey, Origin};

/// A key made of borrowed pieces.
///
/// Equal keys hash alike in both forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRef<'a> {
    pub(super) port: u16,
    pub(super) https: bool,
    /// As the URL parser spells it, without the dot that stands for the root of the domain names.
    pub(super) host: &'a str,
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
        // The URL parser drops the default port.
        Some(Self {
            port: url.port().unwrap_or(default_port(https)),
            https,
            host,
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
        Origin::from_parts(self.https, self.host, self.port)
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
    pub(crate) fn is_narrow(self) -> bool {
        self.method.is_some() || self.part.is_some()
    }

    pub(super) fn scheme(self) -> &'static str {
        if self.https { "https" } else { "http" }
    }

    fn write_to(self, out: &mut impl fmt::Write) -> fmt::Result {
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

const fn default_port(https: bool) -> u16 {
    if https { 443 } else { 80 }
}

impl Hash for KeyRef<'_> {
    /// Two writes for a plain origin. The host's length and what follows stand in front, and no byte of a string is
    /// `0xff`, with which `str` ends: two keys never feed the same bytes.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let flags = u64::from(self.https) | u64::from(self.method.is_some()) << 1 | u64::from(self.part.is_some()) << 2;
        state.write_u64(u64::from(self.port) | flags << 16 | (self.host.len() as u64) << 19);
        state.write(self.host.as_bytes());
        if let Some(method) = self.method {
            method.as_str().hash(state);
        }
        if let Some(part) = self.part {
            part.hash(state);
        }
    }
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

/// What a map of keys can be asked with: an owned key, or a borrowed one.
pub(crate) trait AsKeyRef {
    /// Borrows the key.
    fn key_ref(&self) -> KeyRef<'_>;
}

impl AsKeyRef for KeyRef<'_> {
    fn key_ref(&self) -> KeyRef<'_> {
        *self
    }
}

impl AsKeyRef for CircuitKey {
    fn key_ref(&self) -> KeyRef<'_> {
        self.as_ref()
    }
}

impl<'a> Borrow<dyn AsKeyRef + 'a> for CircuitKey {
    fn borrow(&self) -> &(dyn AsKeyRef + 'a) {
        self
    }
}

impl Hash for dyn AsKeyRef + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key_ref().hash(state);
    }
}

impl PartialEq for dyn AsKeyRef + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.key_ref() == other.key_ref()
    }
}

impl Eq for dyn AsKeyRef + '_ {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps all that is written, call by call.
    #[derive(Default)]
    struct Recorder(Vec<u8>, usize);

    impl Hasher for Recorder {
        fn write(&mut self, bytes: &[u8]) {
            self.0.extend(bytes);
            self.1 += 1;
        }

        fn finish(&self) -> u64 {
            0
        }
    }

    fn fed(value: &(impl Hash + ?Sized)) -> Recorder {
        let mut recorder = Recorder::default();
        value.hash(&mut recorder);
        recorder
    }

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
        let map: std::collections::HashMap<CircuitKey, usize> = KEYS
            .iter()
            .enumerate()
            .map(|(n, key)| (key.parse().unwrap(), n))
            .collect();
        for (n, text) in KEYS.iter().enumerate() {
            let key: CircuitKey = text.parse().unwrap();
            let found = map.get::<dyn AsKeyRef>(&key.as_ref());
            assert_eq!(found, Some(&n), "{text}");
            assert_eq!(key.as_ref().to_key(), key);
            assert_eq!(fed(&key).0, fed(&key as &dyn AsKeyRef).0);
        }
        let url = Url::parse("http://user@A.:80/b?c").unwrap();
        let found = map.get::<dyn AsKeyRef>(&KeyRef::of_url(&url).unwrap());
        assert_eq!(found, Some(&0));
    }

    #[test]
    fn no_two_keys_feed_the_same_bytes() {
        let all = KEYS.map(|key| fed(&key.parse::<CircuitKey>().unwrap()).0);
        for (n, left) in all.iter().enumerate() {
            for (m, right) in all.iter().enumerate() {
                assert_eq!(left.starts_with(right), n == m, "{} {}", KEYS[n], KEYS[m]);
            }
        }
        assert_eq!(fed(&"http://a".parse::<CircuitKey>().unwrap()).1, 2);
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
}
