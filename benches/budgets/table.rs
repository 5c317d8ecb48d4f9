//! The table of budgets.

use std::fmt::Display;

/// One line per budget, printed as soon as it is measured.
pub(crate) struct Table {
    filters: Vec<String>,
    missed: usize,
}

/// What was measured, and how to read it.
pub(crate) struct Measured {
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    /// The absolute numbers behind a ratio.
    pub(crate) detail: String,
    /// Whether it was measured where the budget says something.
    pub(crate) judged: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// A ratio, or a count.
    Plain,
    Nanos,
    Bytes,
}

impl Measured {
    pub(crate) fn new(value: f64, unit: Unit, detail: impl Display) -> Self {
        let detail = detail.to_string();
        Self {
            value,
            unit,
            detail,
            judged: true,
        }
    }

    /// Keeps it from being judged on a machine that does not show what the budget is about.
    pub(crate) fn judged_if(self, shown: bool) -> Self {
        Self { judged: shown, ..self }
    }

    fn show(&self, value: f64) -> String {
        match self.unit {
            Unit::Plain if value == value.trunc() => format!("{value:.0}"),
            Unit::Plain if value < 0.1 => format!("{value:.4}"),
            Unit::Plain => format!("{value:.3}"),
            Unit::Nanos => format!("{value:.0} ns"),
            Unit::Bytes => format!("{value:.0} B"),
        }
    }
}

impl Table {
    pub(crate) fn new(filters: Vec<String>) -> Self {
        println!(
            "\n{:<58} {:>10} {:>8} {:>8}  {:<8} what it was",
            "what", "measured", "budget", "stretch", "verdict"
        );
        Self { filters, missed: 0 }
    }

    /// Measures one line, and judges it: neither limit may be exceeded.
    pub(crate) fn judge(&mut self, what: &str, budget: f64, stretch: Option<f64>, measure: impl FnOnce() -> Measured) {
        if !self.wants(what) {
            return;
        }
        let measured = measure();
        let verdict = if !measured.judged {
            "moot"
        } else if measured.value > budget {
            self.missed += 1;
            "MISSED"
        } else if stretch.is_some_and(|stretch| measured.value <= stretch) {
            "stretch"
        } else {
            "met"
        };
        let stretch = stretch.map(|stretch| measured.show(stretch)).unwrap_or_default();
        let (value, budget) = (measured.show(measured.value), measured.show(budget));
        println!(
            "{what:<58} {value:>10} {budget:>8} {stretch:>8}  {verdict:<8} {}",
            measured.detail
        );
    }

    /// Measures one line that has no budget.
    pub(crate) fn tell(&mut self, what: &str, measure: impl FnOnce() -> Measured) {
        if self.wants(what) {
            let measured = measure();
            let value = measured.show(measured.value);
            println!(
                "{what:<58} {value:>10} {:>8} {:>8}  {:<8} {}",
                "", "", "", measured.detail
            );
        }
    }

    /// Returns how many were missed.
    pub(crate) fn finish(self) -> usize {
        println!("\n{} missed", self.missed);
        self.missed
    }

    pub(crate) fn wants(&self, what: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| what.contains(filter.as_str()))
    }
}
