use std::fs;
use std::path::Path;

use super::*;

const GROUP: &str = r#"id = "T"
title = "Test"

[[workload]]
id = "T-ONE"
title = "one"
revision = 1
aliases = [{ code = "X1" }]
kpm = { value = "ops", unit = "qps", better = "higher" }
binds = { key = { random = "small_rows" } }
client = [{ steps = ["get"] }]
"#;
const SQL: &str = "-- name: T-ONE.get\nselect * from {{small}}\n where id = :key\n";

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A catalog of one group with the given files replaced; `lite` is its engine.
fn loaded(group: &str, sql: &str) -> Result<Catalog> {
    loaded_with(group, sql, &[])
}

/// The same with more files.
fn loaded_with(group: &str, sql: &str, more: &[(&str, &str)]) -> Result<Catalog> {
    let dir = tempfile::tempdir().unwrap();
    more.iter().for_each(|(path, text)| write(dir.path(), path, text));
    write(dir.path(), "workloads/t/group.toml", group);
    write(dir.path(), "workloads/t/common.sql", sql);
    write(
        dir.path(),
        "probes/lite.sql",
        "-- name: counters.tables\nselect sum(scans) as seq_scans\n",
    );
    Catalog::only_dir(dir.path())
}

fn refused(group: &str, sql: &str) -> String {
    loaded(group, sql).unwrap_err().to_string()
}

#[test]
fn finds_by_id_and_alias_whatever_the_case() {
    let catalog = loaded(GROUP, SQL).unwrap();
    assert_eq!(catalog.find("t-one").unwrap().entry.workload.id, "T-ONE");
    let asked = catalog.find("x1").unwrap();
    assert_eq!((asked.alias, asked.entry.workload.group.as_str()), (Some("X1"), "T"));
    let unknown = catalog.find("T-ON").unwrap_err().to_string();
    assert_eq!(unknown, "--workload: unknown workload 'T-ON'; did you mean T-ONE?");
    let several = catalog.find("T-ONE,X1").unwrap_err().to_string();
    assert_eq!(
        several,
        "--workload: 'T-ONE,X1' is more than one; give each its own: --workload T-ONE --workload X1"
    );
}

#[test]
fn a_bad_ramp_of_a_suite_is_blamed_on_its_file_and_line() {
    for (ramp, what) in
        [("1,x", "'x' is not a valid number of jobs"), ("8..1", "8..1 runs backwards")]
    {
        let suite =
            format!("id = 's'\ntitle = 's'\n[[entry]]\nworkload = 'T-ONE'\njobs = '{ramp}'\n");
        let error = loaded_with(GROUP, SQL, &[("suites/s.toml", &suite)]).unwrap_err().to_string();
        let expected = format!(
            "suites/s.toml:5: {what}; write 1,2,4 or 1..8 or 1..auto or 1,2,cores or 32*nodes"
        );
        assert!(error.ends_with(&expected), "{error}");
    }
}

#[test]
fn broken_files_are_named_with_their_line() {
    let typo = refused(&GROUP.replace("title = \"one\"", "titel = \"one\""), SQL);
    assert!(typo.contains("workloads/t/group.toml:6: unknown field `titel`"), "{typo}");
    let name = refused(GROUP, &SQL.replace("{{small}}", "{{smal}}"));
    assert!(
        name.contains("workloads/t/common.sql:2: block T-ONE.get uses the unknown {{smal}}"),
        "{name}"
    );
    let bind = refused(GROUP, &SQL.replace(":key", ":id"));
    assert!(
        bind.contains("group.toml:5: T-ONE:") && bind.contains("binds :id, which is not declared"),
        "{bind}"
    );
    let block = refused(GROUP, &SQL.replace("T-ONE.get", "T-ONE.fetch"));
    assert!(
        block.contains("group.toml:5: T-ONE: block 'T-ONE.get' or 'get' is missing for lite"),
        "{block}"
    );
    let rows = refused(GROUP, &format!("{SQL}-- name: T-ONE.rows\nv_ops\n"));
    assert!(rows.contains("common.sql:4: block T-ONE.rows is for a harness that has"), "{rows}");
    let fact = refused(&GROUP.replace("small_rows", "small_row"), SQL);
    assert!(fact.contains("'small_row', which is neither a parameter nor a fact"), "{fact}");
}

