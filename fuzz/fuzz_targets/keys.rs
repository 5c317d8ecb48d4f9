//! Reads any text as an origin, a key, a part, a path and a URL: `cargo +nightly fuzz run keys`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/it/keys/checks.rs"]
mod checks;

fuzz_target!(|text: &str| checks::check_text(text));
