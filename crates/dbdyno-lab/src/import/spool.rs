//! Results file of the scripts of `export-sql`: plain lines, read with the place of each. The form
//! is described at the head of `run.sh`.

use std::collections::BTreeMap;

use super::Text;
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::Counters;
use dbdyno_core::stats::LatencyHistogram;

/// First word of a script results file, and the version of its form.
pub const MAGIC: &str = "dbdyno-spool";
const VERSION: &str = "1";
/// More jobs than any server takes.
const MAX_JOBS: u32 = 100_000;
/// Advice for a line that is not as the scripts write it.
const ADVICE: &str = "give the file as the scripts wrote it";
/// Fields of a line about the work of a job.
const DONE: [&str; 7] = ["part", "ops", "rows", "commits", "elapsed_us", "stride", "longest_us"];
/// Prefixes of lines by which clients report an error among the results.
const ERRORS: [&str; 4] = ["ORA-", "SP2-", "PLS-", "ERROR:"];

/// A file of scripts of one pack.
#[derive(Debug, Clone, Default)]
pub struct Spool {
    pub pack: String,
    /// Version of the dbdyno that wrote the scripts.
    pub dbdyno: String,
    pub engine: String,
    pub size_gb: f64,
    pub seed: u64,
    /// Version that the server reports.
    pub server: String,
    pub settings: BTreeMap<String, String>,
    pub tests: Vec<SpooledTest>,
}

/// A test of a spool.
#[derive(Debug, Clone, Default)]
pub struct SpooledTest {
    /// Start of the test, `file:line`.
    pub place: String,
    pub workload: String,
    pub params: BTreeMap<String, String>,
    /// Hash of the SQL that ran.
    pub hash: String,
    pub started: String,
    pub jobs: u32,
    /// From the first reading of the counters to the last, in s.
    pub total_s: f64,
    /// Facts of the tables.
    pub facts: BTreeMap<String, f64>,
    /// Counters before and after the jobs.
    pub begin: Counters,
    pub end: Counters,
    /// Work outside the window, and in it, by job.
    pub warm: Vec<(u32, SpooledCounts)>,
    pub window: BTreeMap<u32, SpooledCounts>,
    /// Samples by job.
    pub times: BTreeMap<u32, LatencyHistogram>,
}

/// Work of a job in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SpooledCounts {
    /// From 1.
    pub part: u32,
    pub ops: u64,
    pub rows: u64,
    pub commits: u64,
    pub elapsed_us: f64,
    /// Every n-th op was timed; 0 = none.
    pub stride: u32,
    pub longest_us: f64,
}

/// Reads a spool.
///
/// # Errors
/// `file:line` of what the scripts do not write so; a test that was cut short.
pub fn read(file: Text<'_>) -> Result<Spool> {
    refuse_errors(file)?;
    let mut reader = Reader { spool: Spool::default(), test: None };
    for (at, text) in file.text.lines().enumerate() {
        let line = Line {
            place: format!("{}:{}", file.place, at + 1),
            words: text.split_whitespace().collect(),
            text,
        };
        if !line.words.is_empty() && !text.starts_with('#') {
            reader.take(&line)?;
        }
    }
    match reader.test {
        Some(test) => {
            Err(Error::usage(test.place, "the test is cut short, its line 'done' is missing")
                .advise("run it again"))
        }
        None if reader.spool.tests.is_empty() => {
            Err(Error::usage(file.place, "holds no test").advise("run a workload with './run.sh'"))
        }
        None => Ok(reader.spool),
    }
}

/// A client that stopped at an error has written down its words, after the statement that it
/// quotes.
fn refuse_errors(file: Text<'_>) -> Result<()> {
    let is_error = |line: &str| ERRORS.iter().any(|word| line.starts_with(word));
    match file.text.lines().enumerate().find(|(_, line)| is_error(line)) {
        None => Ok(()),
        Some((at, line)) => {
            let what = format!("the client reports {}", quote(line.trim()));
            Err(Error::usage(format!("{}:{}", file.place, at + 1), what)
                .advise("correct that and run the test again"))
        }
    }
}

/// A line and where it stands.
struct Line<'a> {
    place: String,
    words: Vec<&'a str>,
    text: &'a str,
}

