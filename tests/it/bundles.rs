//! Bundles: a run is sealed, what was altered is refused, the work is done once more.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use dbdyno::catalog::SuiteEntry;
use dbdyno::error::Kind;
use dbdyno::model::{Arrivals, Capabilities, Drive, Plan, StoredPlan, Window};
use dbdyno::plan::{Request, again, build, describe, differing, has_rates, nodes};
use dbdyno::store::{Store, open_bundle};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::fixture;
use crate::support::{Desk, directory};

/// A bundle of the fixture's run, and its digest.
fn seal(dir: &Path) -> (Vec<u8>, String) {
    let mut store = Store::open(&dir.join("results.db")).unwrap();
    let id = store.begin_run(&fixture::run()).unwrap();
    for test in fixture::tests() {
        store.save_test(id, &test).unwrap();
    }
    let mut bytes = Cursor::new(Vec::new());
    let digest = store.seal(id, &mut bytes).unwrap();
    (bytes.into_inner(), digest)
}

/// The entries of an archive in its order.
fn entries(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..archive.len())
        .map(|at| {
            let mut entry = archive.by_index(at).unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.name().unwrap().to_string(), content)
        })
        .collect()
}

fn pack(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        archive.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn a_bundle_holds_the_run_as_it_was_stored_and_the_same_bytes_each_time() {
    let dir = directory();
    let (bytes, digest) = seal(dir.path());
    let bundle = open_bundle("x.dbdyno", &bytes).unwrap();
    assert_eq!(bundle.digest, digest);
    assert_eq!(bundle.run, dbdyno::model::RunRecord { id: bundle.run.id, ..fixture::run() });
    assert_eq!(bundle.tests, fixture::as_tests(fixture::tests()));
    let store = Store::open(&dir.path().join("results.db")).unwrap();
    let mut again = Cursor::new(Vec::new());
    assert_eq!(store.seal(store.run("last").unwrap().id, &mut again).unwrap(), digest);
    assert!(again.into_inner() == bytes, "the same run, other bytes");
    let names: Vec<String> = entries(&bytes).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["manifest.json", "run.jsonl", "plan.sql", "disclosure.json"]);
}

#[test]
fn a_bundle_that_differs_by_one_digit_is_refused() {
    let dir = directory();
    let (bytes, digest) = seal(dir.path());
    let whole = entries(&bytes);
    for at in 1..whole.len() {
        let mut altered = whole.clone();
        let content = &mut altered[at].1;
        let digit = content.iter().position(u8::is_ascii_digit).unwrap_or(0);
        content[digit] ^= 1;
        let error = open_bundle("x.dbdyno", &pack(&altered)).unwrap_err();
        assert_eq!(error.kind, Kind::Usage);
        let text = error.to_string();
        assert!(text.starts_with("x.dbdyno: was altered after it had been sealed: "), "{text}");
        assert!(text.contains(&whole[at].0), "{text}");
    }
    // Whoever also alters the manifest makes another digest.
    let mut forged = whole.clone();
    let manifest = String::from_utf8(forged[0].1.clone()).unwrap();
    forged[0].1 = manifest.replace("\"version\"", "\"version\" ").into_bytes();
    assert_ne!(open_bundle("x.dbdyno", &pack(&forged)).unwrap().digest, digest);
}

/// The manifest that suits altered entries.
fn reseal(whole: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let mut manifest: serde_json::Value = serde_json::from_slice(&whole[0].1).unwrap();
    for (at, (name, content)) in whole[1..].iter().enumerate() {
        let digest = Sha256::digest(content);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        manifest["entries"][at] =
            serde_json::json!({"name": name, "bytes": content.len(), "sha256": digest});
    }
    let mut forged = whole.to_vec();
    forged[0].1 = serde_json::to_vec_pretty(&manifest).unwrap();
    forged
}

#[test]
fn no_altered_byte_is_taken_for_the_sealed_run() {
    let dir = directory();
    let (bytes, digest) = seal(dir.path());
    let sealed = open_bundle("x.dbdyno", &bytes).unwrap();
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(bytes.len() / 300 + 1) {
        let mut altered = bytes.clone();
        altered[at] ^= 1 << (at % 8);
        match open_bundle("x.dbdyno", &altered) {
            Err(error) => {
                assert_eq!(error.kind, Kind::Usage, "byte {at}: {error}");
                refused += 1;
            }
            // A time of day or a note of the archive itself.
            Ok(opened) => assert!(
                opened.digest != digest
                    || (&opened.tests, &opened.run) == (&sealed.tests, &sealed.run),
                "byte {at} was altered unseen"
            ),
        }
    }
    assert!(refused > 200, "only {refused} were refused");
}

