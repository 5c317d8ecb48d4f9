//! The rule that gives a request its key.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use http::Extensions;
use reqwest::Request;

use super::borrowed::{KeyRef, origin_text};
use super::route::Route;
use super::text::escape;

type LabelFn = dyn Fn(&Request, &Extensions) -> Option<Cow<'static, str>> + Send + Sync;

/// How a registry makes the key of a request: what shares one breaker.
///
/// The default is the whole origin, which is what fails as one in most cases: a host that is down, overloaded or out of
/// reach. Choose a narrower scheme for an upstream whose endpoints fail apart, for example a gateway.
///
/// | scheme | key |
/// |---|---|
/// | [`origin`](Self::origin) | `https://api.example` |
/// | [`method`](Self::method) | `GET https://api.example` |
/// | [`route`](Self::route) | `https://api.example /items/{id}` |
/// | [`endpoint`](Self::endpoint) | `GET https://api.example /items/{id}` |
/// | [`custom`](Self::custom) | `https://api.example tenant-7` |
///
/// # Examples
///
/// ```
/// use reqwest::{Method, Request};
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, KeyScheme};
///
/// let registry = CircuitBreakerRegistry::builder().key_scheme(KeyScheme::endpoint().infer_routes()).build()?;
///
/// let request = Request::new(Method::GET, "https://api.example/items/42?page=2".parse()?);
/// let key = registry.key_of(&request, &Default::default()).expect("it is https");
/// assert_eq!(key.to_string(), "GET https://api.example /items/{id}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct KeyScheme {
    by_method: bool,
    part: PartOf,
}

#[derive(Clone)]
enum PartOf {
    Origin,
    Route { inferred: bool },
    Label(Arc<LabelFn>),
}

impl KeyScheme {
    /// One breaker per origin. The default.
    ///
    /// ```
    /// use reqwest_circuit_breaker::KeyScheme;
    ///
    /// assert_eq!(format!("{:?}", KeyScheme::origin()), format!("{:?}", KeyScheme::default()));
    /// ```
    pub fn origin() -> Self {
        Self {
            by_method: false,
            part: PartOf::Origin,
        }
    }

    /// One breaker per method of an origin: where reads come from replicas that stay up when writes are down.
    ///
    /// ```
    /// use reqwest_circuit_breaker::KeyScheme;
    ///
    /// assert_eq!(format!("{:?}", KeyScheme::method()), "KeyScheme(origin, method)");
    /// ```
    pub fn method() -> Self {
        Self {
            by_method: true,
            part: PartOf::Origin,
        }
    }

    /// One breaker per [`Route`] of an origin. A request without one has the breaker of its origin, see
    /// [`infer_routes`](Self::infer_routes).
    ///
    /// ```
    /// use reqwest_circuit_breaker::KeyScheme;
    ///
    /// assert_eq!(format!("{:?}", KeyScheme::route()), "KeyScheme(origin, route)");
    /// ```
    pub fn route() -> Self {
        Self {
            by_method: false,
            part: PartOf::Route { inferred: false },
        }
    }

    /// One breaker per method and [`Route`] of an origin. A request without a route has the breaker of its method, see
    /// [`infer_routes`](Self::infer_routes).
    ///
    /// ```
    /// use reqwest_circuit_breaker::KeyScheme;
    ///
    /// assert_eq!(format!("{:?}", KeyScheme::endpoint()), "KeyScheme(origin, method, route)");
    /// ```
    pub fn endpoint() -> Self {
        Self {
            by_method: true,
            part: PartOf::Route { inferred: false },
        }
    }

