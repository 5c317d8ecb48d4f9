//! When a call has said what it has to say.

/// When the verdict of a call is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VerdictAt {
    /// When the headers are there: `send()` decides. The default; it costs nothing.
    #[default]
    Headers,
    /// When the body has ended. A body that breaks or times out is a failure, one that is read to its end or dropped
    /// before is a success; a failing status still decides at the headers.
    ///
    /// Set it where upstreams die in the middle of their answers. It costs some allocations per response, and a slow
    /// reader makes a slow call. A probe holds its slot until the body has ended, and dropping a response may run
    /// listeners.
    EndOfBody,
}
