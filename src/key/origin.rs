//! The upstream that a breaker belongs to.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use url::Url;

use super::borrowed::KeyRef;
use super::invalid::{InvalidKey, Reason};

/// Scheme, host and port of an upstream ([RFC 6454](https://www.rfc-editor.org/rfc/rfc6454#section-4)), in one spelling.
///
/// The URL parser folds the case of scheme and host, the default port, internationalized names (to Punycode), and the
/// spellings of IPv4 and IPv6 addresses. Beyond that, one trailing dot of a host name is folded: `api.example.` is
/// `api.example`. So however a URL is written, its upstream is one, and so is the upstream's breaker.
///
/// An origin has no userinfo, path, query or fragment, hence can be logged.
///
/// Origins sort by host, then scheme, then port.
///
/// # Examples
///
/// ```
/// use reqwest::Url;
/// use reqwest_circuit_breaker::Origin;
///
/// let url = Url::parse("HTTPS://user:password@API.example.:443/items?page=2")?;
/// let origin = Origin::of(&url).expect("it is https and has a host");
/// assert_eq!(origin.to_string(), "https://api.example");
/// assert_eq!(origin, "https://api.example".parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// As it is displayed. The other fields say where what is in it.
    text: Box<str>,
    host: Range<u32>,
    https: bool,
    port: u16,
}

impl Origin {
    /// Reads the origin of a URL. `None`: its scheme is neither http nor https, or it has no host, so a request to it is not
    /// protected.
    ///
    /// ```
    /// use reqwest::Url;
    /// use reqwest_circuit_breaker::Origin;
    ///
    /// let origin = |url| Origin::of(&Url::parse(url).expect("a URL"));
    /// assert_eq!(origin("http://stock.example/items"), origin("http://stock.example:80"));
    /// assert_ne!(origin("http://stock.example"), origin("https://stock.example"));
    /// assert_eq!(origin("data:text/plain,hello"), None);
    /// ```
    pub fn of(url: &Url) -> Option<Self> {
        KeyRef::of_url(url).map(KeyRef::to_origin)
    }

    /// Returns `"http"` or `"https"`.
    ///
    /// ```
    /// # use reqwest_circuit_breaker::Origin;
    /// assert_eq!("https://api.example".parse::<Origin>()?.scheme(), "https");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn scheme(&self) -> &str {
        self.key_ref().scheme()
    }

    /// Returns the host as a URL has it: an IPv6 address stands in brackets.
    ///
    /// ```
    /// # use reqwest_circuit_breaker::Origin;
    /// assert_eq!("https://api.example".parse::<Origin>()?.host(), "api.example");
    /// assert_eq!("http://[0:0::1]:8080".parse::<Origin>()?.host(), "[::1]");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn host(&self) -> &str {
        // A host's name is far shorter than four billion bytes, and begins and ends at characters.
        self.text
            .get(self.host.start as usize..self.host.end as usize)
            .unwrap_or_default()
    }

    /// Returns the port, the scheme's own if the URL has none.
    ///
    /// ```
    /// # use reqwest_circuit_breaker::Origin;
    /// assert_eq!("https://api.example".parse::<Origin>()?.port(), 443);
    /// assert_eq!("http://[::1]:8080".parse::<Origin>()?.port(), 8080);
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn of_key(key: KeyRef<'_>) -> Self {
        let start = key.scheme().len() + "://".len();
        Self {
            text: key.origin_only().to_string().into(),
            host: start as u32..(start + key.host.len()) as u32,
            https: key.https,
            port: key.port,
        }
    }

    /// As it is displayed.
    #[inline]
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    #[inline]
    pub(super) fn key_ref(&self) -> KeyRef<'_> {
        KeyRef {
            port: self.port,
            https: self.https,
            host: self.host(),
            text: Some(&self.text),
            method: None,
            part: None,
        }
    }
}

/// By host first, so that what belongs to one host stands together.
impl Ord for Origin {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |origin: &Self| (origin.https, origin.port);
        self.host()
            .cmp(other.host())
            .then_with(|| order(self).cmp(&order(other)))
    }
}

impl PartialOrd for Origin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Origin {
    type Err = InvalidKey;

    /// Reads an origin in any spelling: of any case, with the default port, with a single `/` behind it.
    ///
    /// What is more than an origin, or only looks like one to the lenient parser of browsers, is rejected: userinfo, path,
    /// query, fragment, white space, backslashes, other schemes.
    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let invalid = |reason| InvalidKey::new(text, reason);
        let (scheme, rest) = text.split_once("://").ok_or_else(|| invalid(Reason::NoScheme))?;
        if scheme.trim_start().contains(' ') {
            return Err(invalid(Reason::NoMethod));
        }
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(invalid(Reason::Scheme));
        }
        let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
        if rest[..end].contains('@') {
            return Err(invalid(Reason::Userinfo));
        }
        match &rest[end..] {
            "" | "/" => {}
            more if more.starts_with(['/', '\\']) => return Err(invalid(Reason::Path)),
            more if more.starts_with('?') => return Err(invalid(Reason::Query)),
            _ => return Err(invalid(Reason::Fragment)),
        }
        // The parser would drop these without a word.
        if rest.contains(|char: char| char.is_whitespace() || char.is_control()) {
            return Err(invalid(Reason::Spaces));
        }
        let url = Url::parse(text).map_err(|error| invalid(Reason::Url(error)))?;
        Self::of(&url).ok_or_else(|| invalid(Reason::Url(url::ParseError::EmptyHost)))
    }
}

