//! Tables whose numbers have claims.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;

/// What an experiment shows.
pub(crate) struct Table {
    title: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<(String, Vec<Cell>)>,
}

/// A number, and whether it is what it should be.
pub(crate) struct Cell {
    measured: String,
    /// What it should have been, if it is not.
    claimed: Option<String>,
}

/// Claims one value.
pub(crate) fn exactly<T: Display + PartialEq>(claimed: T, measured: T) -> Cell {
    let holds = measured == claimed;
    Cell::new(measured.to_string(), holds, || claimed.to_string())
}

/// Claims a range.
pub(crate) fn within<T: Display + PartialOrd>(claimed: RangeInclusive<T>, measured: T) -> Cell {
    let holds = claimed.contains(&measured);
    Cell::new(measured.to_string(), holds, || {
        format!("{} to {}", claimed.start(), claimed.end())
    })
}

/// Claims a lower bound.
pub(crate) fn at_least<T: Display + PartialOrd>(claimed: T, measured: T) -> Cell {
    let holds = measured >= claimed;
    Cell::new(measured.to_string(), holds, || format!("at least {claimed}"))
}

/// Claims nothing: there is no such number.
pub(crate) fn nothing() -> Cell {
    Cell::new("-".into(), true, String::new)
}

impl Cell {
    fn new(measured: String, holds: bool, claimed: impl FnOnce() -> String) -> Self {
        let claimed = (!holds).then(claimed);
        Self { measured, claimed }
    }
}

impl Table {
    pub(crate) fn new(title: &'static str, columns: &[&'static str]) -> Self {
        Self {
            title,
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, name: impl Into<String>, cells: [Cell; N]) {
        assert_eq!(N, self.columns.len(), "a cell for each column");
        self.rows.push((name.into(), cells.into()));
    }

    /// What is not as claimed.
    pub(crate) fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        for (name, cells) in &self.rows {
            for (column, cell) in self.columns.iter().zip(cells) {
                if let Some(claimed) = &cell.claimed {
                    let Self { title, .. } = self;
                    mistakes.push(format!(
                        "{title}: {name}, {column}: {} instead of {claimed}",
                        cell.measured
                    ));
                }
            }
        }
        mistakes
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        writeln!(f, "{}\n", self.title)?;
        write!(f, "  {:width$}", "")?;
        for column in &self.columns {
            write!(f, "  {column}")?;
        }
        for (name, cells) in &self.rows {
            write!(f, "\n  {name:width$}")?;
            for (column, cell) in self.columns.iter().zip(cells) {
                let mark = if cell.claimed.is_some() { "!" } else { "" };
                write!(f, "  {:>1$}", format!("{mark}{}", cell.measured), column.len())?;
            }
        }
        writeln!(f)
    }
}
