//! Facts that cannot be read from a machine and are stated (`--facts`): its template, its way
//! through a run, the reports and a publication; and what a guest reads of its cloud in planted
//! files.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::skipped::skipped;
use crate::support::{Desk, TINY, WINDOW, assert_run_schema, finished};

const FACTS: &str = "
[study]
paid_by = 'Wilhelmina Array Works'
influence = 'nobody'
exclusive = true

[storage]
array = 'Wilhelmina 9000'
raid = 'raid 10'
luns = 8

[server]
available_from = 2023-02-01
";

fn write_facts(desk: &Desk, name: &str, text: &str) -> String {
    let path = desk.path(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn the_template_states_nothing_until_it_is_filled_in() {
    let desk = Desk::new();
    let template = desk.run("show facts").ok().stdout;
    let file = write_facts(&desk, "template.toml", &template);
    let found = desk.run(&format!("check sqlite --facts {file}")).ok().stdout;
    let missing = found.lines().find(|line| line.contains("disclosure: ")).unwrap();
    assert!(missing.starts_with("lacks") && missing.contains("storage.array"), "{missing}");
    // Every fact with its own example is a file that is accepted and complete.
    let filled: String = template
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
        .flat_map(|line| [line, "\n"])
        .collect();
    let file = write_facts(&desk, "filled.toml", &filled);
    let found = desk.run(&format!("check sqlite --facts {file}")).ok().stdout;
    let complete = found.lines().find(|line| line.contains("disclosure: ")).unwrap();
    assert!(complete.starts_with("ok"), "{complete}");
    let json = desk.run("show facts --format json").ok().json();
    let facts = json["facts"].as_array().unwrap();
    let keys = filled.lines().filter(|line| !line.starts_with('#') && line.contains(" = "));
    assert_eq!(facts.len(), keys.count());
}

#[test]
fn a_wrong_file_is_refused_before_anything_is_measured() {
    let desk = Desk::new();
    for (text, words) in [
        (
            "[storage]\nluns = 1\nraids = 'x'\n",
            &["wrong.toml:3", "'raids'", "did you mean raid"][..],
        ),
        ("[storage]\nraid = 'RAID 7'\n", &["wrong.toml:2", "is none of none, RAID 0"]),
        ("[storage]\narray = \"\\u001b[31m\"\n", &["wrong.toml:2", "'array' is not one line"]),
    ] {
        let file = write_facts(&desk, "wrong.toml", text);
        desk.run(&format!("run {TINY} --facts {file}")).fails(2, words);
        desk.run(&format!("check sqlite --facts {file}")).fails(2, words);
    }
    desk.run(&format!("run {TINY} --facts {}", desk.path("none.toml").display()))
        .fails(2, &["none.toml", "cannot be read"]);
    assert!(!desk.path("results.db").exists() && desk.data_entries().is_empty());
}

#[test]
fn stated_facts_are_kept_shown_compared_and_published_by_rule() {
    let desk = Desk::new();
    let file = write_facts(&desk, "facts.toml", FACTS);
    let line = format!("run {TINY} --name a --facts {file} --format json --quiet");
    let run = desk.run(&line).ok().json();
    assert_run_schema(&run);
    let kept = &run["disclosure"]["stated"];
    assert_eq!(kept["storage.raid"], "RAID 10", "{run}");
    assert_eq!((&kept["storage.luns"], &kept["study.exclusive"]), (&"8".into(), &"yes".into()));
    let other = FACTS.replace("raid 10", "none").replace("nobody", "the vendor");
    let file = write_facts(&desk, "other.toml", &other);
    desk.run(&format!("run {TINY} --name b --quiet --facts {file}")).ok();

    for kind in ["platform", "datasheet", "html", "workbook"] {
        for language in ["en", "de"] {
            let text = match kind {
                "workbook" => sheets(&desk, language),
                _ => desk.run(&format!("report {kind} a --language {language}")).ok().stdout,
            };
            assert!(text.contains("Wilhelmina 9000"), "{kind}: {text}");
            let title = if language == "de" { "Angegeben" } else { "Stated" };
            assert!(text.contains(title), "{kind}, {language}: {text}");
        }
    }
    let compared = desk.run("compare a b --format json").ok().json();
    let differing = compared["disclosure_differences"].as_array().unwrap();
    let names: Vec<&Value> = differing.iter().map(|one| &one["fact"]).collect();
    assert!(!names.contains(&&"study.influence".into()), "it touches no figure: {names:?}");
    // A lookup in the cache reads no storage, so that the RAID level touches nothing of these runs.
    assert!(!names.contains(&&"storage.raid".into()), "{names:?}");

    let published = desk.path("published.html");
    desk.run(&format!("report anonymized a -o {}", published.display())).ok();
    let text = std::fs::read_to_string(published).unwrap();
    assert!(text.contains("RAID 10") && text.contains("2023-02-01"), "listed values and dates");
    assert!(!text.contains("Wilhelmina"), "free text names somebody");
    for removed in ["stated: storage.array", "stated: study.paid_by"] {
        assert!(text.contains(removed), "{removed} is not in the list of what was removed");
    }
}

/// The texts of a workbook's sheets.
fn sheets(desk: &Desk, language: &str) -> String {
    let path = desk.path("book.xlsx");
    desk.run(&format!("report workbook a --language {language} -o {}", path.display())).ok();
    let mut book = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut text = String::new();
    for at in 0..book.len() {
        let mut part = book.by_index(at).unwrap();
        if part.name().unwrap().ends_with(".xml") {
            part.read_to_string(&mut text).unwrap();
        }
    }
    text
}

#[test]
fn a_difference_of_the_storage_is_shown_with_the_groups_that_it_touches() {
    let desk = Desk::new();
    let commits = WINDOW.replace("SRV-QUERY1", "LGWR-LAT");
    for (name, raid) in [("a", "RAID 10"), ("b", "RAID 5")] {
        let file = write_facts(&desk, "facts.toml", &format!("[storage]\nraid = '{raid}'\n"));
        desk.run(&format!("run {commits} --name {name} --quiet --facts {file}")).ok();
    }
    let compared = desk.run("compare a b --format json").ok().json();
    let differing = compared["disclosure_differences"].as_array().unwrap();
    let raid = differing.iter().find(|one| one["fact"] == "storage.raid").unwrap();
    assert_eq!((&raid["base"], &raid["other"]), (&"RAID 10".into(), &"RAID 5".into()));
    assert_eq!(raid["touches"], serde_json::json!(["LGWR"]));
}

/// Plants a file below `root`.
fn plant(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_guest_reads_its_cloud_in_what_it_was_told() {
    let may_mount = Command::new("unshare").args(["--mount", "true"]).output();
    if !may_mount.is_ok_and(|output| output.status.success()) {
        return skipped("MOUNTS", "files cannot be planted: this user may not mount");
    }
    let desk = Desk::new();
    let (sys, run) = (desk.path("sys"), desk.path("run"));
    plant(&sys, "class/dmi/id/sys_vendor", "Amazon EC2\n");
    plant(&sys, "class/dmi/id/product_name", "m7i.2xlarge\n");
    plant(
        &run,
        "cloud-init/instance-data.json",
        r#"{"v1": {"cloud_name": "aws", "region": "eu-central-1", "instance_id": "i-0123"}}"#,
    );
    // The disk under the data is an NVMe one on a PCIe link.
    let device = std::fs::metadata(desk.path(".")).unwrap().dev();
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let disk = "devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1";
    plant(&sys, &format!("{disk}/device/model"), "Amazon Elastic Block Store\n");
    plant(&sys, &format!("{disk}/queue/nr_requests"), "31\n");
    plant(&sys, "devices/pci0000:00/0000:00:04.0/current_link_speed", "8.0 GT/s PCIe\n");
    plant(&sys, "devices/pci0000:00/0000:00:04.0/current_link_width", "4\n");
    plant(&sys, "dev/block/about", "links by number\n");
    symlink(format!("/sys/{disk}"), sys.join("dev/block").join(&number)).unwrap();

    let line = format!("run {TINY} --format json --quiet");
    let program = desk.command(&line);
    let mut command = Command::new("unshare");
    let script = "mount --bind \"$1\" /sys && mount --bind \"$2\" /run && shift 2 && exec \"$@\"";
    command.args(["--mount", "sh", "-c", script, "sh"]).args([&sys, &run]);
    command.arg(program.get_program()).args(program.get_args()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let run = finished(command, &line).ok().json();
    let disclosure = &run["disclosure"];
    let expected = serde_json::json!({
        "provider": "Amazon EC2",
        "instance_type": "m7i.2xlarge",
        "region": "eu-central-1",
        "zone": "unknown",
        "disk_class": "network disk (Amazon EBS)",
    });
    assert_eq!(disclosure["cloud"], expected);
    assert_eq!(disclosure["storage"]["queue_requests"], "31");
    assert_eq!(disclosure["storage"]["pcie"], "8.0 GT/s x4");
    assert!(!run.to_string().contains("i-0123"), "whose instance it is is nobody's concern");

    let published = desk.path("published.html");
    desk.run(&format!("report anonymized last -o {}", published.display())).ok();
    let text = std::fs::read_to_string(published).unwrap();
    assert!(!text.contains("eu-central-1") && text.contains("cloud: region"), "{text}");
}
