//! Additions to a report: a brand, own paragraphs; and the page on paper.

use std::path::Path;

use dbdyno::model::RunRecord;
use dbdyno::store::Store;
use serde_json::json;

use crate::chromium::{Browser, DESKTOP};
use crate::support::{Desk, finished};
use crate::{fixture, publications};

/// One pixel.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 13, b'I', b'D', b'A', b'T',
    0x78, 0x9c, 0x63, 0x60, 0x60, 0x60, 0x60, 0, 0, 0, 5, 0, 1, 0xa5, 0xf6, 0x45, 0x40, 0, 0, 0, 0,
    b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];
const BRAND: &str = "name = \"A & <b>Sons</b>\"\nlogo = \"logo.png\"\naccent = \"#003366\"\nfooter \
                     = \"<script>x</script>\"\n";

/// A results file with the run `a`, and a brand with its logo.
fn desk() -> Desk {
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let id = store.begin_run(&RunRecord { name: Some("a".into()), ..fixture::run() }).unwrap();
    fixture::tests().iter().for_each(|test| store.save_test(id, test).unwrap());
    std::fs::write(desk.path("logo.png"), PNG).unwrap();
    std::fs::write(desk.path("brand.toml"), BRAND).unwrap();
    desk
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_brand_stands_on_the_page_as_text_and_image_and_nothing_else_is_loaded() {
    let desk = desk();
    let (brand, page) = (desk.path("brand.toml"), desk.path("page.html"));
    desk.run(&format!("report ramp a --brand {} -o {}", brand.display(), page.display())).ok();
    let mut browser = Browser::start();
    for (scheme, color) in [("light", "rgb(0, 51, 102)"), ("dark", "")] {
        browser.open(&page, crate::chromium::View { scheme, ..DESKTOP });
        assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
        assert_eq!(browser.count("document.querySelector('.brand img').naturalWidth"), 1);
        assert_eq!(
            browser.evaluate("document.querySelector('.brand span').textContent"),
            json!("A & <b>Sons</b>")
        );
        assert_eq!(
            browser.evaluate("document.querySelector('body > footer').textContent"),
            json!("<script>x</script>")
        );
        let shown = browser.evaluate("getComputedStyle(document.querySelector('.brand')).color");
        assert!(
            shown.as_str().unwrap().contains(color)
                && (color.is_empty() == (shown != "rgb(0, 51, 102)")),
            "{shown}"
        );
        let outside =
            browser.requests().into_iter().filter(|url| !url.starts_with("data:image/png;base64,"));
        assert_eq!(outside.collect::<Vec<_>>(), [format!("file://{}", page.display())]);
    }
    desk.run(&format!("report ramp a -o {}", page.display())).ok();
    assert!(
        !read(&page).contains("img-src") && !read(&page).contains("class=\"brand\""),
        "without a brand nothing changes"
    );
}

#[test]
fn own_paragraphs_are_text_marked_as_added_in_every_form_for_people() {
    let desk = desk();
    let (text, page) = (desk.path("text.toml"), desk.path("page.html"));
    std::fs::write(
        &text,
        "[[text]]\nsection = \"requirements\"\nparagraphs = [\"For the <i>new</i> shop.\"]\n",
    )
    .unwrap();
    let capacity = |line: &str| {
        let mut command = desk.command(&format!("capacity a --notes {} {line}", text.display()));
        command.args(["--requirement", "TP-LIGHT 900 tps"]);
        finished(command, line)
    };
    assert!(capacity("").ok().stdout.contains("Requirements\nAdded: For the <i>new</i> shop."));
    assert!(
        capacity("--language de")
            .fails(2, &["no section 'requirements'", "Anforderungen"])
            .stdout
            .is_empty()
    );
    capacity(&format!("-o {}", page.display())).ok();
    assert!(read(&page).contains("<p>Added: For the &lt;i&gt;new&lt;/i&gt; shop.</p>"));
    capacity("--format json").fails(2, &["--notes", "json has no place for it"]);
    std::fs::write(&text, "[[text]]\nsection = 1\n").unwrap();
    capacity("").fails(2, &["text.toml:1", "paragraphs"]);
}

#[test]
fn what_is_wrong_with_a_brand_is_one_line() {
    let desk = desk();
    let brand = desk.path("brand.toml");
    let line = format!("report datasheet a --format html --brand {}", brand.display());
    for (from, to, words) in [
        ("logo.png", "none.png", &["none.png", "cannot be read"][..]),
        ("logo.png", "brand.toml", &["brand.toml", "the logo is neither PNG"]),
        ("#003366", "#ffff00", &["a contrast of 1.1 on white"]),
        ("footer", "foot", &["brand.toml:4", "unknown field"]),
    ] {
        std::fs::write(&brand, BRAND.replace(from, to)).unwrap();
        desk.run(&line).fails(2, words);
    }
    std::fs::write(desk.path("logo.png"), vec![0x89; 300_000]).unwrap();
    std::fs::write(&brand, BRAND).unwrap();
    desk.run(&line).fails(2, &["logo.png", "is larger than 200000 bytes"]);
    desk.run(&format!("report datasheet a --brand {}", brand.display()))
        .fails(2, &["--brand", "text has no place"]);
}

#[test]
fn a_report_is_printed_by_the_browser_which_leaves_nothing_behind() {
    let desk = desk();
    let (temporary, file) = (desk.path("tmp"), desk.path("a.pdf"));
    std::fs::create_dir(&temporary).unwrap();
    let mut command = desk.command(&format!("report ramp a -o {}", file.display()));
    command.env("TMPDIR", &temporary);
    finished(command, "pdf").ok();
    let printed = std::fs::read(&file).unwrap();
    assert!(printed.starts_with(b"%PDF") && printed.len() > 10_000, "{}", printed.len());
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    let mut command = desk.command("report ramp a --format pdf");
    command.env("PATH", &temporary);
    finished(command, "pdf")
        .fails(2, &["--format pdf", "there is no Chromium or Chrome on the PATH"]);
}

/// Run with a secret in every place where a run may hold one.
fn secret_run() -> (RunRecord, Vec<dbdyno::model::TestResult>) {
    let mut run = fixture::run();
    (run.name, run.target) =
        (Some("secret-name".into()), "postgres://secret-user@secret-host/app".into());
    run.command = "dbdyno run postgres://secret-host".into();
    run.labels.insert("secret-label".into(), "secret-value".into());
    for (section, fact) in
        [("hardware", "system"), ("hardware", "cpu_model"), ("os", "kernel"), ("storage", "path")]
    {
        run.disclosure.set(section, fact, "secret-fact");
    }
    for (fact, value) in
        [("cluster_name", "secretcluster"), ("log_directory", "/secret/log"), ("work_mem", "4MB")]
    {
        run.disclosure.set("settings", fact, value);
    }
    run.disclosure.set("surprise", "fact", "secret");
    let mut tests = fixture::tests();
    tests[0].first_error = Some("secret-error".into());
    let failed = dbdyno::model::Reason::new(
        dbdyno::model::Status::Invalid,
        dbdyno::model::ReasonCode::Failed,
        dbdyno::model::Sentence::quoted("secret-host refused"),
    );
    tests[1].verdict = dbdyno::model::Verdict::from_reasons(vec![failed]);
    let log = tests[2].server_log.as_mut().unwrap();
    log.lines.push("secret-log".into());
    (run, tests)
}

#[test]
fn a_publication_names_no_platform_and_lists_what_was_removed() {
    let desk = desk();
    let (run, tests) = secret_run();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let id = store.begin_run(&run).unwrap();
    tests.iter().for_each(|test| store.save_test(id, test).unwrap());
    let page = desk.path("public.html");
    for (runs, letters) in [("secret-name", &["A"][..]), ("secret-name a", &["A", "B"])] {
        let done = desk.run(&format!("report anonymized {runs} -o {}", page.display())).ok();
        let text = read(&page);
        assert!(
            !text.contains("secret") && !text.contains("nightly"),
            "{}",
            around(&text, "secret")
        );
        assert!(!done.stderr.contains("before you publish"), "{}", done.stderr);
        let removed = text.split("What was removed").last().unwrap();
        for name in [
            "name of the run",
            "labels of the run",
            "hardware: cpu_model",
            "settings: cluster_name",
            "facts that this program does not know by name",
            "log of the server",
        ] {
            assert!(removed.contains(name), "{name}");
        }
        assert!(
            !removed.contains("settings: work_mem") && text.contains("work_mem"),
            "a size tells nobody's name"
        );
        assert!(
            letters.iter().all(|letter| removed.contains(&format!(">{letter}<"))),
            "{letters:?}"
        );
    }
    // The figures are the same.
    let throughput = "158,230";
    assert!(read(&page).contains(throughput));
}

fn around(text: &str, word: &str) -> String {
    let place = text.find(word).unwrap_or(0);
    text.get(place.saturating_sub(200)..place + 100).unwrap_or_default().to_string()
}

#[test]
fn a_license_that_restricts_publication_is_told_to_whoever_publishes() {
    let desk = publications::desk();
    let page = desk.path("public.html");
    let done = desk.run(&format!("report anonymized dl380-bm ibm-e870 -o {}", page.display())).ok();
    let lines: Vec<&str> =
        done.stderr.lines().filter(|line| line.contains("before you publish")).collect();
    assert!(
        lines.len() == 1 && lines[0].contains("oracle") && lines[0].contains("consent"),
        "{}",
        done.stderr
    );
    let text = read(&page);
    assert!(
        !text.contains("dl380-bm")
            && !text.contains("ibm-e870")
            && text.contains("source of the publication")
    );
    assert!(!desk.run("report datasheet dl380-bm").ok().stderr.contains("before you publish"));
}
