//! Pages to read: [the stack and what the caller must know](stack), [choosing policies](policies),
//! [choosing keys](keys), [at three in the morning](operations), [testing a service](testing), [how it compares](comparison).

#[doc = include_str!("guide/stack.md")]
pub mod stack {}

#[doc = include_str!("guide/policies.md")]
pub mod policies {}

#[doc = include_str!("guide/keys.md")]
pub mod keys {}

#[doc = include_str!("guide/operations.md")]
pub mod operations {}

#[doc = include_str!("guide/testing.md")]
pub mod testing {}

#[doc = include_str!("guide/comparison.md")]
pub mod comparison {}
