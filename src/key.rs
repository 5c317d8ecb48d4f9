//! WHICH breaker?
//!
//! A breaker belongs to an upstream, so its key is made of what names an upstream: the origin, and within one origin at
//! most a method and a part (a route, a tenant, a region). A key is never wider than an origin, so one host's failures
//! can not reject the calls to another.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use http::Method;
use url::Url;

mod borrowed;
mod identifier;
mod invalid;
mod notation;
mod origin;
mod route;
mod scheme;
mod text;

pub(crate) use borrowed::KeyRef;
pub use invalid::InvalidKey;
pub use origin::Origin;
pub use route::Route;
pub use scheme::KeyScheme;

/// Key of one circuit breaker: an origin, and within it at most a method and a part.
///
/// The part is any text that names a piece of the origin: a [`Route`], a tenant, a region. A key is never wider than its
/// origin, and holds nothing else of a URL: no userinfo, path, query or fragment, unless you put one into the part.
///
/// An upstream that speaks no HTTP has one too: name it as an origin, `https://db.internal:5432`.
///
/// Its text is the method, the origin and the part, one space between them. Every key can be read back from its text.
///
/// A clone shares the memory of the original. Keys sort by origin, then part, then method, so that what belongs together
/// stands together in a list.
///
/// # Examples
///
/// ```
/// use reqwest::Method;
/// use reqwest_circuit_breaker::{CircuitKey, Origin};
///
/// let origin: Origin = "https://api.example".parse()?;
/// let key = CircuitKey::new(origin).with_method(Method::GET).with_part("/items/{id}");
///
/// assert_eq!(key.to_string(), "GET https://api.example /items/{id}");
/// assert_eq!("GET https://api.example /items/{id}".parse::<CircuitKey>()?, key);
/// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
/// ```
#[derive(Clone)]
pub struct CircuitKey {
    inner: Arc<KeyInner>,
}

/// One allocation beside the origin's text: a registry holds ten thousand of these.
#[derive(Clone)]
struct KeyInner {
    origin: Origin,
    method: Option<Method>,
    /// Escaped and not empty.
    part: Option<Box<str>>,
    /// As it is displayed, if that is more than the origin.
    text: Option<Box<str>>,
}

impl CircuitKey {
    /// Makes the key of a whole origin.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitKey, Origin};
    ///
    /// let key = CircuitKey::new("https://api.example".parse()?);
    /// assert_eq!(key.to_string(), "https://api.example");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn new(origin: Origin) -> Self {
        Self::from_parts(origin, None, None)
    }

    /// Narrows the key to one method.
    ///
    /// Methods are case-sensitive ([RFC 9110, section 9.1](https://www.rfc-editor.org/rfc/rfc9110#section-9.1)).
    ///
    /// ```
    /// use reqwest::Method;
    /// use reqwest_circuit_breaker::CircuitKey;
    ///
    /// let key = "https://api.example".parse::<CircuitKey>()?.with_method(Method::PUT);
    /// assert_eq!(key.to_string(), "PUT https://api.example");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    #[must_use = "the narrower key is returned"]
    pub fn with_method(self, method: Method) -> Self {
        let KeyInner { origin, part, .. } = Arc::unwrap_or_clone(self.inner);
        Self::from_parts(origin, Some(method), part)
    }

    /// Narrows the key to a part of its origin. An empty part is no part.
    ///
    /// Control characters and Unicode's line and paragraph separators are escaped here, once, so that no key breaks a line
    /// of a log, and the same key comes back from its text. All other text stays as it is.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitKey;
    ///
    /// let key: CircuitKey = "https://api.example".parse()?;
    /// assert_eq!(key.clone().with_part("tenant 7").to_string(), "https://api.example tenant 7");
    /// assert_eq!(key.clone().with_part("two\nlines").part(), Some(r"two\nlines"));
    /// assert_eq!(key.clone().with_part(""), key);
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    #[must_use = "the narrower key is returned"]
    pub fn with_part<'a>(self, part: impl Into<Cow<'a, str>>) -> Self {
        let KeyInner { origin, method, .. } = Arc::unwrap_or_clone(self.inner);
        let part = text::escape(part.into());
        Self::from_parts(
            origin,
            method,
            (!part.is_empty()).then(|| part.into_owned().into_boxed_str()),
        )
    }

    /// Returns the origin.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitKey;
    ///
    /// let key: CircuitKey = "GET https://api.example /items".parse()?;
    /// assert_eq!(key.origin().host(), "api.example");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn origin(&self) -> &Origin {
        &self.inner.origin
    }

    /// Returns the method, if the key is narrowed to one.
    ///
    /// ```
    /// use reqwest::Method;
    /// use reqwest_circuit_breaker::CircuitKey;
    ///
    /// let key: CircuitKey = "GET https://api.example".parse()?;
    /// assert_eq!(key.method(), Some(&Method::GET));
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn method(&self) -> Option<&Method> {
        self.inner.method.as_ref()
    }

    /// Returns the part, if the key is narrowed to one: escaped, and never empty.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitKey;
    ///
    /// let key: CircuitKey = "https://api.example /items/{id}".parse()?;
    /// assert_eq!(key.part(), Some("/items/{id}"));
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn part(&self) -> Option<&str> {
        self.inner.part.as_deref()
    }

    /// The part must be escaped and not empty.
    fn from_parts(origin: Origin, method: Option<Method>, part: Option<Box<str>>) -> Self {
        let key = KeyRef {
            method: method.as_ref(),
            part: part.as_deref(),
            ..origin.key_ref()
        };
        let text = key.is_narrow().then(|| key.to_string().into_boxed_str());
        let inner = KeyInner {
            origin,
            method,
            part,
            text,
        };
        Self { inner: Arc::new(inner) }
    }

    /// As it is displayed.
    #[inline]
    fn text(&self) -> &str {
        match &self.inner.text {
            None => self.inner.origin.text(),
            Some(text) => text,
        }
    }

    /// Borrows the key.
    pub(crate) fn as_ref(&self) -> KeyRef<'_> {
        let KeyInner {
            origin, method, part, ..
        } = &*self.inner;
        KeyRef {
            method: method.as_ref(),
            part: part.as_deref(),
            ..origin.key_ref()
        }
    }

    /// Returns the key of the whole origin: a clone if this is one.
    pub(crate) fn origin_key(&self) -> Self {
        if self.is_narrow() {
            Self::new(self.inner.origin.clone())
        } else {
            self.clone()
        }
    }

    /// Returns `true` if the key is a part of an origin.
    pub(crate) fn is_narrow(&self) -> bool {
        self.as_ref().is_narrow()
    }

    /// Returns `true` if a request to `url` goes to this key's origin.
    #[inline]
    pub(crate) fn has_origin_of(&self, url: &Url) -> bool {
        let origin = &self.inner.origin;
        // As a rule the URL begins with the very text of the origin, and its path with a slash.
        let rest = url.as_str().strip_prefix(origin.text());
        rest.is_some_and(|rest| rest.starts_with('/'))
            || KeyRef::of_url(url).is_some_and(|other| other.has_origin_of(&origin.key_ref()))
    }
}

