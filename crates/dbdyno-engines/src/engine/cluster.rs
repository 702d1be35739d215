//! Several servers that hold the same data as one database: jobs are dealt to its nodes, everything
//! else goes to the first node that can be written to.
//!
//! Each node is an open database of the engine's own. What a node says of itself (block `node` of
//! the engine's statements) decides which address leads where: addresses are only a way to it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{
    Access, AfterError, Database, EngineError, ErrorClass, JobPlacement, JobSessions, JobSpec,
    NodeSession, Pacer, RowLoad, Session, SessionsLeft, Slice, SliceReport, Timetable, Version,
};
use dbdyno_core::model::{Counters, Drive, Transport};

/// Longest wait until all nodes have what the first one has.
const CATCH_UP: Duration = Duration::from_secs(120);
/// Interval between two checks of their positions.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A statement of the engine's own by the name of its block, with the values of its names.
pub(super) type OwnSql = fn(&str, &[(&str, &str)]) -> Result<String, EngineError>;

/// Parts that are peculiar to an engine's clusters.
pub(super) struct ClusterSpecifics {
    pub sql: OwnSql,
    /// Organizations whose rows only one node would have, with the reasons; none = those of a
    /// single server.
    pub unavailable_orgs: &'static [(&'static str, &'static str)],
}

/// Opens the server at an address of the list.
pub(super) type OpenNode<'a> = Box<dyn Fn(Access) -> Result<Box<dyn Database>, EngineError> + 'a>;

/// Identity that a node reports.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    /// Id that no other server has.
    id: String,
    /// Equal on all nodes of a cluster; empty outside of one.
    cluster: String,
    name: String,
    is_writable: bool,
    is_ready: bool,
}

impl Identity {
    fn ask(session: &mut dyn Session, sql: &str) -> Result<Identity, EngineError> {
        let rows = session.query(sql, &[])?;
        let text = |name| rows.get(0, name).unwrap_or_default().to_owned();
        let is = |name| rows.get(0, name) == Some("1");
        let (is_writable, is_ready) = (is("writable"), is("ready"));
        Ok(Identity {
            id: text("id"),
            cluster: text("cluster"),
            name: text("name"),
            is_writable,
            is_ready,
        })
    }
}

/// Fails if the session of a job is not on the node that the job is dealt to; `id` is what that
/// node says of itself.
pub(super) fn check_node(
    session: &mut dyn Session,
    id: Option<&str>,
    sql: &str,
) -> Result<(), EngineError> {
    let Some(id) = id else { return Ok(()) };
    if Identity::ask(session, sql)?.id == id {
        return Ok(());
    }
    let what =
        "the address leads to another server than at the start (was the server started anew?)";
    Err(EngineError::new(ErrorClass::Lost, what)
        .advised("name every node by an address of its own, past any proxy"))
}

struct Node {
    address: String,
    identity: Identity,
    database: Box<dyn Database>,
}

impl Node {
    fn open(
        address: String,
        open: &OpenNode<'_>,
        access: Access,
        sql: &str,
    ) -> Result<Node, EngineError> {
        let database = open(access).map_err(|error| of_node(&address, error))?;
        let identity = Identity::ask(database.session()?.as_mut(), sql)
            .map_err(|error| of_node(&address, error))?;
        Ok(Node { address, identity, database })
    }

    /// True if it answers, is ready, and is who it was.
    fn is_there(&self, sql: &str) -> bool {
        let asked =
            self.database.session().and_then(|mut session| Identity::ask(session.as_mut(), sql));
        asked.is_ok_and(|now| now.id == self.identity.id && now.is_ready)
    }
}

/// An error with the node that it is of.
fn of_node(name: &str, error: EngineError) -> EngineError {
    EngineError { message: format!("node {name}: {}", error.message), ..error }
}

/// An open cluster: the nodes that can be written to first.
struct Cluster {
    nodes: Vec<Node>,
    names: Vec<String>,
    /// Addresses at which nobody answered when it was opened.
    missing: Vec<String>,
    /// Index of the node that control sessions go to.
    head: AtomicUsize,
    sql: OwnSql,
    unavailable_orgs: &'static [(&'static str, &'static str)],
    /// Flag of an interrupt; see [`super::ConnectTo`].
    interrupt: Arc<AtomicBool>,
}