impl Line<'_> {
    fn wrong(&self, what: &str) -> Error {
        Error::usage(&self.place, what).advise(ADVICE)
    }

    /// A first word that the scripts never write.
    fn unknown(&self) -> Error {
        let first = self.words[0];
        let wrapped = first.starts_with(|c: char| c.is_ascii_digit()) || DONE.contains(&first);
        let why = if wrapped { ": the line before it is wrapped" } else { "" };
        self.wrong(&format!("{} is not known here{why}", quote(first)))
    }

    fn word(&self, at: usize) -> Result<&str> {
        let cut = "the line ends too early: it is cut off or wrapped";
        self.words.get(at).copied().ok_or_else(|| Error::usage(&self.place, cut).advise(ADVICE))
    }

    /// A finite number that is not negative.
    fn number(&self, at: usize) -> Result<f64> {
        let word = self.word(at)?;
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| {
            let comma =
                if word.contains(',') { ": a number has a decimal point, no comma" } else { "" };
            self.wrong(&format!(
                "{} is not a number of {}{comma}",
                quote(word),
                quote(self.words[0])
            ))
        })
    }

    fn count(&self, at: usize) -> Result<u64> {
        let number = self.number(at)?;
        if number.fract() == 0.0 && number < 2f64.powi(53) {
            Ok(number as u64)
        } else {
            Err(self.wrong("is not a count"))
        }
    }

    fn job(&self) -> Result<u32> {
        match self.count(1)? {
            job @ 1..=100_000 => Ok(job as u32),
            _ => Err(self.wrong(&format!("a job has a number from 1 to {MAX_JOBS}"))),
        }
    }

    /// Rest of the line after this many words, unchanged.
    fn rest(&self, words: usize) -> String {
        let mut rest = self.text.trim();
        for _ in 0..words {
            rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
        }
        rest.to_string()
    }

    /// Pairs of a name and a number, from a word on.
    fn done(&self, from: usize) -> Result<SpooledCounts> {
        let mut done = SpooledCounts::default();
        for at in (from..self.words.len()).step_by(2) {
            match self.words[at] {
                "part" => done.part = self.count(at + 1)?.min(u64::from(MAX_JOBS)) as u32,
                "ops" => done.ops = self.count(at + 1)?,
                "rows" => done.rows = self.count(at + 1)?,
                "commits" => done.commits = self.count(at + 1)?,
                "elapsed_us" => done.elapsed_us = self.number(at + 1)?,
                "stride" => done.stride = self.count(at + 1)?.min(u64::from(u32::MAX)) as u32,
                "longest_us" => done.longest_us = self.number(at + 1)?,
                other => return Err(self.wrong(&format!("{} is not known here", quote(other)))),
            }
        }
        Ok(done)
    }

    /// Adds `12 14:3`: samples in us, some of them several times.
    fn samples(&self, times: &mut LatencyHistogram) -> Result<()> {
        let mut buckets = Vec::new();
        for word in &self.words[2..] {
            let (us, count) = word.split_once(':').unwrap_or((word, "1"));
            let parsed = us
                .parse::<f64>()
                .ok()
                .filter(|us| us.is_finite() && *us >= 0.0)
                .zip(count.parse::<u64>().ok());
            let Some((us, count)) = parsed else {
                return Err(self.wrong(&format!("{} is not a sample", quote(word))));
            };
            buckets.push(((us * 1e3) as u64, count));
        }
        times.merge(&LatencyHistogram::from_buckets(&buckets));
        Ok(())
    }
}

/// State of reading.
struct Reader {
    spool: Spool,
    test: Option<SpooledTest>,
}

impl Reader {
    fn take(&mut self, line: &Line<'_>) -> Result<()> {
        let is_first =
            self.spool.pack.is_empty() && self.spool.tests.is_empty() && self.test.is_none();
        match (line.words[0], self.test.is_some()) {
            (MAGIC, false) if line.word(1)? != VERSION => {
                let what = format!(
                    "form {} of a script results file is not known to this dbdyno",
                    quote(line.word(1)?)
                );
                Err(Error::usage(&line.place, what).advise("use a newer one"))
            }
            (MAGIC, false) => Ok(()),
            ("test", false) if is_first => {
                Err(line.wrong("a test stands before the head of the file"))
            }
            ("test", false) => {
                self.test =
                    Some(SpooledTest { place: line.place.clone(), ..SpooledTest::default() });
                Ok(())
            }
            (_, false) => self.head(line),
            (_, true) => self.within(line),
        }
    }

