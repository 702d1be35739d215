//! Places for connections: a limited number, of which those that wait for a request give way to
//! new ones.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// The places of a server.
pub(super) struct Slots {
    most: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    taken: usize,
    next: u64,
    /// Connections whose request is not complete, by their number: the first waits longest.
    waiting: BTreeMap<u64, TcpStream>,
}

/// A place that a connection has, until this is dropped.
pub(super) struct Slot {
    slots: Arc<Slots>,
    number: u64,
}

impl Slots {
    /// Slots for this many connections.
    pub fn new(most: usize) -> Arc<Slots> {
        Arc::new(Slots { most, state: Mutex::default(), freed: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// A place for a new connection, of which `stream` is a second handle. If there is none, the
    /// connection that waits longest for its request is closed; if all are being answered, the
    /// first one to end makes place.
    pub fn take(self: &Arc<Self>, stream: TcpStream) -> Slot {
        let mut state = self.state();
        if state.taken >= self.most {
            if let Some((_, longest)) = state.waiting.pop_first() {
                // Its thread finds the connection closed and ends; an error means it is already.
                let _ = longest.shutdown(Shutdown::Both);
            }
            let is_full = |state: &mut State| state.taken >= self.most;
            self.freed.wait_while(&mut state, is_full);
        }
        let number = state.next;
        state.taken += 1;
        state.next += 1;
        state.waiting.insert(number, stream);
        drop(state);
        Slot { slots: Arc::clone(self), number }
    }
}

impl Slot {
    /// The request of the connection is complete, or none comes: from now on it is answered.
    pub fn has_request(&self) {
        self.slots.state().waiting.remove(&self.number);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.slots.state();
        state.waiting.remove(&self.number);
        state.taken -= 1;
        drop(state);
        self.slots.freed.notify_one();
    }
}