    /// One breaker per label of an origin, for what fails apart behind one host: a tenant, a region, a shard.
    ///
    /// The label comes on top of the origin, so whatever the function returns, a key is never wider than that. `None` and
    /// an empty label mean the origin's own breaker. A label must not be an identifier of single requests: each new one
    /// makes a breaker.
    ///
    /// The function runs for every call, and no lock is held while it does.
    ///
    /// ```
    /// use std::borrow::Cow;
    ///
    /// use reqwest::{Method, Request};
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, KeyScheme};
    ///
    /// #[derive(Clone)]
    /// struct Region(&'static str);
    ///
    /// let scheme = KeyScheme::custom(|_request, extensions| {
    ///     extensions.get::<Region>().map(|region| Cow::Borrowed(region.0))
    /// });
    /// let registry = CircuitBreakerRegistry::builder().key_scheme(scheme).build()?;
    ///
    /// let request = Request::new(Method::GET, "https://api.example/items".parse()?);
    /// let mut extensions = http::Extensions::new();
    /// extensions.insert(Region("eu-west"));
    /// let key = registry.key_of(&request, &extensions).expect("it is https");
    /// assert_eq!(key.to_string(), "https://api.example eu-west");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn custom<F>(label: F) -> Self
    where
        F: Fn(&Request, &Extensions) -> Option<Cow<'static, str>> + Send + Sync + 'static,
    {
        Self {
            by_method: false,
            part: PartOf::Label(Arc::new(label)),
        }
    }

    /// Gives a request without a [`Route`] the one that [`Route::infer`] sees in its path.
    ///
    /// Off by default: a guess about paths is good enough for an API that you know and whose paths are made of words and
    /// identifiers. It changes nothing in a scheme that asks for no route.
    ///
    /// ```
    /// use reqwest_circuit_breaker::KeyScheme;
    ///
    /// let scheme = KeyScheme::route().infer_routes();
    /// assert_eq!(format!("{scheme:?}"), "KeyScheme(origin, inferred route)");
    /// ```
    #[must_use = "the changed scheme is returned"]
    pub fn infer_routes(mut self) -> Self {
        if let PartOf::Route { inferred } = &mut self.part {
            *inferred = true;
        }
        self
    }

    /// Returns `true` if every key is a whole origin.
    pub(crate) fn is_origin(&self) -> bool {
        !self.by_method && matches!(self.part, PartOf::Origin)
    }

    /// The text of a request's key, where it stands in the request: as a rule, if the key is a plain origin.
    #[inline]
    pub(crate) fn text_at_hand<'a>(&self, request: &'a Request) -> Option<&'a str> {
        if self.is_origin() {
            origin_text(request.url())
        } else {
            None
        }
    }

    /// Makes the key of a request and lends it to `look_up`, `None` if the request is not protected.
    ///
    /// Nothing is allocated, but for a label that the function allocates or that has control characters in it. No lock
    /// is held while `look_up` runs.
    pub(crate) fn with_key<R>(
        &self,
        request: &Request,
        extensions: &Extensions,
        look_up: impl FnOnce(Option<&KeyRef<'_>>) -> R,
    ) -> R {
        let origin = KeyRef::of_url(request.url());
        if self.is_origin() {
            return look_up(origin.as_ref());
        }
        let Some(origin) = origin else { return look_up(None) };
        let key = KeyRef {
            method: self.by_method.then(|| request.method()),
            ..origin
        };
        let with_part = |part: &str| {
            look_up(Some(&KeyRef {
                part: Some(part).filter(|part| !part.is_empty()),
                ..key
            }))
        };
        match &self.part {
            PartOf::Origin => with_part(""),
            PartOf::Route { inferred } => match extensions.get::<Route>() {
                Some(route) => with_part(route.as_str()),
                None if *inferred => Route::with_inferred(request.url().path(), with_part),
                None => with_part(""),
            },
            PartOf::Label(label) => with_part(&escape(label(request, extensions).unwrap_or_default())),
        }
    }
}

impl Default for KeyScheme {
    fn default() -> Self {
        Self::origin()
    }
}

