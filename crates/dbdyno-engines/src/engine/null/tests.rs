use super::*;
use dbdyno_core::model::Target;
use dbdyno_core::model::rows::RowFunction;

fn open(settings: &[(&str, &str)]) -> Result<Box<dyn Database>, EngineError> {
    let settings =
        settings.iter().map(|&(name, value)| (name.to_string(), value.to_string())).collect();
    let target = Target::Embedded { engine: "null".into(), data_dir: "/nonexistent".into() };
    Null.open(&ConnectTo { settings, ..ConnectTo::new(target) }, Access::Provision)
}

fn load(database: &dyn Database, progress: &mut dyn FnMut(u64) -> bool) -> Result<(), EngineError> {
    let rows = RowFunction { table_rows: 80_000, seed: 1 };
    database.load_rows(
        &RowLoad { table: "t", rows, ids: 1..80_001, note: None, in_database: None },
        progress,
    )
}

#[test]
fn directives_cost_what_they_state() {
    let mut statement = Directives::from_str("spin 200000, rows 3, slow 3000000 every 2").unwrap();
    let start = std::time::Instant::now();
    assert_eq!(statement.run(), Ok(3));
    let fast = start.elapsed();
    assert!(fast >= Duration::from_micros(200), "{fast:?}");
    let start = std::time::Instant::now();
    statement.run().unwrap();
    assert!(start.elapsed() >= Duration::from_micros(3200));
}

#[test]
fn directives_fail_as_told() {
    let mut statement = Directives::from_str("fail deadlock every 3, lost after 4").unwrap();
    let classes: Vec<_> = (0..6).map(|_| statement.run().map_err(|error| error.class)).collect();
    let (dead, lost) = (Err(ErrorClass::Deadlock), Err(ErrorClass::Lost));
    assert_eq!(classes, [Ok(1), Ok(1), dead, Ok(1), lost, lost]);
}

#[test]
fn what_cannot_be_read_is_an_error_of_the_statement() {
    for text in ["spin", "spin x", "select 1", "fail what every 2"] {
        assert_eq!(Directives::from_str(text).unwrap_err().class, ErrorClass::Statement, "{text}");
    }
    assert!(open(&[("count_factor", "much")]).is_err());
    assert_eq!(
        open(&[("open", "unreachable")]).err().map(|error| error.class),
        Some(ErrorClass::Unreachable)
    );
}

#[test]
fn a_hanging_load_can_be_cancelled() {
    let database = open(&[("load", "hang")]).unwrap();
    let mut asked = 0;
    let outcome = load(&*database, &mut |_| {
        asked += 1;
        asked < 5
    });
    assert_eq!(outcome.unwrap_err().class, ErrorClass::Cancelled);
}

#[test]
fn a_full_disk_is_met_half_way_and_nothing_is_loaded() {
    let database = open(&[("load", "disk-full")]).unwrap();
    let mut sent = 0;
    let outcome = load(&*database, &mut |rows| {
        sent = rows;
        true
    });
    assert_eq!(outcome.unwrap_err().class, ErrorClass::DiskFull);
    assert_eq!(sent, 40_000);
    assert!(database.session().unwrap().query("count t", &[]).is_err());
}