    /// A line of the head; a pack that goes on with a file says the same again.
    fn head(&mut self, line: &Line<'_>) -> Result<()> {
        let spool = &mut self.spool;
        match line.words[0] {
            "pack" => same(&mut spool.pack, line.word(1)?.into(), line),
            "dbdyno" => same(&mut spool.dbdyno, line.word(1)?.into(), line),
            "engine" => same(&mut spool.engine, line.word(1)?.into(), line),
            "size_gb" => same(&mut spool.size_gb, line.number(1)?, line),
            "seed" => same(&mut spool.seed, line.count(1)?, line),
            "server" => same(&mut spool.server, line.rest(1), line),
            "setting" => {
                spool.settings.insert(line.word(1)?.into(), line.rest(2));
                Ok(())
            }
            _ => Err(line.unknown()),
        }
    }

    /// A line of a test.
    fn within(&mut self, line: &Line<'_>) -> Result<()> {
        let Some(test) = &mut self.test else { return Ok(()) };
        match line.words[0] {
            "workload" => test.workload = line.word(1)?.into(),
            "param" => drop(test.params.insert(line.word(1)?.into(), line.rest(2))),
            "hash" => test.hash = line.word(1)?.into(),
            "started" => test.started = line.word(1)?.into(),
            "jobs" => test.jobs = line.job()?,
            "window_s" => drop(line.number(1)?),
            "total_s" => test.total_s = line.number(1)?,
            "fact" => drop(test.facts.insert(line.word(1)?.into(), line.number(2)?)),
            "begin" => test.begin.set(line.word(1)?, line.number(2)?),
            "end" => test.end.set(line.word(1)?, line.number(2)?),
            "warm" => test.warm.push((line.job()?, line.done(2)?)),
            "job" => {
                let (job, done) = (line.job()?, line.done(2)?);
                if test.window.insert(job, done).is_some() {
                    return Err(line.wrong("the job stands there twice"));
                }
            }
            "us" => line.samples(test.times.entry(line.job()?).or_default())?,
            "done" => {
                let test = std::mem::take(test);
                self.test = None;
                self.spool.tests.push(whole(test, line)?);
            }
            _ => return Err(line.unknown()),
        }
        Ok(())
    }
}

/// Takes what a head says, once or the same again.
fn same<T: PartialEq + Default>(known: &mut T, stated: T, line: &Line<'_>) -> Result<()> {
    if *known != T::default() && *known != stated {
        return Err(line.wrong(
            "is not what the head of the file says: results files of two script packs, or of two \
             servers",
        ));
    }
    *known = stated;
    Ok(())
}

/// The test, if it has what every test has.
fn whole(test: SpooledTest, line: &Line<'_>) -> Result<SpooledTest> {
    let jobs: Vec<u32> = (1..=test.jobs).collect();
    let parts = test.window.values().all(|done| done.part > 0 && done.elapsed_us > 0.0);
    if test.workload.is_empty() || test.started.is_empty() {
        return Err(line.wrong("the test says neither its workload nor when it began"));
    }
    if test.jobs == 0 || !test.window.keys().eq(&jobs) || !parts {
        return Err(line.wrong(&format!(
            "a line 'job' with part and elapsed_us is missing for one of {} jobs",
            test.jobs
        )));
    }
    if !has_sums(&test) {
        return Err(line.wrong("the counts of the jobs have no sum"));
    }
    let others = test.warm.iter().map(|(job, _)| job).chain(test.times.keys());
    if others.into_iter().any(|job| *job > test.jobs) {
        return Err(line.wrong(&format!("there are more jobs than {}", test.jobs)));
    }
    Ok(test)
}