impl fmt::Debug for KeyScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = if self.by_method { ", method" } else { "" };
        let part = match &self.part {
            PartOf::Origin => "",
            PartOf::Route { inferred: false } => ", route",
            PartOf::Route { inferred: true } => ", inferred route",
            PartOf::Label(_) => ", custom",
        };
        write!(f, "KeyScheme(origin{method}{part})")
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn request(url: &str) -> Request {
        Request::new(Method::GET, url.parse().unwrap())
    }

    fn key(scheme: &KeyScheme, url: &str, route: Option<Route>) -> Option<String> {
        let mut extensions = Extensions::new();
        if let Some(route) = route {
            extensions.insert(route);
        }
        let key = scheme.with_key(&request(url), &extensions, |key| key.map(|key| key.to_key()));
        if let Some(key) = &key {
            assert_eq!(key.to_string().parse().as_ref(), Ok(key));
        }
        key.map(|key| key.to_string())
    }

    const URL: &str = "https://me:secret@api.example/items/42?secret";

    #[test]
    fn a_scheme_says_what_is_in_a_key() {
        for (scheme, bare, routed) in [
            (KeyScheme::origin(), "https://api.example", "https://api.example"),
            (
                KeyScheme::method(),
                "GET https://api.example",
                "GET https://api.example",
            ),
            (KeyScheme::route(), "https://api.example", "https://api.example /x"),
            (
                KeyScheme::endpoint(),
                "GET https://api.example",
                "GET https://api.example /x",
            ),
            (
                KeyScheme::origin().infer_routes(),
                "https://api.example",
                "https://api.example",
            ),
            (
                KeyScheme::route().infer_routes(),
                "https://api.example /items/{id}",
                "https://api.example /x",
            ),
            (
                KeyScheme::endpoint().infer_routes(),
                "GET https://api.example /items/{id}",
                "GET https://api.example /x",
            ),
        ] {
            assert_eq!(key(&scheme, URL, None).as_deref(), Some(bare), "{scheme:?}");
            assert_eq!(
                key(&scheme, URL, Some(Route::new("/x"))).as_deref(),
                Some(routed),
                "{scheme:?}"
            );
            assert_eq!(
                scheme.is_origin(),
                bare == routed && !bare.starts_with("GET"),
                "{scheme:?}"
            );
            assert_eq!(key(&scheme, "data:text/plain,x", None), None);
        }
    }

    #[test]
    fn an_empty_route_is_the_origin_even_where_routes_are_inferred() {
        let scheme = KeyScheme::route().infer_routes();
        assert_eq!(
            key(&scheme, URL, Some(Route::new(""))).as_deref(),
            Some("https://api.example")
        );
    }

    #[test]
    fn a_label_is_never_wider_than_the_origin() {
        for (label, expected) in [
            (None, "https://api.example"),
            (Some(""), "https://api.example"),
            (
                Some("https://other.example"),
                "https://api.example https://other.example",
            ),
            (Some("eu\nwest"), r"https://api.example eu\nwest"),
        ] {
            let scheme = KeyScheme::custom(move |_, _| label.map(Cow::Borrowed));
            assert_eq!(key(&scheme, URL, None).as_deref(), Some(expected));
            assert!(!scheme.is_origin());
        }
    }

    #[test]
    fn a_label_function_may_make_keys_itself() {
        let inner = KeyScheme::route().infer_routes();
        let scheme = KeyScheme::custom(move |request, extensions| {
            inner.with_key(request, extensions, |key| {
                key.and_then(|key| key.part.map(|part| part.to_owned().into()))
            })
        });
        assert_eq!(
            key(&scheme, URL, None).as_deref(),
            Some("https://api.example /items/{id}")
        );
    }

    #[test]
    fn a_text_is_at_hand_for_a_plain_origin() {
        let url = "https://api.example/items/42";
        for (scheme, url, text) in [
            (KeyScheme::origin(), url, Some("https://api.example")),
            (KeyScheme::origin(), URL, None),
            (KeyScheme::method(), url, None),
            (KeyScheme::route(), url, None),
        ] {
            assert_eq!(scheme.text_at_hand(&request(url)), text, "{scheme:?} {url}");
        }
    }

    #[test]
    fn an_existing_breaker_is_looked_up_in_reused_memory() {
        let (scheme, request) = (KeyScheme::endpoint().infer_routes(), request(URL));
        let place = || scheme.with_key(&request, &Extensions::new(), |key| key.unwrap().part.unwrap().as_ptr());
        let first = place();
        // Whoever had let go of the memory would not get it back.
        let _others: Vec<String> = (3..8).map(|bits| String::with_capacity(1 << bits)).collect();
        assert_eq!(first, place());
    }
}