#[test]
fn a_forged_bundle_has_another_digest_and_must_agree_with_itself() {
    let dir = directory();
    let (bytes, digest) = seal(dir.path());
    let whole = entries(&bytes);
    // A figure, with a manifest that suits it: only the digest tells.
    let mut figure = whole.clone();
    let name = b"\"elapsed_s\":";
    let at = figure[1].1.windows(name.len()).position(|part| part == name).unwrap() + name.len();
    figure[1].1[at] = if figure[1].1[at] == b'1' { b'2' } else { b'1' };
    let forged = pack(&reseal(&figure));
    assert_ne!(open_bundle("x", &forged).unwrap().digest, digest);
    let desk = Desk::new();
    let file = desk.path("forged.dbdyno");
    fs::write(&file, forged).unwrap();
    for command in ["audit FILE", "rerun FILE sqlite"] {
        let line = command.replace("FILE", &file.display().to_string());
        desk.run(&format!("{line} --digest {digest}")).fails(2, &["is another bundle"]);
    }
    // What people read is not what is run and judged.
    for at in [2, 3] {
        let mut texts = whole.clone();
        let text = String::from_utf8(texts[at].1.clone()).unwrap();
        texts[at].1 = text.replacen('e', "f", 1).into_bytes();
        if at == 2 {
            texts[at].1.extend(b"select 1\n");
        }
        let error = open_bundle("x", &pack(&reseal(&texts))).unwrap_err().to_string();
        assert!(error.contains(&format!("'{}' is of another run", whole[at].0)), "{error}");
    }
}

#[test]
fn an_archive_that_others_read_otherwise_is_refused() {
    let dir = directory();
    let (bytes, _) = seal(dir.path());
    let mut twice = entries(&bytes);
    twice.insert(1, ("run.jsonX".into(), b"another run".to_vec()));
    let mut twice = pack(&twice);
    let places: Vec<usize> =
        (0..twice.len() - 9).filter(|at| twice[*at..].starts_with(b"run.jsonX")).collect();
    assert_eq!(places.len(), 2, "beside the entry and in the list of all");
    for at in places {
        twice[at + 8] = b'l';
    }
    for altered in [twice, [&bytes[..], b"more"].concat(), [b"more", &bytes[..]].concat()] {
        let error = open_bundle("x.dbdyno", &altered).unwrap_err();
        assert_eq!(error.kind, Kind::Usage, "{error}");
    }
}

