//! What each scene costs, in time and allocations: `cargo bench --bench costs`, or one of them by its name.
//!
//! The absolute numbers are this machine's; `cargo bench --bench budgets` has the ratios that count.

mod costs {
    mod by_hand;
    mod herd;
    mod loopback;
    mod middleware;
    mod registry;
    mod rejection;
    mod windows;
}
mod support;

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}
