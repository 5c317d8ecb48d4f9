//! The `Retry-After` header: when the upstream asks to be called again.
//!
//! RFC 9110, section 10.2.3: a number of seconds, or a date. What cannot be read is no wish at all, and the number may
//! be any: whoever uses it has to cap it.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header::RETRY_AFTER};

/// Reads how long the upstream asks to wait from `now` on. A date in the past asks for no wait. `None` if the header is
/// missing, malformed, or given more than once with different meanings.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let mut waits = headers
        .get_all(RETRY_AFTER)
        .iter()
        .map(|value| parse(value.to_str().ok()?, now));
    let first = waits.next()??;
    waits.all(|wait| wait == Some(first)).then_some(first)
}

fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if value.is_empty() {
        return None;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only digits: what does not fit is too large.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(values: &[&str]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(RETRY_AFTER, value.parse().unwrap());
        }
        // Sun, 06 Nov 1994 08:49:37 GMT
        retry_after(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    fn secs(secs: u64) -> Option<Duration> {
        Some(Duration::from_secs(secs))
    }

    #[test]
    fn seconds_are_read_and_saturate() {
        assert_eq!(wait(&["0"]), secs(0));
        assert_eq!(wait(&["120"]), secs(120));
        assert_eq!(wait(&[" 0120\t"]), secs(120));
        assert_eq!(wait(&["18446744073709551614"]), secs(u64::MAX - 1));
        assert_eq!(wait(&["18446744073709551615"]), secs(u64::MAX));
        assert_eq!(wait(&["18446744073709551616"]), secs(u64::MAX));
        assert_eq!(wait(&["9".repeat(200).as_str()]), secs(u64::MAX));
    }

    #[test]
    fn dates_in_all_three_forms_are_relative_to_now() {
        assert_eq!(wait(&["Sun, 06 Nov 1994 08:50:37 GMT"]), secs(60));
        assert_eq!(wait(&["Sunday, 06-Nov-94 08:50:37 GMT"]), secs(60));
        assert_eq!(wait(&["Sun Nov  6 08:50:37 1994"]), secs(60));
    }

    #[test]
    fn a_date_in_the_past_asks_for_no_wait() {
        assert_eq!(wait(&["Sun, 06 Nov 1994 08:49:37 GMT"]), secs(0));
        assert_eq!(wait(&["Thu, 01 Jan 1970 00:00:00 GMT"]), secs(0));
    }

    #[test]
    fn what_cannot_be_read_is_no_wish() {
        assert_eq!(wait(&[]), None);
        for value in [
            "",
            " ",
            "-1",
            "+1",
            "1.5",
            "1,2",
            "0x10",
            "1 2",
            "1s",
            "soon",
            "Sun, 06 Nov 1994",
            "١٢",
        ] {
            let mut headers = HeaderMap::new();
            headers.append(RETRY_AFTER, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
            assert_eq!(retry_after(&headers, SystemTime::UNIX_EPOCH), None, "{value:?}");
        }
        let mut headers = HeaderMap::new();
        headers.append(RETRY_AFTER, http::HeaderValue::from_bytes(b"1\xff").unwrap());
        assert_eq!(retry_after(&headers, SystemTime::UNIX_EPOCH), None);
    }

    #[test]
    fn a_repeated_header_counts_if_it_agrees_with_itself() {
        assert_eq!(wait(&["60", "60"]), secs(60));
        assert_eq!(wait(&["60", "Sun, 06 Nov 1994 08:50:37 GMT"]), secs(60));
        assert_eq!(wait(&["60", "61"]), None);
        assert_eq!(wait(&["60", "soon"]), None);
        assert_eq!(wait(&["soon", "60"]), None);
    }
}