#[test]
fn a_workload_that_is_laid_over_runs_on_the_engines_for_which_it_has_sql() {
    let full = ("probes/full.sql", "-- name: counters.tables\nselect 1 as seq_scans\n");
    let own = GROUP.replace("T-ONE", "U-ONE").replacen("\"T\"", "\"U\"", 1).replace("X1", "Y1");
    let lay_over = |file: &str, sql: &str| {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "workloads/u/group.toml", &own);
        write(dir.path(), file, &sql.replace("T-ONE", "U-ONE"));
        let mut catalog = loaded_with(GROUP, SQL, &[full]).unwrap();
        catalog.lay_over(dir.path()).map(|()| catalog)
    };
    let catalog = lay_over("workloads/u/lite.sql", SQL).unwrap_or_else(|error| panic!("{error}"));
    let unsupported = &catalog.find("U-ONE").unwrap().entry.workload.unsupported;
    let reason = "the folder of the workload has no SQL for this engine";
    assert_eq!(*unsupported, [("full".into(), reason.into())].into());
    assert!(catalog.find("T-ONE").unwrap().entry.workload.unsupported.is_empty());
    // A name that is wrong in the only file is not taken for an engine without SQL.
    for file in ["workloads/u/lite.sql", "workloads/u/common.sql"] {
        let error = lay_over(file, &SQL.replace("T-ONE.get", "T-ONE.fetch")).unwrap_err();
        assert!(error.to_string().contains("block 'U-ONE.get' or 'get' is missing"), "{error}");
    }
}

#[test]
fn a_block_includes_others_of_its_group_one_level_deep() {
    let sql = |row: &str| {
        format!(
            "-- name: T-ONE.get\nselect\n  {{{{row}}}} from {{{{small}}}}\n-- name: \
             row\nid,\n{row}\n"
        )
    };
    loaded(GROUP, &sql("a from {{small}} where id = :key"))
        .unwrap_or_else(|error| panic!("{error}"));
    let refused = |row: &str| refused(GROUP, &sql(row));
    let unknown = refused("{{columns}}");
    assert!(unknown.contains("common.sql:6: block row uses the unknown {{columns}}"), "{unknown}");
    let itself = refused("{{row}}");
    assert!(
        itself.contains("common.sql:6: block row is included itself and cannot include {{row}}"),
        "{itself}"
    );
    let third = refused("{{third}}\n-- name: third\na");
    assert!(
        third.contains("common.sql:6: block row is included itself and cannot include {{third}}"),
        "{third}"
    );
    let bind = refused(":id");
    assert!(bind.contains("common.sql:4: block row binds :id, which is not declared"), "{bind}");
}

#[test]
fn names_are_unique_over_ids_and_aliases() {
    let twice = format!("{GROUP}{}", &GROUP[GROUP.find("\n[[workload]]").unwrap()..]);
    assert!(
        refused(&twice, SQL).contains("workload T-ONE is already defined at"),
        "{}",
        refused(&twice, SQL)
    );
    let alias = GROUP.replace("code = \"X1\"", "code = \"t-one\"");
    assert!(refused(&alias, SQL).contains("t-one is already a name of T-ONE"));
}

#[test]
fn defaults_must_be_allowed_values() {
    let param = "[[workload.params]]\nname = \"n\"\ndefault = \"3\"\nmax = 2\nabout = \"\"\n";
    assert!(
        refused(&format!("{GROUP}{param}"), SQL)
            .contains("the default n=3 is not an allowed value")
    );
    let mixed = "[[workload]]\nid = \"T-MIX\"\ntitle = \"m\"\nrevision = 1\nkpm = { value = \
                 \"ops\", unit = \"qps\", better = \"higher\" }\nparts = [{ workload = \"T-TWO\" \
                 }]\n";
    assert!(
        refused(&format!("{GROUP}{mixed}"), SQL).contains("part T-TWO: unknown workload 'T-TWO'")
    );
}

