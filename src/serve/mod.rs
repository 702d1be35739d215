//! A results file as a local web site: runs, tests, comparisons, histories, a run under way. It
//! reads the results file and nothing else, and writes nothing.

mod access;
mod address;
pub mod files;
mod history;
pub mod http;
mod list;
mod live;
mod pages;
mod query;
mod series;
mod slots;
pub mod stored;
mod wire;

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use oxhttp::model::{Body, Request, Response, StatusCode};
use parking_lot::Mutex;

use crate::catalog::Catalog;
use crate::error::Result;
use crate::report::Language;
use crate::store::{Place, Store};
pub use access::{Token, check_access};
use address::Links;
use pages::{PageContext, PageError, Pages};

/// Clients at once. Each has two file descriptors, of which a process often has a thousand.
const MAX_CLIENTS: usize = 256;

/// Content of the site.
pub struct Site {
    results: Place,
    catalog: Catalog,
    language: Language,
    token: Option<Token>,
    /// One page is made at a time: a run beside us shall not notice many readers.
    turn: Mutex<()>,
}

impl Site {
    /// The site of a results file; with a token for those who know it only.
    ///
    /// # Errors
    /// If the file does not exist, cannot be read, or is not of this version.
    pub fn new(
        results: impl Into<Place>,
        catalog: Catalog,
        language: Language,
        token: Option<Token>,
    ) -> Result<Site> {
        let results = results.into();
        Store::open_read_only(results.clone())?;
        Ok(Site { results, catalog, language, token, turn: Mutex::new(()) })
    }

    /// The answer to a request.
    pub fn answer(&self, request: &Request<Body>) -> Response<Body> {
        access::with_security_headers(
            access::check_access(request, self.token.as_ref()).unwrap_or_else(|| {
                let _turn = self.turn.lock();
                catch_unwind(AssertUnwindSafe(|| self.page(request))).unwrap_or_else(|_| broken())
            }),
        )
    }

    /// The page that is asked for, or one that says why there is none.
    fn page(&self, request: &Request<Body>) -> Response<Body> {
        let name = self.results.path.file_name().map(|name| name.to_string_lossy());
        let name = name.unwrap_or_default();
        let context = PageContext { language: self.language, title: &name, links: Links::Served };
        let answer = Store::open_read_only(self.results.clone()).map_err(PageError::from);
        let answer = answer.and_then(|store| {
            pages::answer(&Pages { context, store: &store, catalog: &self.catalog }, request)
        });
        answer.unwrap_or_else(|refused| context.refusal(&refused))
    }
}

/// The answer where a report has a mistake; the other pages are still there.
fn broken() -> Response<Body> {
    http::response(
        StatusCode::INTERNAL_SERVER_ERROR,
        http::PLAIN,
        "this page failed: please report it as a bug\n",
    )
}

/// Serves the site at an address until the program ends.
///
/// # Errors
/// Nobody can listen there.
pub fn listen(site: Site, address: SocketAddr) -> Result<()> {
    http::listen("--listen", address, MAX_CLIENTS, move |request| site.answer(request))
}