/// Opens the servers at all addresses as one cluster. One at which nobody answers is missing, and
/// after an interrupt one that is behind.
///
/// # Errors
/// Nobody answers at any, two addresses lead to one server or to different clusters, none of them
/// can be written to; errors of one of them.
pub(super) fn open(
    members: Vec<(String, OpenNode<'_>)>,
    access: Access,
    ClusterSpecifics { sql, unavailable_orgs }: ClusterSpecifics,
    interrupt: &Arc<AtomicBool>,
) -> Result<Box<dyn Database>, EngineError> {
    let question = sql("node", &[])?;
    let (mut nodes, mut missing, mut silent) = (Vec::new(), Vec::new(), None);
    for (address, open) in members {
        match Node::open(address.clone(), &open, Access::Watch, &question) {
            Ok(node) => nodes.push((node, open)),
            Err(error) if matches!(error.class, ErrorClass::Unreachable | ErrorClass::Lost) => {
                missing.push(address);
                silent = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    let no_node = || EngineError::new(ErrorClass::Usage, "the URL names no node");
    let first = nodes.first().ok_or_else(|| silent.unwrap_or_else(no_node))?;
    let cluster = first.0.identity.cluster.clone();
    check_members(nodes.iter().map(|(node, _)| node), &cluster)?;
    nodes.sort_by_key(|(node, _)| !node.identity.is_writable);
    if access != Access::Watch {
        let behind = open_for_use(&mut nodes, access, sql, &question, interrupt)?;
        nodes.retain(|(node, _)| !behind.contains(&node.address));
        missing.extend(behind);
    }
    let nodes: Vec<Node> = nodes.into_iter().map(|(node, _)| node).collect();
    let names = names(&nodes);
    Ok(Box::new(Cluster {
        nodes,
        names,
        missing,
        head: AtomicUsize::new(0),
        sql,
        unavailable_orgs,
        interrupt: Arc::clone(interrupt),
    }))
}

/// Refuses what is not one cluster.
fn check_members<'n>(
    nodes: impl Iterator<Item = &'n Node>,
    cluster: &str,
) -> Result<(), EngineError> {
    let mut known: Vec<&Node> = Vec::new();
    for node in nodes {
        let refused = |what: String, advice: &str| {
            Err(EngineError::new(ErrorClass::Usage, what).advised(advice))
        };
        if let Some(twin) = known.iter().find(|known| known.identity.id == node.identity.id) {
            let what =
                format!("{} and {} lead to one and the same node", twin.address, node.address);
            return refused(what, "name every node once");
        }
        if node.identity.cluster.is_empty() {
            return refused(
                format!("the server at {} belongs to no cluster", node.address),
                "leave nodes=all out",
            );
        }
        if node.identity.cluster != cluster {
            let what = format!(
                "{} and {} are nodes of different clusters",
                known[0].address, node.address
            );
            return refused(what, "name the nodes of one cluster, which hold the same data");
        }
        known.push(node);
    }
    Ok(())
}

/// Opens the nodes again for what they are wanted for: the first makes what is missing, the others
/// have it from there. Returns the addresses of those that were behind at an interrupt: nothing is
/// measured any more, and what is left to do the first one does.
fn open_for_use(
    nodes: &mut [(Node, OpenNode<'_>)],
    access: Access,
    sql: OwnSql,
    question: &str,
    interrupt: &AtomicBool,
) -> Result<Vec<String>, EngineError> {
    let mut behind = Vec::new();
    let Some(((head, open_head), others)) = nodes.split_first_mut() else { return Ok(behind) };
    if !head.identity.is_writable {
        return Err(EngineError::new(ErrorClass::Privilege, "none of the nodes can be written to")
            .advised("name the primary, too"));
    }
    *head = Node::open(head.address.clone(), open_head, access, question)?;
    for (node, open) in others {
        match catch_up(head.database.as_ref(), node, sql, interrupt) {
            Err(error) if error.class == ErrorClass::Cancelled => behind.push(node.address.clone()),
            caught_up => {
                caught_up?;
                *node = Node::open(node.address.clone(), open, Access::Follow, question)?;
            }
        }
    }
    Ok(behind)
}

/// Names of the nodes: those that they give themselves, or their addresses if a name is missing or
/// used twice.
fn names(nodes: &[Node]) -> Vec<String> {
    let told: Vec<String> = nodes.iter().map(|node| node.identity.name.clone()).collect();
    let is_twice = |name: &String| told.iter().filter(|other| *other == name).count() > 1;
    if told.iter().any(|name| name.is_empty() || is_twice(name)) {
        return nodes.iter().map(|node| node.address.clone()).collect();
    }
    told
}

/// Waits until a node has all that the first one has now; an interrupt ends the wait.
fn catch_up(
    head: &dyn Database,
    node: &Node,
    sql: OwnSql,
    interrupt: &AtomicBool,
) -> Result<(), EngineError> {
    let told = head.session()?.query(&sql("position", &[])?, &[])?;
    let position = told.scalar().filter(|told| is_position(told)).ok_or_else(|| {
        EngineError::new(ErrorClass::Other, "the first node does not report a position in its log")
    })?;
    let reached = sql("reached", &[("position", position)])?;
    let mut session = node.database.session().map_err(|error| of_node(&node.address, error))?;
    let deadline = Instant::now() + CATCH_UP;
    while session.query(&reached, &[]).map_err(|error| of_node(&node.address, error))?.scalar()
        != Some("1")
    {
        if interrupt.load(Ordering::SeqCst) {
            let what = "interrupted before it had caught up with the first node";
            return Err(of_node(&node.address, EngineError::new(ErrorClass::Cancelled, what)));
        }
        if Instant::now() > deadline {
            let what =
                format!("has not caught up with the first node within {} s", CATCH_UP.as_secs());
            return Err(of_node(&node.address, EngineError::new(ErrorClass::Busy, what)));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// True if text is a position in a log: a number, or two hexadecimal ones with a slash between
/// them. A node's answer becomes part of a statement for the others; anything else could be a
/// statement of its own.
fn is_position(text: &str) -> bool {
    let is_number =
        |part: &str| (1..=20).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit());
    let mut parts = text.split('/');
    parts.clone().count() <= 2 && parts.all(is_number)
}

impl Cluster {
    fn head(&self) -> &Node {
        &self.nodes[self.head.load(Ordering::SeqCst)]
    }

    /// A node by its name.
    fn find_node(&self, name: &str) -> Option<&Node> {
        self.names.iter().position(|known| known == name).map(|at| &self.nodes[at])
    }

    /// Numbers of the nodes that answer.
    fn answering_nodes(&self) -> Result<Vec<usize>, EngineError> {
        let question = (self.sql)("node", &[])?;
        let there: Vec<usize> =
            (0..self.nodes.len()).filter(|at| self.nodes[*at].is_there(&question)).collect();
        Ok(there)
    }
}

/// The runner's side of a job on a node.
struct NodePacer<'p> {
    pacer: &'p mut dyn Pacer,
    /// Other nodes write, too: the server calls it a deadlock if one of them was first.
    has_rivals: bool,
}

impl Pacer for NodePacer<'_> {
    fn ready(&mut self) -> bool {
        self.pacer.ready()
    }
    fn timetable(&mut self) -> Option<Timetable> {
        self.pacer.timetable()
    }
    fn next_slice(&mut self) -> Option<Slice> {
        self.pacer.next_slice()
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        self.pacer.slice_done(report);
    }
    fn went_on(&mut self) {
        self.pacer.went_on();
    }
    fn op_failed(&mut self, error: &EngineError) -> AfterError {
        if self.has_rivals && error.class == ErrorClass::Deadlock {
            return self
                .pacer
                .op_failed(&EngineError { class: ErrorClass::Certification, ..error.clone() });
        }
        self.pacer.op_failed(error)
    }
    fn clock_stepped(&mut self, step_s: f64) {
        self.pacer.clock_stepped(step_s);
    }
    fn logged_in(&mut self, login: Option<String>) {
        self.pacer.logged_in(login);
    }
    fn session_counters(&mut self, counters: Counters) {
        self.pacer.session_counters(counters);
    }
}

impl Database for Cluster {
    fn version(&self) -> Version {
        self.head().database.version()
    }
    /// On the first node that can be written to and answers.
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        let first = match self.head().database.session() {
            Ok(session) => return Ok(session),
            Err(error) => of_node(&self.names[self.head.load(Ordering::SeqCst)], error),
        };
        let writable = (0..self.nodes.len()).filter(|at| self.nodes[*at].identity.is_writable);
        let other =
            writable.into_iter().find_map(|at| Some((at, self.nodes[at].database.session().ok()?)));
        let (at, session) = other.ok_or(first)?;
        self.head.store(at, Ordering::SeqCst);
        Ok(session)
    }
    fn node_sessions(&self) -> Result<Vec<NodeSession>, EngineError> {
        let there = self.answering_nodes()?.into_iter();
        there.map(|at| Ok((self.names[at].clone(), self.nodes[at].database.session()?))).collect()
    }
    fn job_sessions(&self) -> Vec<u32> {
        self.node_job_sessions().into_values().flatten().collect()
    }
    fn node_job_sessions(&self) -> JobSessions {
        self.names
            .iter()
            .zip(&self.nodes)
            .map(|(name, node)| (name.clone(), node.database.job_sessions()))
            .collect()
    }
    fn node_pids(&self, node: &str) -> Vec<u32> {
        self.find_node(node).map(|node| node.database.server_pids()).unwrap_or_default()
    }
    fn session_at(&self, node: &str) -> Result<Box<dyn Session>, EngineError> {
        let unknown = || EngineError::new(ErrorClass::Other, format!("there is no node {node}"));
        self.find_node(node).ok_or_else(unknown)?.database.session()
    }
    fn place_jobs(&self, wanted: Option<u32>, writes: bool) -> Result<JobPlacement, EngineError> {
        let there = self.answering_nodes()?;
        self.session()?; // finds another head if the first is gone
        for at in there.iter().filter(|at| **at != self.head.load(Ordering::SeqCst)) {
            let node = &self.nodes[*at];
            catch_up(self.head().database.as_ref(), node, self.sql, &self.interrupt)?;
        }
        let gone =
            (0..self.nodes.len()).filter(|at| !there.contains(at)).map(|at| self.names[at].clone());
        let missing = gone.chain(self.missing.iter().cloned()).collect();
        let usable = there.into_iter().filter(|at| self.nodes[*at].identity.is_writable || !writes);
        let nodes = usable.take(wanted.map_or(usize::MAX, |wanted| wanted as usize));
        Ok(JobPlacement { nodes: nodes.map(|at| self.names[at].clone()).collect(), missing })
    }
    fn run_job(&self, job: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        let name = job.node.unwrap_or(&self.names[self.head.load(Ordering::SeqCst)]);
        let unknown = || {
            EngineError::new(
                ErrorClass::Other,
                format!("there is no node {name} (a bug in dbdyno)"),
            )
        };
        let node = self.find_node(name).ok_or_else(unknown)?;
        let order = JobSpec { node: Some(&node.identity.id), ..*job };
        let mut pacer = NodePacer { pacer, has_rivals: self.writable_nodes() > 1 };
        node.database.run_job(&order, &mut pacer).map_err(|error| of_node(name, error))
    }
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        self.head().database.load_rows(load, progress)
    }
    fn cancel(&self) {
        self.nodes.iter().for_each(|node| node.database.cancel());
    }
    fn sessions_left(&self) -> Result<Option<SessionsLeft>, EngineError> {
        self.head().database.sessions_left()
    }
    fn statements_left(&self) -> Result<Option<SessionsLeft>, EngineError> {
        self.head().database.statements_left()
    }
    fn unused_part_of_url(&self) -> Option<String> {
        self.head().database.unused_part_of_url()
    }
    fn lacking_drive(&self) -> Option<(Drive, String)> {
        self.head().database.lacking_drive()
    }
    fn unavailable_orgs(&self) -> &'static [(&'static str, &'static str)] {
        if self.unavailable_orgs.is_empty() {
            self.head().database.unavailable_orgs()
        } else {
            self.unavailable_orgs
        }
    }
    fn count_jobs_by(&self, sql: &str) {
        self.nodes.iter().for_each(|node| node.database.count_jobs_by(sql));
    }
    fn nodes(&self) -> &[String] {
        &self.names
    }
    fn writable_nodes(&self) -> usize {
        self.nodes.iter().filter(|node| node.identity.is_writable).count()
    }
    fn reach(&self, transport: Transport) -> Result<(), EngineError> {
        let reach = |(node, name): (&Node, &String)| {
            node.database.reach(transport).map_err(|error| of_node(name, error))
        };
        self.nodes.iter().zip(&self.names).try_for_each(reach)
    }
    fn load_method(&self) -> &'static str {
        self.head().database.load_method()
    }
    /// None if a node is elsewhere: this host's figures are not those of the cluster then.
    fn server_pids(&self) -> Vec<u32> {
        let of_nodes: Vec<_> = self.nodes.iter().map(|node| node.database.server_pids()).collect();
        if of_nodes.iter().any(Vec::is_empty) { Vec::new() } else { of_nodes.concat() }
    }
    fn storage_path(&self) -> Option<PathBuf> {
        let paths = self
            .nodes
            .iter()
            .map(|node| node.database.storage_path())
            .collect::<Option<Vec<_>>>()?;
        paths.into_iter().nth(self.head.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rows;
    use super::*;

    /// Remembers the class of the last failed op, and the login.
    #[derive(Default)]
    struct Told {
        failed: Option<ErrorClass>,
        login: Option<String>,
    }

    impl Pacer for Told {
        fn ready(&mut self) -> bool {
            true
        }
        fn next_slice(&mut self) -> Option<Slice> {
            None
        }
        fn slice_done(&mut self, _: &SliceReport<'_>) {}
        fn op_failed(&mut self, error: &EngineError) -> AfterError {
            self.failed = Some(error.class);
            AfterError::GoOn
        }
        fn logged_in(&mut self, login: Option<String>) {
            self.login = login;
        }
        fn session_counters(&mut self, _: Counters) {}
    }

    /// The only node that can be written to, `a`, or one that never has what that one has.
    #[derive(Clone, Copy)]
    struct FakeNode(&'static str);

    impl Session for FakeNode {
        fn execute(&mut self, _: &str) -> Result<u64, EngineError> {
            Ok(0)
        }
        fn query(&mut self, sql: &str, _: &[i64]) -> Result<Rows, EngineError> {
            let is_writable = if self.0 == "a" { "1" } else { "0" };
            let row = match sql {
                "node" => vec![
                    ("id", self.0),
                    ("cluster", "c"),
                    ("name", self.0),
                    ("writable", is_writable),
                    ("ready", "1"),
                ],
                "position" => vec![("position", "7")],
                _ => vec![("reached", "0")],
            };
            let texts = row.iter().map(|(name, value)| (name.to_string(), Some(value.to_string())));
            let (columns, values) = texts.unzip();
            Ok(Rows { columns, rows: vec![values] })
        }
    }

    impl Database for FakeNode {
        fn version(&self) -> Version {
            Version(vec![1])
        }
        fn session(&self) -> Result<Box<dyn Session>, EngineError> {
            Ok(Box::new(*self))
        }
        fn run_job(&self, _: &JobSpec<'_>, _: &mut dyn Pacer) -> Result<(), EngineError> {
            Ok(())
        }
        fn load_rows(
            &self,
            _: &RowLoad<'_>,
            _: &mut dyn FnMut(u64) -> bool,
        ) -> Result<(), EngineError> {
            Ok(())
        }
        fn load_method(&self) -> &'static str {
            "none"
        }
    }

    fn member(name: &'static str) -> (String, OpenNode<'static>) {
        let open = move |_: Access| -> Result<Box<dyn Database>, EngineError> {
            Ok(Box::new(FakeNode(name)))
        };
        (name.to_owned(), Box::new(open))
    }

    #[test]
    fn after_an_interrupt_a_node_that_is_behind_is_missing_and_not_waited_for() {
        let own = ClusterSpecifics { sql: |block, _| Ok(block.to_owned()), unavailable_orgs: &[] };
        let interrupt = Arc::new(AtomicBool::new(true));
        let members = vec![member("a"), member("b")];
        let cluster = open(members, Access::Provision, own, &interrupt).unwrap();
        assert_eq!(cluster.nodes(), ["a"]);
        let placement = cluster.place_jobs(None, true).unwrap();
        assert_eq!(placement.nodes, ["a"]);
        assert_eq!(placement.missing, ["b"]);
    }

    #[test]
    fn a_position_is_a_number_or_two_and_never_a_statement() {
        for position in ["0/15D68C50", "FFFFFFFF/FFFFFFFF", "18446744073709551615"] {
            assert!(is_position(position), "{position}");
        }
        for other in ["", "/", "1/2/3", "0/0'; alter role mallory superuser --", "1 or 1", "0/-1"] {
            assert!(!is_position(other), "{other}");
        }
    }

    #[test]
    fn a_deadlock_where_other_nodes_write_is_a_class_of_its_own() {
        for (has_rivals, class, counted) in [
            (true, ErrorClass::Deadlock, ErrorClass::Certification),
            (false, ErrorClass::Deadlock, ErrorClass::Deadlock),
            (true, ErrorClass::Busy, ErrorClass::Busy),
        ] {
            let mut told = Told::default();
            NodePacer { pacer: &mut told, has_rivals }.op_failed(&EngineError::new(class, "no"));
            assert_eq!(told.failed, Some(counted));
        }
        assert!(ErrorClass::Certification.retriable());
    }

    #[test]
    fn the_login_of_connections_to_a_node_is_told() {
        let mut told = Told::default();
        NodePacer { pacer: &mut told, has_rivals: false }.logged_in(Some("scram-sha-256".into()));
        assert_eq!(told.login.as_deref(), Some("scram-sha-256"));
    }

    #[test]
    fn jobs_are_dealt_in_turn() {
        let placement = JobPlacement { nodes: vec!["n1".into(), "n2".into()], missing: Vec::new() };
        assert_eq!([1, 2, 3].map(|job| placement.node(job)), [Some("n1"), Some("n2"), Some("n1")]);
        assert_eq!(JobPlacement::default().node(1), None);
    }
}