#[test]
fn what_names_a_workload_by_an_alias_does_not_contradict_it() {
    let group = GROUP.replace("\"X1\" }", "\"X1\", params = { n = \"1\" } }");
    let group = format!(
        "{group}[[workload.params]]\nname = \"n\"\ndefault = \"2\"\nmax = 2\nabout = \"\"\n"
    );
    let mixed = |n: &str| {
        format!(
            "{group}[[workload]]\nid = \"T-MIX\"\ntitle = \"m\"\nrevision = 1\n\
             kpm = {{ value = \"ops\", unit = \"qps\", better = \"higher\" }}\n\
             parts = [{{ workload = \"X1\", params = {{ n = \"{n}\" }} }}]\n"
        )
    };
    loaded(&mixed("1"), SQL).unwrap_or_else(|error| panic!("{error}"));
    let refused = refused(&mixed("2"), SQL);
    assert!(refused.contains("T-MIX: part X1: X1 means n=1; ask for T-ONE"), "{refused}");
    let suite = "id = \"s\"\ntitle = \"s\"\n[[entry]]\nworkload = \"X1\"\nparams = { n = \"2\" }\n";
    let suite = loaded_with(&group, SQL, &[("suites/s.toml", suite)]).unwrap_err().to_string();
    assert_eq!(suite, "catalog/suites/s.toml: X1: X1 means n=1; ask for T-ONE");
}

#[test]
fn what_a_claim_names_must_exist() {
    let param = "[[workload.params]]\nname = \"org\"\ndefault = \"heap\"\nvalues = [\"heap\", \
                 \"iot\"]\nabout = \"\"\n";
    let with = |fields: &str| loaded(&format!("{GROUP}{fields}\n{param}"), SQL);
    let claim = |claim: &str| with(&format!("contract = [{{ {claim}, because = \"b\" }}]"));
    let sound = "what = \"seq_scans\", per = \"job_s\", when = \"evicted\", max = \"jobs\", needs \
                 = [\"seq_scans\"], drives = [\"client\"], params = { org = \"!heap|iot\" }";
    let refused = |result: Result<Catalog>| result.unwrap_err().to_string();
    claim(sound).unwrap_or_else(|error| panic!("{error}"));
    for (right, wrong, message) in [
        (
            "what = \"seq_scans\"",
            "what = \"seq_scanz\"",
            "the claim on seq_scanz names the unknown counter 'seq_scanz'",
        ),
        ("job_s", "jobs_s", "the claim on seq_scans names the unknown counter 'jobs_s'"),
        ("evicted", "evict", "names the unknown counter 'evict'"),
        (
            "[\"seq_scans\"]",
            "[\"seq_scanz\"]",
            "the claim on seq_scans needs 'seq_scanz', which no engine has",
        ),
        ("[\"seq_scans\"]", "[\"!seq_scans\"]", "no engine has all that it needs (!seq_scans)"),
        (
            "needs = [\"seq_scans\"]",
            "engines = [\"lite\"]",
            "names engines; say in 'needs' what they must have",
        ),
        ("client", "cliant", "names the unknown drive 'cliant'"),
        ("org", "orq", "the claim on seq_scans: T-ONE has no parameter 'orq'"),
        ("iot", "iotl", "the claim on seq_scans: org=iotl is not allowed for T-ONE"),
    ] {
        let text = refused(claim(&sound.replace(right, wrong)));
        assert!(text.contains("group.toml:5: T-ONE: ") && text.contains(message), "{text}");
    }
    with("threads = \"seq_scans / ops\"").unwrap_or_else(|error| panic!("{error}"));
    assert!(refused(with("threads = \"seq_scanz / ops\"")).contains("uses 'seq_scanz'"));
    let rows = |rows: &str| {
        with(&format!(
            "answer = {{ step = \"get\", binds = {{ key = 7 }}, rows = 1, routine_rows = \
             \"{rows}\" }}"
        ))
    };
    assert!(refused(rows("nonsense + 1")).contains("uses 'nonsense'"));
    let kpm = GROUP.replace("value = \"ops\"", "value = { counter = \"rows_chnged\" }");
    assert!(
        refused(loaded(&kpm, SQL)).contains("the metric counts the unknown counter 'rows_chnged'")
    );
    let engine = format!("{GROUP}{param}engine_default = {{ light = \"iot\" }}\n");
    assert!(
        refused(loaded(&engine, SQL))
            .contains("the parameter org names the unknown engine 'light'")
    );
}

