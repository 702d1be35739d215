//! Signals of our process around a call that changes them: the library sets the handlers of deadly
//! signals and of SIGTSTP to the system's own whenever a connection is opened, also where it is
//! told to install none of its own, and blocks SIGPIPE in the thread that opens the first one.

use std::mem::MaybeUninit;
use std::ptr;

use libc::{c_int, sigaction, sigset_t};

/// Signals whose handlers the library sets.
const TOUCHED: [c_int; 8] = [
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGILL,
    libc::SIGBUS,
    libc::SIGSYS,
    libc::SIGFPE,
    libc::SIGTSTP,
    libc::SIGTRAP,
];

/// Handlers and blocked signals as they were; they are so again when it is dropped.
pub(super) struct SavedHandlers {
    handlers: Vec<(c_int, sigaction)>,
    blocked: Option<sigset_t>,
}

impl SavedHandlers {
    pub(super) fn now() -> Self {
        let handlers = TOUCHED.into_iter().filter_map(|signal| {
            let mut handler = MaybeUninit::uninit();
            // SAFETY: nothing is set; what is read is initialised when the call succeeds.
            let known = unsafe { sigaction(signal, ptr::null(), handler.as_mut_ptr()) } == 0;
            // SAFETY: the call has succeeded.
            known.then(|| (signal, unsafe { handler.assume_init() }))
        });
        let mut blocked = MaybeUninit::uninit();
        // SAFETY: as above.
        let known =
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), blocked.as_mut_ptr()) }
                == 0;
        // SAFETY: the call has succeeded.
        let blocked = known.then(|| unsafe { blocked.assume_init() });
        SavedHandlers { handlers: handlers.collect(), blocked }
    }
}

impl Drop for SavedHandlers {
    fn drop(&mut self) {
        for (signal, handler) in &self.handlers {
            // SAFETY: the handler is one that was installed before.
            unsafe { sigaction(*signal, handler, ptr::null_mut()) };
        }
        if let Some(blocked) = &self.blocked {
            // SAFETY: it is this thread's own set of before.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, blocked, ptr::null_mut()) };
        }
    }
}
