//! Time left of a load, over all tables and phases: pure.

/// Cost of a phase per row of its table, in the time that one row takes to load. Measured on a
/// server and embedded (docs/decisions/0002-loading.md); only the time left rests on it, and the
/// less, the further the load is.
const INDEX: f64 = 0.2;
const STATISTICS: f64 = 0.4;
const VERIFY: f64 = 0.3;
/// A phase that cannot be counted is taken for done to this part at most, before it is.
const NEARLY_DONE: f64 = 0.95;

/// Remaining work for a table when the load begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Todo {
    /// Rows of the table, and how many of them are missing.
    pub rows: u64,
    pub missing: u64,
    /// Indexes to build.
    pub indexes: usize,
}

/// The phases of all tables to load, in order, and how far they are.
#[derive(Debug, Clone)]
pub(super) struct Forecast {
    /// Cost of each phase: rows, indexes, statistics, verify of the first table, then of the next
    /// ...
    phases: Vec<f64>,
    /// The phase under way, when it began (seconds from the start of the load) and what is counted
    /// of it.
    phase: usize,
    phase_began_s: f64,
    counted: f64,
}

impl Forecast {
    pub fn new(tables: &[Todo]) -> Self {
        let phases = tables.iter().flat_map(|todo| {
            let rows = todo.rows as f64;
            [
                todo.missing as f64,
                rows * INDEX * todo.indexes as f64,
                rows * STATISTICS,
                rows * VERIFY,
            ]
        });
        Forecast { phases: phases.collect(), phase: 0, phase_began_s: 0.0, counted: 0.0 }
    }

    /// The phase under way is over, `now_s` seconds from the start of the load.
    pub fn next_phase(&mut self, now_s: f64) {
        self.phase += 1;
        self.phase_began_s = now_s;
        self.counted = 0.0;
    }

    /// Sets the number of rows that the current phase has loaded.
    pub fn rows_loaded(&mut self, rows: u64) {
        self.counted = rows as f64;
    }

    /// Seconds left; none before anything is known of the speed.
    pub fn left_s(&self, now_s: f64) -> Option<f64> {
        let before: f64 = self.phases.iter().take(self.phase).sum();
        let cost = self.phases.get(self.phase).copied().unwrap_or(0.0);
        let done = if self.counted > 0.0 || self.phase_began_s <= 0.0 {
            before + self.counted
        } else {
            let guessed = (now_s - self.phase_began_s) * before / self.phase_began_s;
            before + guessed.min(cost * NEARLY_DONE)
        };
        let left = self.phases.iter().sum::<f64>() - done;
        (done > 0.0 && now_s > 0.0).then(|| (left * now_s / done).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: [Todo; 2] = [
        Todo { rows: 100, missing: 100, indexes: 0 },
        Todo { rows: 1000, missing: 500, indexes: 1 },
    ];

    #[test]
    fn the_time_left_covers_all_tables_and_phases() {
        // Costs: 100 + 0 + 40 + 30, then 500 + 200 + 400 + 300: 1570.
        let mut forecast = Forecast::new(&TABLES);
        assert_eq!(forecast.left_s(0.0), None);
        forecast.rows_loaded(50);
        assert_eq!(forecast.left_s(5.0), Some(152.0)); // 10 a second, 1520 left
        for _ in 0..4 {
            forecast.next_phase(17.0);
        }
        forecast.rows_loaded(330); // 500 of 1570 done in 50 s
        assert_eq!(forecast.left_s(50.0), Some(107.0));
    }

    #[test]
    fn a_phase_without_counts_goes_on_at_the_speed_so_far_and_never_ends_early() {
        let mut forecast = Forecast::new(&TABLES[1..]);
        forecast.rows_loaded(500);
        forecast.next_phase(10.0); // 50 a second; the indexes cost 200
        assert_eq!(forecast.left_s(12.0), Some((1400.0 - 600.0) * 12.0 / 600.0));
        let late = forecast.left_s(100.0).unwrap();
        assert!((late - (1400.0 - 690.0) * 100.0 / 690.0).abs() < 1e-9, "{late}");
    }
}