impl fmt::Display for Origin {
    /// Shows the origin as [RFC 6454, section 6.2](https://www.rfc-editor.org/rfc/rfc6454#section-6.2) has it, without a
    /// default port: `https://api.example`, `http://[::1]:8080`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key_ref().fmt(f)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({})", self.key_ref())
    }
}

/// Serializes as it is displayed.
#[cfg(feature = "serde")]
impl serde::Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Option<String> {
        Origin::of(&Url::parse(url).unwrap()).map(|origin| origin.to_string())
    }

    #[test]
    fn many_spellings_are_one_origin() {
        for url in [
            "http://EXAMPLE.test",
            "http://example.test:80/",
            "http://example.test/a?b#c",
            "http://user:pw@example.test",
            "http://example.test.",
            "HTTP:\\\\ex%61mple.test。",
        ] {
            assert_eq!(of(url).as_deref(), Some("http://example.test"), "{url}");
        }
        for url in [
            "http://127.1",
            "http://0x7f.0.0.1",
            "http://2130706433",
            "http://127.0.0.1.",
        ] {
            assert_eq!(of(url).as_deref(), Some("http://127.0.0.1"), "{url}");
        }
        assert_eq!(
            of("http://[0:0:0:0:0:0:0:1]:8080").as_deref(),
            Some("http://[::1]:8080")
        );
        assert_eq!(
            of("https://bücher.example").as_deref(),
            Some("https://xn--bcher-kva.example")
        );
    }

    #[test]
    fn different_origins_stay_apart() {
        let all = [
            "http://h.test:8080",
            "http://h.test",
            "https://h.test",
            "http://h.test:8081",
            "http://www.h.test",
        ];
        for (n, left) in all.iter().enumerate() {
            for (m, right) in all.iter().enumerate() {
                assert_eq!(of(left) == of(right), n == m, "{left} {right}");
            }
        }
        assert_eq!(of("http://h.test:443").as_deref(), Some("http://h.test:443"));
        assert_eq!(of("https://h.test:80").as_deref(), Some("https://h.test:80"));
    }

    #[test]
    fn origins_sort_by_host_then_scheme_then_port() {
        let sorted = [
            "http://a.test",
            "http://a.test:8080",
            "https://a.test:80",
            "https://a.test",
            "http://b.test",
        ]
        .map(|text| text.parse::<Origin>().unwrap());
        assert!(sorted.is_sorted_by(|left, right| left < right), "{sorted:?}");
    }

    #[test]
    fn an_origin_has_a_port_also_where_it_is_the_schemes() {
        for (url, scheme, port) in [
            ("http://h.test", "http", 80),
            ("https://h.test", "https", 443),
            ("http://h.test:8080", "http", 8080),
        ] {
            let origin = Origin::of(&Url::parse(url).unwrap()).unwrap();
            assert_eq!(
                (origin.scheme(), origin.host(), origin.port()),
                (scheme, "h.test", port)
            );
        }
    }

    #[test]
    fn only_one_dot_is_folded_and_only_behind_a_name() {
        assert_eq!(of("http://h.test..").as_deref(), Some("http://h.test.."));
        assert_eq!(of("http://.").as_deref(), Some("http://."));
        for text in ["http://h.test..", "http://."] {
            assert_eq!(text.parse::<Origin>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_schemes_have_no_origin() {
        for url in [
            "data:text/plain,x",
            "unix:/run/x.sock",
            "foo://host/x",
            "ws://host",
            "file:///x",
            "ftp://host",
        ] {
            assert_eq!(of(url), None, "{url}");
        }
    }

    #[test]
    fn an_origin_is_read_in_any_spelling() {
        for text in [
            "https://api.example",
            "HTTPS://API.example",
            "https://api.example:443/",
            "https://api.example.",
        ] {
            assert_eq!(
                text.parse::<Origin>().unwrap().to_string(),
                "https://api.example",
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_more_or_less_than_an_origin_is_rejected() {
        for (text, reason) in [
            ("", Reason::NoScheme),
            ("api.example", Reason::NoScheme),
            ("https:api.example", Reason::NoScheme),
            ("ftp://api.example", Reason::Scheme),
            (" https://api.example", Reason::Scheme),
            ("GET https://api.example", Reason::NoMethod),
            ("https://me@api.example", Reason::Userinfo),
            ("https://@api.example", Reason::Userinfo),
            ("https://api.example/x", Reason::Path),
            ("https://api.example//", Reason::Path),
            ("https://api.example\\", Reason::Path),
            ("https:///api.example", Reason::Path),
            ("https://api.example?", Reason::Query),
            ("https://api.example#", Reason::Fragment),
            ("https://api.example ", Reason::Spaces),
            ("https://api.\texample", Reason::Spaces),
            ("https://", Reason::Url(url::ParseError::EmptyHost)),
            ("https:///", Reason::Url(url::ParseError::EmptyHost)),
            ("https://api.example:65536", Reason::Url(url::ParseError::InvalidPort)),
        ] {
            assert_eq!(text.parse::<Origin>(), Err(InvalidKey::new(text, reason)), "{text}");
        }
    }
}