#[test]
fn a_claim_holds_on_the_engines_that_have_what_it_needs() {
    let has = "counters = [\"ops_run\"]\n[has]\nshared-cache = \"one for all\"\n";
    let engines = [
        ("engines/lite.toml", has),
        ("probes/other.sql", "-- name: counters.a\nselect 1 as wal_syncs\n"),
    ];
    let holds = |needs: &str| {
        let claim = format!(
            "contract = [{{ what = \"rows\", min = 1, needs = {needs}, because = \"b\" }}]\n"
        );
        let catalog = loaded_with(&format!("{GROUP}{claim}"), SQL, &engines)
            .unwrap_or_else(|error| panic!("{error}"));
        catalog.find("T-ONE").unwrap().entry.workload.contract[0].engines.clone()
    };
    assert_eq!(holds("[]"), [""; 0], "all");
    assert_eq!(holds("[\"shared-cache\", \"seq_scans\", \"ops_run\"]"), ["lite"]);
    assert_eq!(holds("[\"!shared-cache\"]"), ["other"]);
    assert_eq!(holds("[\"wal_syncs\", \"!ops_run\"]"), ["other"]);
}

#[test]
fn what_an_engine_has_of_some_tables_only_a_claim_needs_of_these_only() {
    let has =
        "[has]\npartitions = { org = \"list\", about = \"counted twice\" }\nshared = \"one\"\n";
    let other = "-- name: counters.a\nselect 1 as shared\n";
    let param = "[[workload.params]]\nname = \"org\"\ndefault = \"default\"\nabout = \"\"\n";
    let values = format!("{param}values = [\"default\", \"heap\", \"list\"]\n");
    let held = |claim: &str, param: &str| -> Vec<String> {
        let group = format!(
            "{GROUP}contract = [{{ what = \"rows\", min = 1, because = \"b\", {claim} }}]\n{param}"
        );
        let catalog =
            loaded_with(&group, SQL, &[("engines/lite.toml", has), ("probes/other.sql", other)]);
        let catalog = catalog.unwrap_or_else(|error| panic!("{error}"));
        let claims = &catalog.find("T-ONE").unwrap().entry.workload.contract;
        let of = |claim: &Claim| {
            format!("{} {}", claim.engines.join("+"), claim.params.get("org").map_or("", |org| org))
        };
        claims.iter().map(of).collect()
    };
    assert_eq!(held("needs = [\"partitions\"]", &values), ["lite list"]);
    assert_eq!(held("needs = [\"shared\", \"!partitions\"]", &values), ["lite !list", "other "]);
    let named = "needs = [\"!partitions\"], params = { org = \"!heap\" }";
    assert_eq!(held(named, &values), ["lite default", "other !heap"]);
    assert_eq!(
        held("needs = [\"!partitions\"]", ""),
        ["lite+other "],
        "tables of the engine's own kind"
    );
    let none = format!(
        "{GROUP}contract = [{{ what = \"rows\", min = 1, because = \"b\", needs = [\"partitions\"] \
         }}]\n"
    );
    let refused = loaded_with(&none, SQL, &[("engines/lite.toml", has)]).unwrap_err().to_string();
    assert!(refused.contains("no engine has all that it needs (partitions)"), "{refused}");
}

