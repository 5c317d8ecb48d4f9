//! What every test needs: servers that behave as they are told, clients that trust them, stacks around the clients.
//!
//! Everything stays on the loopback interface. A server that panicked fails the test that owns it.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod http2;
pub(crate) mod scripted;
mod selftest;
pub(crate) mod server;
pub(crate) mod stack;
pub(crate) mod tls;
