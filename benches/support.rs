//! The scenes that are measured: a stack without sockets, a loopback server, the peers.

#![allow(dead_code, reason = "each benchmark uses a part")]

pub(crate) mod herd;
pub(crate) mod keys;
pub(crate) mod loopback;
pub(crate) mod peers;
pub(crate) mod stack;
