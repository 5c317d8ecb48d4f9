//! Tells the path segments that name one thing from those that name a kind of thing.
//!
//! No rule can be right about every API. These err on the side of the identifier where many keys would follow from the
//! other error: two routes under one key are still one upstream, while a key per item never sees enough calls to trip.

/// Longest segment taken for a word, in bytes.
pub(super) const MAX_WORD: usize = 64;

/// Most digits a word may have: enough for `sha256`, `step-2`, `v1beta1`.
const MAX_DIGITS: usize = 3;

/// Digits that are a number, and no longer a word's, once they stand alone: `order-123`.
const NUMBER_DIGITS: usize = 3;

/// Fewest hex digits, with a decimal one among them, that are a hash. Shorter ones are words: `cafe1`, `b2b`.
const MIN_HEX: usize = 8;

/// Fewest letters and digits in a row that are a token: longer than `base64encodedstring` or `oauth2authorization`.
const MIN_TOKEN: usize = 20;

/// Fewest letters and digits in a row whose case is looked at, the length of YouTube's.
const MIN_MIXED: usize = 11;

/// Returns `true` if a path segment looks like an identifier.
pub(super) fn is_identifier(segment: &str) -> bool {
    if segment.len() > MAX_WORD {
        return true;
    }
    let Spelling {
        digits,
        lower,
        upper,
        foreign,
    } = Spelling::of(segment);
    if foreign > 0 {
        return !is_placeholder(segment);
    }
    if is_uuid(segment) {
        return true;
    }
    // Most segments are plain words or plain numbers, and need no second look.
    if digits == 0 && (lower == 0 || upper == 0) {
        return false;
    }
    if lower + upper == 0 {
        return true;
    }
    if is_version(segment) {
        return false;
    }
    let mut pieces = segment.split(|char: char| !char.is_ascii_alphanumeric());
    // `7.json`, `42-blue-shoes`: whatever has a number in front is the thing of that number.
    digits > MAX_DIGITS || pieces.clone().next().is_some_and(is_number) || pieces.any(is_opaque)
}

/// How many bytes of each kind a segment has.
#[derive(Default)]
struct Spelling {
    digits: usize,
    lower: usize,
    upper: usize,
    /// What no word is spelled with.
    foreign: usize,
}

impl Spelling {
    fn of(segment: &str) -> Self {
        let mut spelling = Self::default();
        for byte in segment.bytes() {
            match byte {
                b'a'..=b'z' => spelling.lower += 1,
                b'0'..=b'9' => spelling.digits += 1,
                b'A'..=b'Z' => spelling.upper += 1,
                byte if is_word_mark(byte) => {}
                _ => spelling.foreign += 1,
            }
        }
        spelling
    }
}

/// What stands in a template for what was replaced, so that a template infers to itself.
fn is_placeholder(segment: &str) -> bool {
    let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_'))
}

/// `v1`, `v2.1`, `v1.10.22`.
fn is_version(segment: &str) -> bool {
    let Some(numbers) = segment.strip_prefix(['v', 'V']) else {
        return false;
    };
    let mut numbers = numbers.split('.');
    numbers
        .by_ref()
        .take(3)
        .all(|number| number.len() <= 3 && is_number(number))
        && numbers.next().is_none()
}

/// What a word can be spelled with beside letters and digits: what a path holds unencoded (`pchar` of
/// [RFC 3986, section 3.3](https://www.rfc-editor.org/rfc/rfc3986#section-3.3)), without what marks an address, a value, a
/// list or arguments, whatever they are: `@`, `=`, `,`, `(`, `)`, `'`.
fn is_word_mark(byte: u8) -> bool {
    matches!(
        byte,
        b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'*' | b'+' | b':'
    )
}

