//! Rows of the catalog's block `sessions`: the state of each session by the server's own account.

use dbdyno_core::model::{Activity, Event, SessionState};

use crate::engine::Rows;
use crate::probe::thread_times::Serving;

/// A row of the block, see `SESSIONS`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Row {
    pub id: Option<u32>,
    pub idle: bool,
    pub class: String,
    pub event: String,
    pub activity: Option<Activity>,
    pub thread: Option<u32>,
    pub keeps_thread: bool,
    pub process: Option<u32>,
}

impl Row {
    /// Thread or process that serves the session; none for a process of the server itself.
    pub(super) fn serving(&self) -> Option<Serving> {
        self.id?;
        self.thread.map(Serving::Thread).or(self.process.map(Serving::Process))
    }

    /// The state that the server reported.
    pub(super) fn reported_state(&self) -> SessionState {
        if self.idle {
            return SessionState::Idle;
        }
        let activity = self.activity.unwrap_or(Activity::Other);
        state_at(self.class.clone(), self.event.clone(), activity, self.id.is_none())
    }
}

/// The rows of an answer.
pub(super) fn read_rows(rows: &Rows) -> impl Iterator<Item = Row> + '_ {
    (0..rows.rows.len()).map(|at| {
        let number = |name: &str| rows.get(at, name).and_then(|text| text.parse().ok());
        let text = |name: &str| rows.get(at, name).unwrap_or_default().to_string();
        Row {
            id: number("id"),
            idle: number("idle") == Some(1),
            class: text("class"),
            event: text("event"),
            activity: rows.get(at, "activity").map(Activity::from_name),
            thread: number("thread"),
            keeps_thread: number("keeps_thread") == Some(1),
            process: number("process"),
        }
    })
}

/// A state at this event; `background` is that of a process of the server itself.
pub(super) fn state_at(
    class: impl Into<String>,
    name: impl Into<String>,
    activity: Activity,
    background: bool,
) -> SessionState {
    SessionState::At(Event { class: class.into(), name: name.into(), activity, background })
}