/// True if what the jobs did in the window and outside it can be added up.
fn has_sums(test: &SpooledTest) -> bool {
    let all = || test.warm.iter().map(|(_, done)| done).chain(test.window.values());
    let counts: [fn(&SpooledCounts) -> u64; 3] =
        [|done| done.ops, |done| done.rows, |done| done.commits];
    counts
        .iter()
        .all(|count| all().try_fold(0_u64, |sum, done| sum.checked_add(count(done))).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "dbdyno-spool 1\npack 01\ndbdyno 0.1.0\nengine any\nsize_gb 0.01\nseed \
                        42\nserver 15.18 (x y)\nsetting fsync on\n\n";
    const TEST: &str = "test SRV-QUERY1\nworkload SRV-QUERY1\nparam org heap\nhash 00\nstarted \
                        2026-11-23T11:00:00Z\njobs 1\nwindow_s 1\nbegin commits 5\nwarm 1 ops 3 \
                        rows 3 commits 0 elapsed_us 40\njob 1 part 1 ops 10 rows 20 commits 0 \
                        elapsed_us 1000 stride 1 longest_us 17.5\nus 1 12 14:3\nend commits \
                        9\ndone\n";

    fn read_text(text: &str) -> Result<Spool> {
        read(Text { place: "x.spool", text })
    }

    #[test]
    fn a_spool_is_read_as_it_was_written_and_goes_on() {
        let spool = read_text(&format!("{HEAD}{TEST}{HEAD}# again\n{TEST}")).unwrap();
        assert_eq!(
            (spool.server.as_str(), spool.settings["fsync"].as_str()),
            ("15.18 (x y)", "on")
        );
        assert_eq!(spool.tests.len(), 2);
        let test = &spool.tests[0];
        let window = SpooledCounts {
            part: 1,
            ops: 10,
            rows: 20,
            elapsed_us: 1000.0,
            stride: 1,
            longest_us: 17.5,
            ..SpooledCounts::default()
        };
        assert_eq!((test.window[&1], test.warm[0].1.ops, test.times[&1].len()), (window, 3, 4));
        assert_eq!(
            (test.end.since(&test.begin).get("commits"), test.params["org"].as_str()),
            (Some(4.0), "heap")
        );
    }

    #[test]
    fn what_is_damaged_is_named_by_its_line() {
        let cut = TEST.replace("done\n", "");
        for (text, line, words) in [
            (format!("{HEAD}{cut}"), 10, "cut short"),
            (format!("{HEAD}{}", TEST.replace("ops 10 ", "ops 1o ")), 19, "'1o' is not a number"),
            (format!("{HEAD}{}", TEST.replace("14:3", "14:x")), 20, "'14:x' is not a sample"),
            (format!("{HEAD}{}", TEST.replace("jobs 1", "jobs 2")), 22, "one of 2 jobs"),
            (format!("{HEAD}{}", TEST.replace("us 1 12", "us 2 12")), 22, "more jobs than 1"),
            (format!("{HEAD}{}", TEST.replace("hash", "hahs")), 13, "'hahs' is not known here"),
            (format!("{HEAD}{TEST}pack 02\n"), 23, "two script packs"),
            (
                // Each is a count, and all together none: 2,500 x 2^53.
                format!(
                    "{HEAD}{}",
                    TEST.replace(
                        "begin commits 5\n",
                        &"warm 1 ops 9007199254740991\n".repeat(2500)
                    )
                ),
                2521,
                "have no sum",
            ),
            (TEST.to_string(), 1, "before the head"),
            (
                format!("{HEAD}{}", TEST.replace("1000 stride", "1000,5 stride")),
                19,
                "a decimal point, no comma",
            ),
            (
                format!("{HEAD}{}", TEST.replace(" stride", "\nstride")),
                20,
                "'stride' is not known here: the line before it is wrapped",
            ),
            (
                format!("{HEAD}{}", TEST.replace(" 14:3", "\n14:3")),
                21,
                "the line before it is wrapped",
            ),
            (
                format!("{HEAD}{}", TEST.replace(" 1000 stride", "\n1000 stride")),
                19,
                "cut off or wrapped",
            ),
            (
                format!("{HEAD}select 1\nORA-00942: no table\n{TEST}"),
                11,
                "reports 'ORA-00942: no table'",
            ),
            ("dbdyno-spool 9\n".to_string(), 1, "use a newer one"),
            (HEAD.to_string(), 0, "x.spool: holds no test"),
        ] {
            let error = read_text(&text).unwrap_err().to_string();
            let place = if line == 0 { String::new() } else { format!("x.spool:{line}: ") };
            assert!(
                error.starts_with(&place) && error.contains(words),
                "{error}, expected {place}{words}"
            );
        }
    }
}