#[test]
fn what_an_engine_cannot_do_stands_in_its_own_file() {
    let param = "[[workload.params]]\nname = \"org\"\ndefault = \"heap\"\nvalues = [\"heap\", \
                 \"iot\"]\nabout = \"\"\n";
    let group = format!("{GROUP}{param}");
    let with = |text: &str| loaded_with(&group, SQL, &[("workloads/t/lite.toml", text)]);
    let text = "[every]\nabout = \"Lite is light.\"\ndefault.org = \"iot\"\n[T-ONE]\nabout = \"So \
                is one.\"\nundrivable.database = \"none\"\nunavailable.org.heap = \"no heaps\"\n";
    let catalog = with(text).unwrap_or_else(|error| panic!("{error}"));
    let workload = &catalog.find("T-ONE").unwrap().entry.workload;
    assert_eq!(
        (workload.about.trim(), catalog.groups()[0].about.trim()),
        ("So is one.", "Lite is light.")
    );
    assert_eq!(workload.undrivable["lite.database"], "none");
    assert_eq!(workload.params[0].engine_default["lite"], "iot");
    let heap = BTreeMap::from([("org".to_string(), "heap".to_string())]);
    assert_eq!(
        workload.params[0].unavailable_on("lite", &heap),
        Some(crate::model::UnavailableValue { what: "org=heap".into(), reason: "no heaps" })
    );
    for (right, wrong, message) in [
        ("[T-ONE]", "[T-TWO]", "lite.toml:4: T has no workload 'T-TWO'; see group.toml beside it"),
        ("default.org", "default.orq", "lite.toml:1: every: unknown parameter 'orq'"),
        (
            "org.heap",
            "org.\"heap,orq=1\"",
            "T-ONE: 'unavailable' of org: T-ONE has no parameter 'orq'",
        ),
        (
            "org.heap",
            "org.heapp",
            "group.toml:5: T-ONE: 'unavailable' names org=heapp, which is not an allowed value",
        ),
        ("undrivable", "undriveable", "lite.toml:6: unknown field `undriveable`"),
    ] {
        let refused = with(&text.replace(right, wrong)).unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
}

/// The catalog in the binary is checked here, not at each start.
#[test]
fn the_catalog_in_the_binary_is_right() {
    check::catalog(&Catalog::embedded().unwrap()).unwrap();
}

/// Differences between engines are in files of their own, so that a new engine adds files and
/// changes none.
#[test]
fn what_all_engines_share_names_none() {
    let catalog = Catalog::embedded().unwrap();
    let shared: Vec<_> = files::embedded()
        .into_iter()
        .filter(|file| {
            let of_engine = catalog.engines().contains(&file.stem());
            !of_engine
                && matches!(
                    file.parts()[0],
                    "workloads" | "profiles" | "suites" | "comparison" | "published"
                )
        })
        .collect();
    assert!(shared.len() > 20, "{} files", shared.len());
    for file in shared {
        let text = file.text.to_ascii_lowercase();
        for engine in catalog.engines() {
            assert!(!text.contains(engine), "{} names {engine}", file.label);
        }
    }
}

#[test]
fn every_name_that_groups_and_engines_offer_to_claims_is_used() {
    let embedded = files::embedded();
    let groups = embedded
        .iter()
        .filter(|file| file.parts()[0] == "workloads" && file.path.ends_with(".toml"));
    let text: String = groups.map(|file| file.text.as_str()).collect();
    let file = |path: &str| embedded.iter().find(|file| file.path == path).unwrap();
    let common: BTreeMap<String, toml::Table> =
        wire::read_toml(file("workloads/common.toml")).unwrap();
    let has = |engine| format!("engines/{engine}.toml");
    let has = ["postgres", "mariadb", "sqlite", "duckdb", "chdb", "oracle"]
        .map(|engine| wire::read_toml::<wire::EngineFile>(file(&has(engine))).unwrap());
    let of_engines = has.iter().flat_map(|file| file.has.keys());
    for name in common.values().flat_map(toml::Table::keys).chain(of_engines) {
        let used = text.contains(&format!("\"{name}\"")) || text.contains(&format!("\"!{name}\""));
        assert!(used, "nothing uses {name}");
    }
}

#[test]
fn counters_that_the_documents_name_are_known_in_claims() {
    let text =
        include_str!("../../../../docs/counters.md").split("## Logical reads").next().unwrap();
    let documented = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let documented: Vec<&str> =
        documented.flat_map(|cell| cell.split(", ")).filter(|name| *name != "name").collect();
    let catalog = Catalog::embedded().unwrap();
    let known = check_claims::counters(&catalog);
    let unknown: Vec<_> = documented.iter().filter(|name| !known.contains(name)).collect();
    assert!(documented.len() > 40 && unknown.is_empty(), "{unknown:?} of {documented:?}");
}

#[test]
fn how_postgresql_18_reads_ahead_is_disclosed_and_a_comparison_knows_what_it_touches() {
    let catalog = Catalog::embedded().unwrap();
    let settings = |version: &[u32]| {
        let blocks = catalog.probes("postgres", version).into_iter();
        blocks
            .filter(|block| block.name.starts_with("settings."))
            .any(|block| block.text.contains("'io_method'"))
    };
    assert!(settings(&[18, 0]));
    let effect =
        catalog.effects().iter().find(|effect| effect.speaks_of("settings", "io_method")).unwrap();
    for group in ["STO", "DA", "TP", "DL"] {
        assert!(effect.groups.iter().any(|touched| touched == group), "{group}: {effect:?}");
    }
    assert!(!effect.groups.iter().any(|touched| touched == "CPU"));
}

#[test]
fn a_file_for_an_engine_that_there_is_not_is_named_itself() {
    let dir = tempfile::tempdir().unwrap();
    let own =
        format!("{}undrivable = {{ database = \"no body\" }}\n", GROUP.replace("X1", "MY-ALIAS"));
    write(dir.path(), "workloads/t/group.toml", &own);
    for (file, message) in [
        (
            "workloads/t/tidb.sql",
            "'tidb' is not an engine; name the file after one of these: common, chdb, duckdb, \
             mariadb, mysql, oracle, postgres, sqlite",
        ),
        ("workloads/t/postgers.sql", "'postgers' is not an engine; did you mean postgres.sql?"),
        ("datasets/dbdyno/sqllite.sql", "'sqllite' is not an engine; did you mean sqlite.sql?"),
        (
            "harness/common.sql",
            "'common' is not an engine; name the file after one of these: chdb, duckdb, mariadb, \
             mysql, oracle, postgres, sqlite",
        ),
        ("probes/maria.sql", "'maria' is not an engine; did you mean mariadb.sql?"),
    ] {
        write(dir.path(), file, SQL);
        let refused = Catalog::with_dir(dir.path()).unwrap_err().to_string();
        assert_eq!(refused, format!("{}: {message}", dir.path().join(file).display()));
        fs::remove_file(dir.path().join(file)).unwrap();
    }
}

#[test]
fn a_users_catalog_lies_over_the_embedded_one() {
    let dir = tempfile::tempdir().unwrap();
    let own =
        format!("{}undrivable = {{ database = \"no body\" }}\n", GROUP.replace("X1", "MY-ALIAS"));
    write(dir.path(), "workloads/t/group.toml", &own);
    write(dir.path(), "workloads/t/common.sql", SQL);
    write(
        dir.path(),
        "suites/mine.toml",
        "id = \"mine\"\ntitle = \"m\"\n[[entry]]\nworkload = \"my-alias\"\n",
    );
    let embedded = Catalog::embedded().unwrap().entries().len();
    let catalog = Catalog::with_dir(dir.path()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(catalog.entries().len(), embedded + 1);
    assert_eq!(catalog.suite("MINE").unwrap().entries.len(), 1);
    assert!(catalog.groups().iter().any(|group| group.id == "T"));
}

#[test]
fn a_workload_of_the_same_id_is_replaced_with_its_sql() {
    let mut catalog = loaded(GROUP, SQL).unwrap();
    let file = |path: &str, text: &str| files::File {
        path: path.into(),
        label: path.into(),
        text: text.into(),
        lent: false,
    };
    let own = GROUP.replace("id = \"T\"", "id = \"U\"").replace("\"one\"", "\"mine\"");
    let layer = [
        file("workloads/u/group.toml", &own),
        file("workloads/u/common.sql", "-- name: get\nselect :key\n"),
    ];
    load::add_layer(&mut catalog, &layer).unwrap();
    let entry = catalog.find("T-ONE").unwrap().entry;
    assert_eq!((entry.workload.title.as_str(), catalog.entries().len()), ("mine", 1));
    assert_eq!(entry.blocks.resolve("lite", "T-ONE", "get").unwrap().text, "select :key");
}

#[test]
fn a_directory_without_a_catalog_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    assert!(
        Catalog::with_dir(dir.path())
            .unwrap_err()
            .to_string()
            .contains("no catalog file in this directory")
    );
    assert!(
        Catalog::with_dir(&dir.path().join("none"))
            .unwrap_err()
            .to_string()
            .contains("cannot be read")
    );
    write(dir.path(), "workloads/group.toml", GROUP);
    assert!(
        Catalog::with_dir(dir.path())
            .unwrap_err()
            .to_string()
            .contains("a catalog has no such file")
    );
}

#[test]
fn the_io_of_postgresqls_log_is_read_until_another_view_has_it() {
    let catalog = Catalog::embedded().unwrap();
    let has_log = |version: u32| {
        catalog.probes("postgres", &[version]).iter().any(|block| block.name == "profile.io.log")
    };
    // pg_stat_wal counts from 14 on, pg_stat_io from 18 on.
    assert_eq!([13, 14, 15, 16, 17, 18].map(has_log), [false, true, true, true, true, false]);
}