impl From<Origin> for CircuitKey {
    fn from(origin: Origin) -> Self {
        Self::new(origin)
    }
}

impl PartialEq for CircuitKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner) || self.text() == other.text()
    }
}

impl Eq for CircuitKey {}

impl Hash for CircuitKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

/// A key is found by its text.
impl Borrow<str> for CircuitKey {
    #[inline]
    fn borrow(&self) -> &str {
        self.text()
    }
}

impl Ord for CircuitKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.origin()
            .cmp(other.origin())
            .then_with(|| self.part().cmp(&other.part()))
            .then_with(|| {
                self.method()
                    .map(Method::as_str)
                    .cmp(&other.method().map(Method::as_str))
            })
    }
}

impl PartialOrd for CircuitKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> CircuitKey {
        text.parse().unwrap()
    }

    #[test]
    fn an_empty_part_is_no_part() {
        let origin = key("https://api.example");
        assert_eq!(origin.clone().with_part("x").with_part(""), origin);
        assert_eq!(key("https://api.example "), origin);
        assert_eq!(origin.part(), None);
        assert!(!origin.is_narrow());
    }

    #[test]
    fn keys_differ_by_method_and_part() {
        let plain = key("https://api.example");
        let keys = [
            plain.clone(),
            key("GET https://api.example"),
            key("get https://api.example"),
            plain.with_part("GET"),
        ];
        for (n, left) in keys.iter().enumerate() {
            for (m, right) in keys.iter().enumerate() {
                assert_eq!(left == right, n == m, "{left} {right}");
                assert_eq!(left.cmp(right).is_eq(), n == m, "{left} {right}");
                assert_eq!(left.origin_key(), keys[0]);
            }
        }
    }

    #[test]
    fn keys_sort_by_origin_then_part_then_method() {
        let sorted = [
            "http://a.example",
            "GET http://a.example",
            "PUT http://a.example",
            "http://a.example /x",
            "GET http://a.example /x",
            "https://a.example",
            "https://a.example:8443",
            "http://b.example",
        ];
        let mut keys = sorted.map(key);
        keys.reverse();
        keys.sort();
        assert_eq!(keys.map(|key| key.to_string()), sorted);
    }

    #[test]
    fn a_key_is_small_and_its_clone_shares_it() {
        // The two counters of the `Arc`, the key, the origin's text.
        assert!(16 + size_of::<KeyInner>() + "https://inventory.prod.svc.cluster.local".len() <= 160);
        let original = key("https://api.example /x");
        assert!(Arc::ptr_eq(&original.clone().inner, &original.inner));
    }

    #[test]
    fn a_url_is_told_to_be_of_the_keys_origin() {
        let key = key("GET https://api.example /x");
        let is_of = |url: &str| key.has_origin_of(&Url::parse(url).unwrap());
        assert!(is_of("https://me:pw@API.example.:443/y?z"));
        assert!(!is_of("http://api.example") && !is_of("https://api.example:8443") && !is_of("data:x"));
    }
}