/// The form of [RFC 9562, section 4](https://www.rfc-editor.org/rfc/rfc9562#section-4), even without a decimal digit.
fn is_uuid(segment: &str) -> bool {
    segment.len() == 36
        && segment.bytes().enumerate().all(|(n, byte)| match n {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Judges letters and digits in a row.
fn is_opaque(piece: &str) -> bool {
    let has_digit = count_digits(piece) > 0;
    piece.len() >= NUMBER_DIGITS && is_number(piece)
        || piece.len() >= MIN_HEX && has_digit && piece.bytes().all(|byte| byte.is_ascii_hexdigit())
        || piece.len() >= MIN_TOKEN && has_digit
        || piece.len() >= MIN_MIXED && is_mixed(piece)
}

/// Returns `true` if the case changes at two of five letters: in `getUserAccount` it does at one of three, in random
/// base64 at one of two.
fn is_mixed(piece: &str) -> bool {
    let changes = piece.as_bytes().windows(2).filter(|pair| {
        pair.iter().all(u8::is_ascii_alphabetic) && pair[0].is_ascii_lowercase() != pair[1].is_ascii_lowercase()
    });
    changes.count() * 5 >= piece.len() * 2
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn count_digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(segments: &[&str], expected: bool) {
        for segment in segments {
            assert_eq!(is_identifier(segment), expected, "{segment}");
        }
    }

    #[test]
    fn words_stay() {
        all(
            &[
                "",
                "items",
                "latest",
                "favicon.ico",
                ".well-known",
                "robots.txt",
                "$metadata",
                "items:batchGet",
                "~bob",
            ],
            false,
        );
        all(
            &[
                "how-to-write-a-circuit-breaker",
                "snake_case_name",
                "getUserAccountBalanceHistory",
                "McDonalds",
            ],
            false,
        );
        all(&["deadbeef", "facade", "Defaced", "..", "*", "c++"], false);
    }

    #[test]
    fn words_with_a_few_digits_stay() {
        all(
            &[
                "v1",
                "V2",
                "v2.1",
                "v1.10.22",
                "v1beta1",
                "2fa",
                "3d-models",
                "500px",
                "log4j",
                "s3",
                "k8s",
            ],
            false,
        );
        all(
            &[
                "oauth2",
                "sha256",
                "base64",
                "OAuth2Callback",
                "step-2",
                "covid-19",
                "jquery-3.6.0.min.js",
            ],
            false,
        );
        all(
            &[
                "base64encodedstring",
                "oauth2authorization",
                "cafe123",
                "password-reset-v2",
            ],
            false,
        );
    }

    #[test]
    fn numbers_are_identifiers() {
        all(
            &[
                "0",
                "42",
                "-5",
                "2024",
                "2024-01-31",
                "52.52,13.40",
                "10.0.0.1",
                "1_000",
                "+15551234",
            ],
            true,
        );
        all(
            &[
                "7.json",
                "12345.json",
                "42:cancel",
                "42-blue-shoes",
                "order-123",
                "order-12345",
                "INV.2024",
                "user1234",
            ],
            true,
        );
        all(&["v1234", "v1.2.3.4", "v20240131"], true);
    }

    #[test]
    fn uuids_are_identifiers_in_either_case() {
        all(
            &[
                "67e55044-10b1-426f-9247-bb680e5fe0c8",
                "67E55044-10B1-426F-9247-BB680E5FE0C8",
            ],
            true,
        );
        all(
            &[
                "67e5504410b1426f9247bb680e5fe0c8",
                "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8",
            ],
            true,
        );
        all(
            &[
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
                "aaaaaaaa-bbbb-CCCC-dddd-eeeeeeeeeeee",
            ],
            true,
        );
    }

    #[test]
    fn hashes_and_ulids_are_identifiers() {
        all(
            &[
                "deadbee7",
                "a1b2c3d4",
                "DEADBEE7",
                "507f1f77bcf86cd799439011",
                "app.deadbee7.js",
            ],
            true,
        );
        all(
            &[
                "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                "01arz3ndektsv4rrffq69g5fav",
                "0AAAAAAAAAAAAAAAAAAAAAAAAA",
            ],
            true,
        );
    }

    #[test]
    fn opaque_tokens_are_identifiers() {
        all(
            &[
                "dQw4w9WgXcQ",
                "cus_NffrFeUfNV2Hib",
                "V1StGXR8_Z5jdHi6B-myT",
                "eyJhbGciOiJIUzI1NiJ9",
                "U024BE7LH",
            ],
            true,
        );
        all(&["zKqVbWmXtYrLpNcJ", "abcdefghijklmnopqrs1", "dGhpcyBpcw=="], true);
        all(&[&"x".repeat(MAX_WORD + 1)], true);
        all(&[&"x".repeat(MAX_WORD)], false);
    }

    #[test]
    fn what_no_word_is_spelled_with_is_an_identifier() {
        all(
            &[
                "a%20b",
                "me@example.org",
                "@me",
                "caf\u{e9}",
                "a b",
                "a\nb",
                "a|b",
                "{id",
                "{1}",
                "{}",
            ],
            true,
        );
        all(&["sort=asc", "red,blue", "Products(5)", "Products('x')"], true);
    }

    #[test]
    fn placeholders_stay() {
        all(&["{id}", "{rest}", "{itemId}", "{item_id}"], false);
    }
}