#[test]
fn what_is_no_bundle_lacks_a_part_or_has_more_is_refused() {
    let dir = directory();
    let (bytes, _) = seal(dir.path());
    let whole = entries(&bytes);
    let mut more = whole.clone();
    more.push(("../../etc/passwd".into(), b"root".to_vec()));
    let newer: Vec<_> = whole
        .iter()
        .map(|(name, content)| {
            let text = String::from_utf8(content.clone()).unwrap();
            (name.clone(), text.replace("\"format\": 1", "\"format\": 99").into_bytes())
        })
        .collect();
    let cases: [(&[u8], &str); 6] = [
        (b"", "is no bundle of dbdyno"),
        (b"not a zip", "is no bundle of dbdyno"),
        (&bytes[..bytes.len() / 2], "is no bundle of dbdyno"),
        (&pack(&whole[1..]), "is no bundle of dbdyno"),
        (&pack(&more), "it holds other entries than a bundle has"),
        (&pack(&newer), "is of format 99"),
    ];
    for (bytes, words) in cases {
        let error = open_bundle("x.dbdyno", bytes).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}

/// Seals the last run of the desk; the file and the digest.
fn bundle(desk: &Desk) -> (PathBuf, String) {
    let file = desk.path("sealed.dbdyno");
    let done = desk.run(&format!("bundle last -o {}", file.display())).ok();
    let (path, digest) = done.stdout.trim_end().split_once('\n').unwrap();
    assert_eq!(path, file.display().to_string());
    assert!(digest.starts_with("sha256:") && digest.len() == 71, "{digest}");
    (file, digest.to_string())
}

#[test]
fn a_bundle_is_run_again_with_the_same_statements_and_compared() {
    let (here, there) = (Desk::new(), Desk::new());
    here.run(
        "run sqlite --workload SRV-QUERY1 --workload LGWR-LAT --jobs 1,2 --ops 20 --warmup 0s \
         --repeat 2 --size 0.01 --seed 7 --quiet",
    )
    .ok();
    let (file, digest) = bundle(&here);
    let line = format!("rerun {} sqlite --digest {digest}", file.display());
    let done = there.run(&line).ok();
    let told = "the statements of all 2 tests are those that were sealed";
    assert!(done.stderr.contains(told), "{}", done.stderr);
    let first = here.runs();
    let second = there.runs();
    let (first, second) = (&first[0], &second[0]);
    assert_eq!(first["seed"], second["seed"]);
    assert_eq!(first["size_gb"], second["size_gb"]);
    let shown = |desk: &Desk| desk.shown("last");
    let tests = |run: &serde_json::Value| -> Vec<(String, String, u64)> {
        let tests = run["tests"].as_array().unwrap();
        let text = |test: &serde_json::Value, key: &str| test[key].as_str().unwrap().to_string();
        let mut named: Vec<_> = tests
            .iter()
            .map(|t| (text(t, "workload"), text(t, "hash"), t["jobs"].as_u64().unwrap()))
            .collect();
        named.sort();
        named
    };
    assert_eq!(tests(&shown(&here)), tests(&shown(&there)));
    // The comparison follows the datasheet.
    assert!(done.stdout.contains("SRV-QUERY1"), "{}", done.stdout);
    let audit = there.run(&format!("audit {} --digest {digest}", file.display())).ok();
    assert!(audit.stderr.contains("every hash is right"), "{}", audit.stderr);
    for words in ["Repeated experiments", "SPEC RG 8", "give a price list"] {
        assert!(audit.stdout.contains(words), "{words}: {}", audit.stdout);
    }
    // Another seed is other work.
    there.run(&format!("{line} --seed 8")).fails(2, &["--seed"]);
    let help = there.run("rerun --help").ok().stdout;
    assert!(help.contains("[default: that of the bundle]") && !help.contains("--seed"), "{help}");
    let nothing = format!("rerun {} sqlite --digest sha256:00", file.display());
    there.run(&nothing).fails(2, &["is another bundle", digest.as_str()]);
    fs::write(&file, b"PK").unwrap();
    there.run(&format!("rerun {} sqlite", file.display())).fails(2, &["is no bundle of dbdyno"]);
    there.run("bundle nobody").fails(2, &["nobody"]);
}

#[test]
fn a_bundle_is_run_again_with_its_size_profile() {
    let (here, there) = (Desk::new(), Desk::new());
    here.run(
        "run sqlite --workload CPU-DOUBLE --jobs 1 --duration 0.1s --warmup 0s --size 0.01 \
         --profile N --quiet",
    )
    .ok();
    let (file, _) = bundle(&here);
    let profile = |desk: &Desk| {
        let file = desk.run("show run last --as-file").ok().stdout;
        file.lines().find(|line| line.starts_with("profile")).map(String::from)
    };
    let rerun = format!("rerun {} sqlite", file.display());
    there.run(&format!("{rerun} --quiet")).ok();
    assert_eq!(profile(&there), profile(&here));
    assert_eq!(profile(&there).as_deref(), Some("profile = \"N\""));
    there.run(&format!("{rerun} --profile XS --quiet")).ok();
    assert_eq!(profile(&there).as_deref(), Some("profile = \"XS\""));
}

#[test]
fn a_bundle_is_run_again_as_it_was_measured() {
    let (here, there) = (Desk::new(), Desk::new());
    here.run(
        "run sqlite --workload CPU-DOUBLE --jobs 1 --duration 0.1s --warmup 0s --size 0.01 \
         --repeat 2 --fresh data --retry-disturbed=1 --key-seed 77 --no-sampler --quiet",
    )
    .ok();
    let (file, _) = bundle(&here);
    there.run(&format!("rerun {} sqlite --quiet", file.display())).ok();
    let measuring = |desk: &Desk| {
        let text = desk.run("show run last --as-file").ok().stdout;
        let names = ["key_seed", "fresh", "retry_disturbed", "no_sampler"];
        let is_one = |line: &&str| names.contains(&line.split(' ').next().unwrap());
        text.lines().filter(is_one).map(String::from).collect::<Vec<_>>()
    };
    let expected =
        ["fresh = \"data\"", "key_seed = 77", "no_sampler = true", "retry_disturbed = 1"];
    assert_eq!(measuring(&here), expected);
    assert_eq!(measuring(&there), expected);
}

#[test]
fn a_bundle_of_rates_beside_a_workload_is_run_again() {
    let (here, there) = (Desk::new(), Desk::new());
    here.run(
        "run sqlite --workload TP-LOOKUP --jobs 1 --duration 0.2s --warmup 0s --size 0.01 --rate \
         90,140 --background SRV-REPORT --quiet",
    )
    .ok();
    let (file, digest) = bundle(&here);
    let done = there.run(&format!("rerun {} sqlite --digest {digest}", file.display())).ok();
    let told = "the statements of the one test are those that were sealed";
    assert!(done.stderr.contains(told), "{}", done.stderr);
    let tests = there.shown("last")["tests"].clone();
    let tests = tests.as_array().unwrap();
    let rates: Vec<&str> =
        tests.iter().map(|test| test["params"]["rate"].as_str().unwrap()).collect();
    assert_eq!(rates, ["90", "140"]);
    assert!(tests.iter().all(|test| test["params"]["beside"] == "SRV-REPORT"), "{tests:#?}");
}

fn request(engine: &str) -> Request {
    let drives = &[Drive::Database, Drive::Client];
    Request::new(engine, Capabilities { drives, ..Capabilities::LEAST }, 2)
}

/// A plan as a run stores it.
fn stored_plan(plan: &Plan) -> StoredPlan {
    describe(plan).into()
}

#[test]
fn a_stored_plan_asks_for_itself() {
    let catalog = crate::support::catalog();
    let asked = Request {
        workloads: vec!["SRV-QUERY1".into(), "LGWR-LAT:rows=25".into()],
        jobs: Some("1,2".parse().unwrap()),
        duration_s: Some(2.5),
        repeat: Some(3),
        ..request("sqlite")
    };
    let plan = build(&catalog, &asked).unwrap();
    let again = again(&catalog, &stored_plan(&plan), "sqlite", request("sqlite")).unwrap();
    assert_eq!(again.left_out, []);
    let second = build(&catalog, &again.request).unwrap();
    assert_eq!(describe(&second)["selections"], describe(&plan)["selections"]);
    assert_eq!(differing(&stored_plan(&plan), &second).unwrap(), Vec::<String>::new());
}

#[test]
fn a_plan_of_several_nodes_rates_and_backgrounds_asks_for_itself() {
    let catalog = crate::support::catalog();
    let test = |text: &str| SuiteEntry { workload: Some(text.into()), ..SuiteEntry::default() };
    let asked = Request {
        tests: vec![
            SuiteEntry { background: Some("SRV-REPORT".into()), ..test("SRV-QUERY1") },
            SuiteEntry {
                rate: "auto".parse().ok(),
                slo: "p99<5ms".parse().ok(),
                ..test("TP-LOOKUP")
            },
            SuiteEntry {
                background: Some("SRV-QUERY1:keys=zipf-0.99".into()),
                background_jobs: Some(3),
                rate: "10,20".parse().ok(),
                arrivals: Some(Arrivals::Uniform),
                ..test("TP-LOOKUP")
            },
            test("LGWR-LAT"),
        ],
        nodes: vec![1, 3],
        ..request("sqlite")
    };
    let plan = build(&catalog, &asked).unwrap();
    assert_eq!(plan.selections.len(), 8);
    let first = stored_plan(&plan);
    assert_eq!(nodes(&first).unwrap(), [1, 3]);
    assert!(has_rates(&first));
    let again = again(&catalog, &first, "sqlite", request("sqlite")).unwrap();
    assert_eq!((again.left_out.len(), again.request.tests.len()), (0, 4));
    let second = build(&catalog, &Request { nodes: vec![1, 3], ..again.request }).unwrap();
    assert_eq!(describe(&second)["selections"], first.json()["selections"]);
}

#[test]
fn fixed_work_stays_as_much_and_another_engine_has_its_own_defaults() {
    let catalog = crate::support::catalog();
    let asked = Request {
        workloads: vec!["SRV-QUERY1".into()],
        ops_per_job: Some(777),
        jobs: Some("2".parse().unwrap()),
        ..request("sqlite")
    };
    let plan = build(&catalog, &asked).unwrap();
    let again = again(&catalog, &stored_plan(&plan), "sqlite", request("postgres")).unwrap();
    let second = build(&catalog, &again.request).unwrap();
    assert_eq!(second.selections[0].window, Window::ops(777));
    assert_eq!(differing(&stored_plan(&plan), &second).unwrap(), ["SRV-QUERY1"]);
}

#[test]
fn what_is_no_plan_of_ours_is_refused() {
    let catalog = crate::support::catalog();
    let refused = again(
        &catalog,
        &serde_json::json!({"selections": [{"sql": 1}]}).into(),
        "sqlite",
        request("sqlite"),
    );
    assert!(refused.unwrap_err().to_string().starts_with("plan: is not one of dbdyno's"));
}
